// The definition of a match, tried out: every assignment of graph nodes to the pattern's nodes. For
// small graphs.
#pragma once

#include <set>
#include <vector>

#include "graphs/ir/graph.h"
#include "graphs/pattern/pattern.h"

namespace inlay {

// Node sets that match the pattern's operators, structure and surroundings; constraints are left
// out.
std::set<std::vector<NodeId>> brute_force_matches(const Graph& graph, const Pattern& pattern);

}  // namespace inlay
