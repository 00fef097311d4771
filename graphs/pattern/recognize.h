// Operators that exporters write out as several simpler ones, put back into one: GELU, layer
// normalisation, hard-swish. Backends have them as one kernel, and a plan has fewer steps.
//
//   const Recognized r = recognize_operators(graph);
//   for (const Recognition& change : r.changes) ...   // "recognize-gelu", the nodes replaced
//
// Each rule is a pattern (pattern.h), a test of its constants, and the operator that takes its
// place. The result differs in rounding only.
#pragma once

#include <string>
#include <vector>

#include "graphs/ir/graph.h"

namespace inlay {

struct Recognition {
  std::string kind;  // "recognize-" and the rule's name
  std::vector<std::string> nodes;
};

struct Recognized {
  Graph graph;
  std::vector<Recognition> changes;
};

// Where matches overlap the larger is taken, then the earlier root.
Recognized recognize_operators(const Graph& graph);

}  // namespace inlay
