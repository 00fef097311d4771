// Whether nodes can be taken out of a graph and run as one step, and whether steps can be ordered.
//
//   if (const auto between = find_escape(graph, nodes)) …       // not convex: names the culprit
//   const std::vector<std::vector<int>> cycles = quotient_cycles(graph, group_of);
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "graphs/ir/graph.h"

namespace inlay {

// A node outside the set on a path from one of its nodes to another; nullopt if there is none,
// which means that the set is convex. Looks only at nodes that the set reaches and whose index lies
// between its lowest and highest, since ids follow a topological order.
//   nodes  any order, no repetition
std::optional<NodeId> find_escape(const Graph& graph, std::span<const NodeId> nodes);

inline bool is_convex(const Graph& graph, std::span<const NodeId> nodes) {
  return !find_escape(graph, nodes).has_value();
}

// The cycles among groups of nodes, each run as one step: the strong components with more than one
// group, groups ascending, components by their lowest group. Empty if the groups can be ordered.
//   group_of  one entry per node, 0 … number of groups - 1
std::vector<std::vector<int>> quotient_cycles(const Graph& graph, std::span<const int> group_of);

// The groups in an order in which they can run: of those that are ready, the one with the first
// node first. nullopt if there is a cycle.
std::optional<std::vector<int>> quotient_order(const Graph& graph, std::span<const int> group_of);

// For each node the nearest node through which every path from it to the graph's outputs leads;
// kNoNode if there is none, or no output is reached.
std::vector<NodeId> post_dominators(const Graph& graph);

}  // namespace inlay
