#include "graphs/pattern/chain_match.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace inlay {
namespace {

bool is_inside(const std::vector<NodeId>& nodes, NodeId id) {
  return std::find(nodes.begin(), nodes.end(), id) != nodes.end();
}

// Y, or where that is taken Y.1, Y.2, …
std::string free_port(const std::map<std::string, ValueId>& ports, const std::string& variable) {
  std::string port = variable;
  for (int i = 1; ports.contains(port); ++i) port = fmt::format("{}.{}", variable, i);
  return port;
}

}  // namespace

bool ChainMatcher::reads_all(const Partial& partial, ValueId value) const {
  const auto readers = graph_.consumers(value);
  return !graph_.is_output(value) &&
         std::all_of(readers.begin(), readers.end(),
                     [&](NodeId reader) { return is_inside(partial.nodes, reader); });
}

void ChainMatcher::grow(const Match& match, const Binding& base, int depth) {
  if (depth == pattern_.most_links) return;
  const Node& last = graph_.node(match.nodes.back());
  if (last.outputs.size() != 1 || last.outputs[0].is_none()) return;
  const ValueId so_far = last.outputs[0];
  const auto readers = graph_.consumers(so_far);
  const std::set<NodeId> roots(readers.begin(), readers.end());
  for (const NodeId root : roots) {
    for (const PatternForm& link : links_) {
      FormMatcher(graph_, link)
          .match_with(
              {{std::string(kSoFar), so_far}}, root,
              [&](const Partial& partial) {
                if (reads_all(partial, so_far)) add_link(match, base, link, partial, depth);
              },
              [](const std::string&) {});
    }
  }
}

void ChainMatcher::add_link(const Match& match, const Binding& base, const PatternForm& link,
                            const Partial& partial, int depth) {
  Match longer = match;
  Binding binding = base;
  for (const int i : link.order) {
    const auto n = static_cast<std::size_t>(i);
    const Node& node = graph_.node(partial.nodes[n]);
    longer.nodes.push_back(partial.nodes[n]);
    binding.nodes[node.op] = &node;
    if (!link.nodes[n].alias.empty()) binding.nodes[link.nodes[n].alias] = &node;
  }
  const NodeId root = longer.nodes.back();
  const auto miss = [&](std::string reason) {
    found.near_misses.push_back({index_, root, std::move(reason)});
  };
  for (std::size_t v = 0; v < link.variables.size(); ++v) {
    const ValueId value = partial.variables[v];
    const std::string& variable = link.variables[v];
    if (variable == kSoFar || value.is_none()) continue;
    for (const auto& [port, bound] : match.ports) {
      if (bound == value) return miss(fmt::format("{} and {} are the same value", port, variable));
    }
    if (is_inside(match.nodes, graph_.value(value).producer)) {
      return miss(fmt::format("{} is made inside the match", variable));
    }
    longer.ports[free_port(longer.ports, variable)] = value;
    binding.ports[variable] = value;
  }
  for (auto* ports : {&longer.ports, &binding.ports}) {
    ports->erase("out");  // the value so far
    bind_outputs(graph_.node(root), *ports);
  }
  const ConstraintFailure failure = check_constraints(graph_, pattern_.constraints, binding);
  if (!failure.reason.empty()) return miss(failure.reason);
  if (!is_new(longer.nodes)) return;
  found.matches.push_back(longer);
  grow(longer, base, depth + 1);
}

}  // namespace inlay
