// The straight way from a graph to a plan: candidates → cost → search → plan → race. The story of the whole program is
// in place.cpp.
//
//   const Placed placed = place(graph, {.host = host, ...}, options);
//   write_weights("m.weights", ...); write_file("m.plan", to_text(placed.plan.plan));
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "search/cost/price.h"
#include "search/lower/lower.h"
#include "search/strategies/strategy.h"

namespace inlay {

struct PlaceOptions {
  std::string strategy = "dynamic";  // single | dynamic
  CandidateFilter filter;
  SearchLimits limits;
};

// One complete plan in the final comparison.
struct Contender {
  std::string name;                 // "placement", or the plugin that stands alone
  SearchResult result;
  std::optional<Lowered> lowered;   // absent if it was not raced
  std::optional<Cost> measured;     // end to end, from the race; absent: predicted only (and why_not_raced says so)
  std::string why_not_raced;
  int steps = 0;
};

// How the winner was settled: paired end-to-end runs of two plans in one process.
struct RaceResult {
  std::string first;
  std::string second;
  double log_ratio = 0;       // mean of log(first time / second time) over pairs; below 0: first is faster
  double log_ratio_low = 0;   // 95% interval
  double log_ratio_high = 0;
  int pairs = 0;
  bool from_database = false;
};

struct Placed {
  Candidates candidates;
  Priced priced;
  std::vector<Contender> contenders;  // placement first, then single backends by predicted time
  std::vector<RaceResult> races;
  std::size_t winner = 0;             // index into contenders
  Lowered lowered;                    // the winner's plan
};

Placed place(const Graph& graph, const PriceContext& context, const PlaceOptions& options);

}  // namespace inlay
