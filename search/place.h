// The straight way from a graph to a plan: candidates → cost → search → plan → race. The story of
// the whole program is in place.cpp.
//
//   const Placed placed = place(graph, context, {.strategy = "dynamic"});
//   write_weights("m.weights", placed.lowered.plan.constants, placed.lowered.weights);
//   write_file("m.plan", to_text(placed.lowered.plan));
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "search/cost/price.h"
#include "search/cost/race.h"
#include "search/lower/lower.h"
#include "search/strategies/strategy.h"

namespace inlay {

struct PlaceOptions {
  std::string strategy = "dynamic";  // one of strategy_names()
  CandidateFilter filter;
  SearchLimits limits;
};

// {"single", "dynamic"}
const std::vector<std::string>& strategy_names();

// One complete plan in the final comparison.
struct Contender {
  std::string name;  // "placement", or the plugin that stands alone
  SearchResult result;
  Plan plan;
  // End to end, from the race that decided about it: a loser's from that which it lost, the winner's
  // from that with its closest rival, or without a rival from one with itself. Absent: predicted
  // only.
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

struct Placed {
  Candidates candidates;
  Priced priced;
  // the searched placement first, then single backends by predicted time
  std::vector<Contender> contenders;
  std::vector<NotConsidered> not_considered;
  std::vector<Heat> heats;
  std::size_t winner = 0;  // index into contenders
  Lowered lowered;         // the winner's plan
};

// throws  Error{kNotFound, kUnsupported} from find_candidates and price; Error{kInvalidArgument}
//         for an unknown strategy; Error{kCancelled}
Placed place(const Graph& graph, const PriceContext& context, const PlaceOptions& options);

}  // namespace inlay
