// Two-layer graph convolutional network: Kipf and Welling 2017, on a graph generated with the size
// of Cora. Once as that paper writes it, a product with the normalized adjacency; once along the
// list of edges, as graph libraries run it.
#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "graphs/zoo/architectures.h"
#include "graphs/zoo/network.h"

namespace inlay {
namespace {

constexpr std::int64_t kCoraNodes = 2708;
constexpr std::int64_t kCoraEdges = 10556;  // each way counts
constexpr std::int64_t kFeatures = 1433;
constexpr std::int64_t kHidden = 16;
constexpr std::int64_t kClasses = 7;

struct Citations {
  std::int64_t nodes;
  std::set<std::pair<std::int64_t, std::int64_t>> edges;  // from, to; each both ways
};

// A connected graph with as many edges a node as Cora. A node is chosen in proportion to the edges
// it has already (Barabasi and Albert 1999), which gives the few nodes of many edges that citations
// have.
Citations citations(std::int64_t nodes, std::uint64_t seed) {
  Rng rng(seed);
  Citations graph{nodes, {}};
  const std::int64_t pairs = kCoraEdges / 2 * nodes / kCoraNodes;
  std::vector<std::int64_t> ends = {0};
  const auto connect = [&](std::int64_t a, std::int64_t b) {
    if (a == b || !graph.edges.emplace(a, b).second) return;
    graph.edges.emplace(b, a);
    ends.push_back(a);
    ends.push_back(b);
  };
  const auto popular = [&] { return ends[rng.below(ends.size())]; };
  for (std::int64_t node = 1; node < nodes; ++node) connect(node, popular());
  while (static_cast<std::int64_t>(graph.edges.size()) < 2 * pairs) {
    connect(static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(nodes))), popular());
  }
  return graph;
}

// 1 / sqrt(d + 1) for each node of d edges: the adjacency with ones on its diagonal is scaled by it
// on both sides.
std::vector<float> scales_of(const Citations& graph) {
  std::vector<double> degrees(static_cast<std::size_t>(graph.nodes), 1);
  for (const auto& edge : graph.edges) ++degrees[static_cast<std::size_t>(edge.first)];
  std::vector<float> scales;
  for (const double degree : degrees) scales.push_back(static_cast<float>(1 / std::sqrt(degree)));
  return scales;
}

// How much of the power of independent features is left after aggregation, over all nodes.
double power_left(const Citations& graph) {
  const std::vector<float> scales = scales_of(graph);
  const auto square = [&](std::int64_t node) {
    return std::pow(static_cast<double>(scales[static_cast<std::size_t>(node)]), 2);
  };
  double sum = 0;
  for (std::int64_t node = 0; node < graph.nodes; ++node) sum += square(node) * square(node);
  for (const auto& [from, to] : graph.edges) sum += square(from) * square(to);
  return sum / static_cast<double>(graph.nodes);
}

// Gives the aggregation of a layer: what each node gathers from itself and its neighbours.
using Aggregate = std::function<ValueId(const std::string& name, ValueId x)>;

Graph make_gcn(const std::string& name, const ZooOptions& options,
               const std::function<Aggregate(Network&, const Citations&)>& prepare) {
  Network net(name, options.seed);
  GraphBuilder& b = net.builder();
  const Feature features = net.image("features", {options.nodes, kFeatures});
  const Citations graph = citations(options.nodes, options.seed);
  const Aggregate aggregate = prepare(net, graph);
  const double left = power_left(graph);
  const auto layer = [&](const std::string& layer_name, ValueId x, std::int64_t outputs) {
    const auto inputs = static_cast<double>(net.shape(x)[1]);
    const ValueId w = net.weight(layer_name + ".weight", {net.shape(x)[1], outputs},
                                 std::sqrt(2.0 / inputs / left));
    const ValueId transformed = b.node(layer_name + ".linear", "MatMul", {x, w});
    const ValueId bias = net.weight(layer_name + ".bias", {outputs}, 0.01);
    return b.node(layer_name + ".add", "Add",
                  {aggregate(layer_name + ".aggregate", transformed), bias});
  };
  const ValueId hidden = b.node("relu", "Relu", {layer("conv1", features.value, kHidden)});
  const ValueId scores = layer("conv2", hidden, kClasses);
  return net.finish({b.node("softmax", "Softmax", {scores}, {{"axis", std::int64_t{1}}})});
}

Aggregate by_product(Network& net, const Citations& graph) {
  const std::vector<float> scales = scales_of(graph);
  const std::int64_t nodes = graph.nodes;
  std::vector<float> adjacency(static_cast<std::size_t>(nodes * nodes), 0.0f);
  const auto set = [&](std::int64_t row, std::int64_t column) {
    adjacency[static_cast<std::size_t>(row * nodes + column)] =
        scales[static_cast<std::size_t>(row)] * scales[static_cast<std::size_t>(column)];
  };
  for (std::int64_t node = 0; node < nodes; ++node) set(node, node);
  for (const auto& [from, to] : graph.edges) set(to, from);
  const ValueId matrix =
      net.builder().constant("adjacency", Tensor::from<float>({nodes, nodes}, adjacency));
  return [&net, matrix](const std::string& name, ValueId x) {
    return net.builder().node(name, "MatMul", {matrix, x});
  };
}

// Starts at each node's own share and adds to it along the edges.
Aggregate by_edges(Network& net, const Citations& graph) {
  const std::vector<float> scales = scales_of(graph);
  const auto count = static_cast<std::int64_t>(graph.edges.size());
  std::vector<std::int64_t> sources, targets;
  std::vector<float> edge_scales, own_scales;
  for (const auto& [from, to] : graph.edges) {
    sources.push_back(from);
    targets.push_back(to);
    edge_scales.push_back(scales[static_cast<std::size_t>(from)] *
                          scales[static_cast<std::size_t>(to)]);
  }
  for (const float scale : scales) own_scales.push_back(scale * scale);
  GraphBuilder& b = net.builder();
  const ValueId source = b.constant("edges.source", Tensor::from<std::int64_t>({count}, sources));
  const ValueId edge_scale =
      b.constant("edges.scale", Tensor::from<float>({count, 1}, edge_scales));
  const ValueId own_scale =
      b.constant("nodes.scale", Tensor::from<float>({graph.nodes, 1}, own_scales));
  return [=, &net](const std::string& name, ValueId x) {
    GraphBuilder& builder = net.builder();
    const std::int64_t width = net.shape(x)[1];
    std::vector<std::int64_t> rows;  // a target for each element, as torch.scatter_add wants it
    for (const std::int64_t target : targets)
      rows.insert(rows.end(), static_cast<std::size_t>(width), target);
    const ValueId row =
        builder.constant(name + ".rows", Tensor::from<std::int64_t>({count, width}, rows));
    const ValueId own = builder.node(name + ".own", "Mul", {x, own_scale});
    const ValueId gathered =
        builder.node(name + ".gather", "Gather", {x, source}, {{"axis", std::int64_t{0}}});
    const ValueId messages = builder.node(name + ".messages", "Mul", {gathered, edge_scale});
    return builder.node(name, "ScatterElements", {own, row, messages},
                        {{"axis", std::int64_t{0}}, {"reduction", std::string("add")}});
  };
}

}  // namespace

Graph make_gcn_cora(const ZooOptions& options) { return make_gcn("gcn_cora", options, by_product); }

Graph make_gcn_cora_edges(const ZooOptions& options) {
  return make_gcn("gcn_cora_edges", options, by_edges);
}

}  // namespace inlay
