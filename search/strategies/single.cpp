#include <algorithm>

#include "core/base/error.h"
#include "search/strategies/downset_search.h"
#include "search/strategies/strategy.h"

namespace inlay {
namespace {

bool has_cost(const Candidates& candidates, const CostTable& costs, std::size_t id) {
  return candidates.list[id].plugin == kViewPlugin || costs.candidates[id].cost.has_value();
}

// Nodes that the plugin and the free views leave uncovered.
std::vector<bool> find_gaps(const Graph& graph, const Candidates& candidates,
                            const CostTable& costs, const std::string& plugin) {
  std::vector<bool> is_gap(static_cast<std::size_t>(graph.node_count()), true);
  for (std::size_t id = 0; id < candidates.list.size(); ++id) {
    const Candidate& c = candidates.list[id];
    if ((c.plugin != plugin && c.plugin != kViewPlugin) || !has_cost(candidates, costs, id))
      continue;
    for (const NodeId node : c.nodes) is_gap[static_cast<std::size_t>(node.index)] = false;
  }
  return is_gap;
}

bool is_coverable(const Graph& graph, const Candidates& candidates, const CostTable& costs,
                  const std::vector<bool>& allowed) {
  std::vector<bool> covered(static_cast<std::size_t>(graph.node_count()), false);
  for (std::size_t id = 0; id < candidates.list.size(); ++id) {
    if (!allowed[id] || !has_cost(candidates, costs, id)) continue;
    for (const NodeId node : candidates.list[id].nodes)
      covered[static_cast<std::size_t>(node.index)] = true;
  }
  return std::find(covered.begin(), covered.end(), false) == covered.end();
}

}  // namespace

std::optional<SearchResult> search_single(const Graph& graph, const Candidates& candidates,
                                          const CostTable& costs, const std::string& plugin,
                                          const SearchLimits& limits) {
  const std::vector<bool> is_gap = find_gaps(graph, candidates, costs, plugin);
  // The reference fills gaps only; where the plugin's regions cannot be fitted together around
  // them, anywhere.
  for (const bool only_gaps : {true, false}) {
    std::vector<bool> allowed(candidates.list.size(), false);
    for (std::size_t id = 0; id < candidates.list.size(); ++id) {
      const Candidate& c = candidates.list[id];
      const bool in_gaps = std::all_of(c.nodes.begin(), c.nodes.end(), [&is_gap](NodeId node) {
        return is_gap[static_cast<std::size_t>(node.index)];
      });
      allowed[id] = c.plugin == plugin || c.plugin == kViewPlugin ||
                    (c.plugin == kReferencePlugin && (in_gaps || !only_gaps));
    }
    if (!is_coverable(graph, candidates, costs, allowed)) continue;
    const PlacementProblem problem =
        make_problem(graph, candidates, costs, allowed, LayoutUse::kPriced);
    const DownsetResult found = search_downsets(problem, limits);
    if (!found.is_found) continue;
    SearchResult result;
    result.strategy = "single";
    result.placement = *make_placement(graph, candidates, found.chosen);
    result.predicted_ns = total_cost(graph, candidates, costs, result.placement);
    result.bound_ns = std::min(found.bound, result.predicted_ns);
    // Best of this plugin's placements, not of all.
    result.stop = found.stop == StopReason::kOptimal ? StopReason::kComplete : found.stop;
    result.states = found.states;
    return result;
  }
  return std::nullopt;
}

}  // namespace inlay
