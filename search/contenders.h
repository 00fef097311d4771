// Who stands for the final comparison, and how it is decided: complete plans raced end to end.
//
//   std::vector<Single> singles = search_singles(graph, candidates, costs, host, filter, limits,
//   not_considered);
//   const std::size_t winner = race_contenders(contenders, lowered, context, heats);
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "search/cost/price.h"
#include "search/cost/race.h"
#include "search/lower/lower.h"
#include "search/strategies/strategy.h"

namespace inlay {

// One complete plan in the final comparison.
struct Contender {
  std::string name;  // "placement", or the plugin that stands alone
  SearchResult result;
  Plan plan;
  // End to end, from the race that decided about it: a loser's from that which it lost, the
  // winner's from that with its closest rival, or without a rival from one with itself. Absent:
  // predicted only.
  std::optional<Cost> measured;
  std::string why_not_raced;  // set iff it was not raced
};

// A race between the contender that led and a challenger: contenders[first] against
// contenders[second].
struct Heat {
  std::size_t first;
  std::size_t second;
  RaceResult result;
};

// A loaded plugin that stands for no contender of its own, and why.
struct NotConsidered {
  std::string plugin;
  std::string reason;
};

// The best placement on one plugin, with the reference's help.
struct Single {
  std::string plugin;
  SearchResult result;
};

// Each plugin alone, cheapest first; equal costs in order of name. Who cannot stand alone is added
// to `not_considered`.
std::vector<Single> search_singles(const Graph& graph, const Candidates& candidates,
                                   const CostTable& costs, const PluginHost& host,
                                   const CandidateFilter& filter, const SearchLimits& limits,
                                   std::vector<NotConsidered>& not_considered);

// Every contender meets the leader, at first contenders[0], in a paired race; the leader changes
// only where the race shows, beyond its interval, that the challenger is faster. So the winner is
// not slower than any raced backend beyond the noise. A plan whose steps ran one by one may still
// crash or hang as a whole: then it is out, with its reason.
//
// lowered   the contenders' plans, in the same order
// returns   the winner's index
// throws    as race(), but for Error{kPluginFailed}
std::size_t race_contenders(std::vector<Contender>& contenders, const std::vector<Lowered>& lowered,
                            const PriceContext& context, std::vector<Heat>& heats);

}  // namespace inlay
