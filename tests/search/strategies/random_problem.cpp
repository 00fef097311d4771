#include "tests/search/strategies/random_problem.h"

#include <algorithm>
#include <set>

#include "graphs/ir/extract.h"

namespace inlay {
namespace {

const TensorType kType{DType::kF32, {4, 4}};

std::vector<Layout> layouts() {
  return {Layout::dense(2), *parse_layout("ba"), *parse_layout("aB4b")};
}

Graph random_graph(Rng& rng, const RandomProblemSize& size) {
  GraphBuilder b("random");
  std::vector<ValueId> values = {b.input("x", kType), b.input("y", kType)};
  const ValueId constant = b.constant("k", Tensor::zeros(kType));
  const std::uint64_t count = 1 + rng.below(static_cast<std::uint64_t>(size.max_nodes));
  for (std::uint64_t i = 0; i < count; ++i) {
    Node node;
    node.domain = "test";
    node.op = "Opaque";
    for (std::uint64_t operands = 1 + rng.below(3); operands > 0; --operands) {
      const std::size_t near = std::min(values.size(), static_cast<std::size_t>(size.locality));
      node.inputs.push_back(rng.below(8) == 0   ? constant
                            : rng.below(4) == 0 ? values[rng.below(values.size())]
                                                : values[values.size() - 1 - rng.below(near)]);
    }
    const std::size_t outputs = 1 + (rng.below(4) == 0 ? 1 : 0);
    for (const ValueId made :
         b.node_with_types(node, std::vector<TensorType>(outputs, kType), {})) {
      values.push_back(made);
    }
  }
  b.output(values.back());
  for (std::uint64_t extra = rng.below(3); extra > 0; --extra) {
    const ValueId value = values[2 + rng.below(values.size() - 2)];
    if (value != values.back()) b.output(value);
  }
  return b.build();
}

Candidate make_candidate(const Graph& graph, std::vector<NodeId> nodes, const std::string& plugin) {
  std::sort(nodes.begin(), nodes.end());
  Candidate c;
  c.nodes = std::move(nodes);
  c.plugin = plugin;
  c.pattern = "p";
  const Boundary boundary = find_boundary(graph, c.nodes);
  c.inputs = boundary.inputs;
  c.outputs = boundary.outputs;
  return c;
}

void append(RandomProblem& problem, Candidate candidate, CandidateCost cost) {
  const int id = static_cast<int>(problem.candidates.list.size());
  for (const NodeId node : candidate.nodes) {
    problem.candidates.by_node[static_cast<std::size_t>(node.index)].push_back(id);
  }
  problem.candidates.list.push_back(std::move(candidate));
  problem.costs.candidates.push_back(std::move(cost));
}

// A node and others that read it, feed it, or lie anywhere, since a region need not be connected.
std::vector<NodeId> random_region(const Graph& graph, Rng& rng, int max_region) {
  const auto any = [&] {
    return NodeId{
        static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(graph.node_count())))};
  };
  std::set<NodeId> region = {any()};
  const std::uint64_t wanted = 1 + rng.below(static_cast<std::uint64_t>(max_region));
  for (int tries = 0; tries < 12 && region.size() < wanted; ++tries) {
    const NodeId id =
        *std::next(region.begin(), static_cast<std::ptrdiff_t>(rng.below(region.size())));
    const Node& node = graph.node(id);
    const ValueId output = node.outputs[rng.below(node.outputs.size())];
    const ValueId input = node.inputs[rng.below(node.inputs.size())];
    const auto readers = graph.consumers(output);
    NodeId next = any();
    if (rng.below(6) != 0) {
      next = rng.below(2) == 0 && !readers.empty() ? readers[rng.below(readers.size())]
                                                   : graph.value(input).producer;
    }
    if (next != kNoNode) region.insert(next);
  }
  return {region.begin(), region.end()};
}

CandidateCost price_of(double ns) { return {Cost{ns, ns, ns, 1}, ""}; }

}  // namespace

void add_candidate(RandomProblem& problem, std::vector<NodeId> nodes, const std::string& plugin,
                   const Layout& layout_in, const Layout& layout_out, double price) {
  problem.candidates.by_node.resize(static_cast<std::size_t>(problem.graph.node_count()));
  Candidate c = make_candidate(problem.graph, std::move(nodes), plugin);
  c.input_layouts.assign(c.inputs.size(), layout_in);
  c.output_layouts.assign(c.outputs.size(), layout_out);
  append(problem, std::move(c), price_of(price));
}

void price_conversions(RandomProblem& problem, const std::vector<Layout>& list, double price) {
  for (const Layout& from : list) {
    for (const Layout& to : list) {
      if (from != to)
        problem.costs.conversions[{to_string(kType), from.text(), to.text()}].cost.ns = price;
    }
  }
}

RandomProblem random_problem(Rng& rng, const RandomProblemSize& size) {
  RandomProblem problem{random_graph(rng, size), {}, {}};
  const Graph& graph = problem.graph;
  const std::vector<Layout> all = layouts();
  problem.candidates.by_node.resize(static_cast<std::size_t>(graph.node_count()));
  problem.costs.dispatch_ns = static_cast<double>(rng.below(4));
  for (const Layout& from : all) {
    for (const Layout& to : all) {
      if (from == to) continue;
      problem.costs.conversions[{to_string(kType), from.text(), to.text()}].cost.ns =
          static_cast<double>(rng.below(12));
    }
  }
  for (std::int32_t n = 0; n < graph.node_count(); ++n) {
    Candidate c = make_candidate(graph, {{n}}, "reference");
    c.input_layouts.assign(c.inputs.size(), all[0]);
    c.output_layouts.assign(c.outputs.size(), all[0]);
    // Now and then the reference cannot: then only a region may cover the node, if any does.
    append(problem, std::move(c),
           rng.below(12) == 0 ? CandidateCost{std::nullopt, "declined"}
                              : price_of(static_cast<double>(5 + rng.below(30))));
    if (graph.node({n}).inputs.size() == 1 && rng.below(4) == 0 &&
        !graph.is_constant(graph.node({n}).inputs[0])) {
      Candidate view = make_candidate(graph, {{n}}, kViewPlugin);
      view.input_layouts.assign(view.inputs.size(), all[0]);
      view.output_layouts.assign(view.outputs.size(), all[0]);
      append(problem, std::move(view), {});
    }
  }
  for (std::uint64_t i = rng.below(static_cast<std::uint64_t>(size.max_regions) + 1); i > 0; --i) {
    const std::vector<NodeId> nodes = random_region(graph, rng, size.max_region);
    if (!is_convex(graph, nodes)) continue;
    Candidate c = make_candidate(graph, nodes, rng.below(2) == 0 ? "alpha" : "beta");
    for (std::size_t k = 0; k < c.inputs.size(); ++k)
      c.input_layouts.push_back(all[rng.below(all.size())]);
    for (std::size_t k = 0; k < c.outputs.size(); ++k)
      c.output_layouts.push_back(all[rng.below(all.size())]);
    append(problem, std::move(c), price_of(static_cast<double>(1 + rng.below(15 * nodes.size()))));
  }
  return problem;
}

}  // namespace inlay
