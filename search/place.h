// The straight way from a graph to a plan: candidates → cost → search → plan → race. The story of
// the whole program is in place.cpp.
//
//   const Placed placed = place(graph, context, {.strategy = "dynamic"});
//   write_weights("m.weights", placed.lowered.plan.constants, placed.lowered.weights);
//   write_file("m.plan", to_text(placed.lowered.plan));
#pragma once

#include <string>
#include <vector>

#include "search/contenders.h"
#include "search/cost/price.h"
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
