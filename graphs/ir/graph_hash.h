// What identifies a graph's work: structure, operators, attributes, types and the constants' bytes.
// Names do not count.
//
//   if (graph_hash(a) == graph_hash(b)) …   // the same computation, node for node
#pragma once

#include "core/base/hash.h"
#include "graphs/ir/graph.h"

namespace inlay {

// Reads every constant once.
Hash graph_hash(const Graph& graph);

}  // namespace inlay
