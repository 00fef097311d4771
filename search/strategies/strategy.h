// Search strategies: candidates and costs in, a placement out.
//
//   const SearchResult best = search_dynamic(graph, candidates, costs, limits);
//
// Invariants of every strategy: each node is covered exactly once; the quotient graph is acyclic;
// the predicted cost is total_cost() of the placement; ties are broken by candidate id, so equal
// inputs give equal placements.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "search/candidates/candidates.h"
#include "search/cost/cost_table.h"
#include "search/placement.h"

namespace inlay {

struct SearchLimits {
  std::size_t max_states = 20000;  // per cut; beyond it `dynamic` narrows to a beam and says so
  std::chrono::milliseconds budget{0};  // 0: none
  const std::atomic<bool>* cancelled = nullptr;
};

struct SearchResult {
  std::string strategy;
  Placement placement;
  double predicted_ns = 0;
  // no placement of these candidates costs less; equals predicted_ns when optimal
  double bound_ns = 0;
  StopReason stop = StopReason::kComplete;
  std::size_t states = 0;  // explored
};

// Cost of a placement: candidates, dispatch per step (views are free), and one conversion per value
// and target layout that a consumer needs and the producer does not give. Graph inputs, outputs and
// constants are dense.
double total_cost(const Graph& graph, const Candidates& candidates, const CostTable& costs,
                  const Placement& placement);

// Orders the candidates for execution. nullopt if they do not cover every node exactly once or have
// a cycle.
std::optional<Placement> make_placement(const Graph& graph, const Candidates& candidates,
                                        std::vector<int> chosen);

// Best placement that uses only `plugin`, its gaps filled by "reference" (and free views). nullopt
// if some node has neither. Its bound is that of this plugin's placements, and kComplete says that
// it was reached.
std::optional<SearchResult> search_single(const Graph& graph, const Candidates& candidates,
                                          const CostTable& costs, const std::string& plugin,
                                          const SearchLimits& limits);

// Optimal over all candidates while the state fits: dynamic programming over the downsets of the
// graph along an order that keeps few values alive; state = covered set near the cut + candidates
// that wait for inputs + layouts of the live values (frontier.h). Linear in the nodes where that
// state is bounded. Beyond max_states it narrows to a beam, whose result is never worse than the
// best single plugin's, and whose bound still holds.
// throws  Error{kUnsupported} if no placement exists, naming a node without a cost if that is why
SearchResult search_dynamic(const Graph& graph, const Candidates& candidates,
                            const CostTable& costs, const SearchLimits& limits);

// Every placement; for tests and graphs of up to about 12 nodes.
// throws  Error{kInvalidArgument} above 16 nodes
SearchResult search_exhaustive(const Graph& graph, const Candidates& candidates,
                               const CostTable& costs);

}  // namespace inlay
