#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/error.h"
#include "graphs/ir/extract.h"
#include "search/strategies/strategy.h"

namespace inlay {

double total_cost(const Graph& graph, const Candidates& candidates, const CostTable& costs,
                  const Placement& placement) {
  double total = 0;
  std::map<ValueId, const Layout*> given;                   // values that a candidate makes
  std::map<ValueId, std::map<std::string, Layout>> wanted;  // layouts by text, each once
  for (const int id : placement.candidates) {
    const Candidate& c = candidates.list.at(static_cast<std::size_t>(id));
    for (std::size_t i = 0; i < c.outputs.size(); ++i) given[c.outputs[i]] = &c.output_layouts[i];
    for (std::size_t i = 0; i < c.inputs.size(); ++i) {
      wanted[c.inputs[i]].emplace(c.input_layouts[i].text(), c.input_layouts[i]);
    }
    if (c.plugin == kViewPlugin) continue;
    const CandidateCost& cost = costs.candidates.at(static_cast<std::size_t>(id));
    if (!cost.cost) {
      throw Error(Code::kInvalidArgument, fmt::format("candidate {} ({} '{}') has no cost: {}", id,
                                                      c.plugin, c.pattern, cost.reason));
    }
    total += cost.cost->ns + costs.dispatch_ns;
  }
  const auto dense = [&graph](ValueId id) {
    return Layout::dense(static_cast<int>(graph.value(id).type.shape.size()));
  };
  for (const ValueId output : graph.outputs()) {
    if (given.contains(output)) wanted[output].emplace(dense(output).text(), dense(output));
  }
  for (const auto& [value, layouts] : wanted) {
    const auto producer = given.find(value);
    const Layout from = producer == given.end() ? dense(value) : *producer->second;
    for (const auto& [text, to] : layouts) {
      if (to != from) total += costs.conversion(graph.value(value).type, from, to).cost.ns;
    }
  }
  return total;
}

std::optional<Placement> make_placement(const Graph& graph, const Candidates& candidates,
                                        std::vector<int> chosen) {
  std::vector<int> group_of(static_cast<std::size_t>(graph.node_count()), -1);
  std::sort(chosen.begin(), chosen.end());
  for (std::size_t group = 0; group < chosen.size(); ++group) {
    for (const NodeId node : candidates.list.at(static_cast<std::size_t>(chosen[group])).nodes) {
      int& owner = group_of[static_cast<std::size_t>(node.index)];
      if (owner >= 0) return std::nullopt;
      owner = static_cast<int>(group);
    }
  }
  if (std::find(group_of.begin(), group_of.end(), -1) != group_of.end()) return std::nullopt;
  const auto order = quotient_order(graph, group_of);
  if (!order) return std::nullopt;
  Placement placement;
  for (const int group : *order)
    placement.candidates.push_back(chosen[static_cast<std::size_t>(group)]);
  return placement;
}

}  // namespace inlay
