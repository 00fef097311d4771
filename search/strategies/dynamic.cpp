#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "search/strategies/downset_search.h"
#include "search/strategies/strategy.h"

namespace inlay {
namespace {

// The cheapest one-plugin placement: what a narrowed search must not fall behind.
std::optional<SearchResult> best_single(const Graph& graph, const Candidates& candidates,
                                        const CostTable& costs, const SearchLimits& limits) {
  std::set<std::string> plugins;
  for (const Candidate& c : candidates.list) {
    if (c.plugin != kViewPlugin) plugins.insert(c.plugin);
  }
  std::optional<SearchResult> best;
  for (const std::string& plugin : plugins) {
    auto single = search_single(graph, candidates, costs, plugin, limits);
    if (single && (!best || single->predicted_ns < best->predicted_ns)) best = std::move(single);
  }
  return best;
}

}  // namespace

SearchResult search_dynamic(const Graph& graph, const Candidates& candidates,
                            const CostTable& costs, const SearchLimits& limits) {
  const std::vector<bool> all(candidates.list.size(), true);
  const PlacementProblem problem = make_problem(graph, candidates, costs, all, LayoutUse::kPriced);
  const DownsetResult found = search_downsets(problem, limits);

  SearchResult result;
  result.strategy = "dynamic";
  result.stop = found.stop;
  result.states = found.states;
  if (found.is_found) {
    result.placement = *make_placement(graph, candidates, found.chosen);
    result.predicted_ns = total_cost(graph, candidates, costs, result.placement);
  }
  if (found.stop == StopReason::kOptimal) {
    if (!found.is_found)
      throw Error(Code::kUnsupported, "no acyclic choice of candidates covers every node");
    result.bound_ns = result.predicted_ns;
    return result;
  }

  const auto single = best_single(graph, candidates, costs, limits);
  if (single && (!found.is_found || single->predicted_ns < result.predicted_ns)) {
    result.placement = single->placement;
    result.predicted_ns = single->predicted_ns;
  } else if (!found.is_found) {
    throw Error(Code::kUnsupported, "the narrowed search found no placement: raise max_states");
  }
  // Without conversions there is less to remember, so this bound is often the tighter one.
  const PlacementProblem relaxed = make_problem(graph, candidates, costs, all, LayoutUse::kIgnored);
  const double bound = std::max(found.bound, search_downsets(relaxed, limits).bound);
  result.bound_ns = std::min(bound, result.predicted_ns);
  return result;
}

}  // namespace inlay
