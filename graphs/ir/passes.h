// Rewrites that keep every output bit for bit. Each makes a new graph and says what it removed.
//
//   PassResult live = remove_dead(graph);
//   PassResult merged = merge_equal(live.graph);
//
// Both are near-linear in nodes and values; names, inputs and outputs stay.
#pragma once

#include <string>
#include <vector>

#include "graphs/ir/graph.h"

namespace inlay {

struct PassResult {
  Graph graph;
  std::vector<std::string> removed;  // names of nodes, in order
};

// Drops nodes and constants that no output depends on, and the outputs nobody reads of the nodes
// that stay (which become kNoValue, or go if the operator may have fewer). Inputs stay, read or
// not.
PassResult remove_dead(const Graph& graph);

// Leaves one of several nodes that compute the same: equal operator, attributes, operands and
// output types; and one of several constants with equal type and bytes. A node or constant whose
// value is an output of the graph stays, since outputs go by name. Nodes with nested graphs are not
// compared.
PassResult merge_equal(const Graph& graph);

}  // namespace inlay
