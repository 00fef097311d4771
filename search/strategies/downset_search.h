// The dynamic program over frontiers: all states whose lowest unplaced position is i, for i from 0
// upward, keeping the cheapest way to each.
//
//   const DownsetResult found = search_downsets(problem, limits);
#pragma once

#include <vector>

#include "search/strategies/problem.h"

namespace inlay {

struct DownsetResult {
  bool is_found = false;    // false: no acyclic cover, or the beam lost it
  std::vector<int> chosen;  // candidates, in no order
  double cost = 0;
  double bound = 0;  // valid even if states were dropped
  StopReason stop = StopReason::kOptimal;
  std::size_t states = 0;
};

// Exact unless a position has more than limits.max_states states, time runs out or the search is
// cancelled: then the cheapest states, by cost so far plus the least that the rest can cost, go on.
DownsetResult search_downsets(const PlacementProblem& problem, const SearchLimits& limits);

}  // namespace inlay
