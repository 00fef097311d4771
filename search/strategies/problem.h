// A placement problem in numbers: nodes by position, layouts by index, candidates as options with
// one cost. What the dynamic program works on.
//
//   const PlacementProblem problem = make_problem(graph, candidates, costs, allowed,
//   LayoutUse::kPriced); for (const PlacementOption& option : problem.options_at(position)) ...
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/strategies/strategy.h"

namespace inlay {

struct LayoutPort {
  int value;   // index into PlacementProblem::values
  int layout;  // index into that value's layouts
  bool operator==(const LayoutPort&) const = default;
};

// The cheapest candidate of those that cover the same nodes with the same layouts.
struct PlacementOption {
  int candidate;
  double cost;                       // dispatch included
  int first;                         // lowest position covered
  std::vector<std::uint64_t> cover;  // bit i: position first + i
  std::vector<LayoutPort> inputs;    // by value
  std::vector<LayoutPort> outputs;
  double output_cost;  // bringing graph outputs to dense
};

struct ProblemValue {
  int producer = -1;  // position; -1 for a graph input
  int last_use = -1;  // position; -1 if nothing reads it
  int layout_count = 0;
  int dense = 0;  // index of the dense layout
  bool is_output = false;
  std::vector<double> conversion;  // [from * layout_count + to]; infinite where not priced
  // Layouts that consumers at positions[i] and later may ask for.
  std::vector<int> positions;
  std::vector<std::uint32_t> demand_from;

  double convert(int from, int to) const {
    return conversion[static_cast<std::size_t>(from * layout_count + to)];
  }
  std::uint32_t demand_at(int position) const;
};

struct PlacementProblem {
  int node_count = 0;
  std::vector<NodeId> order;  // node at each position: topological, chosen to keep few values alive
  std::vector<ProblemValue> values;
  std::vector<PlacementOption> options;  // by first position, then candidate
  std::vector<int> option_begin;         // of each position; one more at the end
  // The least that covering a position can cost: an option's cost is shared evenly by the positions
  // it covers.
  std::vector<double> share;
  std::vector<double> share_from;  // sum over positions >= i

  std::span<const PlacementOption> options_at(int position) const {
    const auto i = static_cast<std::size_t>(position);
    return std::span(options).subspan(
        static_cast<std::size_t>(option_begin[i]),
        static_cast<std::size_t>(option_begin[i + 1] - option_begin[i]));
  }
};

// kIgnored prices every conversion at zero: its optimum is a lower bound on the true one.
enum class LayoutUse { kPriced, kIgnored };

// allowed  one flag per candidate
PlacementProblem make_problem(const Graph& graph, const Candidates& candidates,
                              const CostTable& costs, const std::vector<bool>& allowed,
                              LayoutUse layouts);

}  // namespace inlay
