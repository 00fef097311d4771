// From a plan back to the graph it runs, so that a plan alone can be placed again: on the
// reference, to check a run.
#pragma once

#include "core/plan/plan.h"
#include "core/plan/weights.h"
#include "graphs/ir/graph.h"

namespace inlay {

// Layout conversions and copies disappear; views become Reshape. Nodes have the names that the
// plan's steps keep.
Graph raise_to_graph(const Plan& plan, const Weights& weights);

}  // namespace inlay
