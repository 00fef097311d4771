// From a placement to a plan: steps in order, layout conversions where producer and consumer differ
// (one per value and layout, shared by its consumers), views, static memory.
//
//   const Lowered lowered = lower(graph, candidates, best.placement, costs, host);
#pragma once

#include "search/candidates/candidates.h"
#include "search/cost/cost_table.h"
#include "search/lower/region_plan.h"
#include "search/placement.h"

namespace inlay {

// throws  Error{kNotFound, kPluginFailed} if a plugin cannot be opened; Error{kInternal} if a
//         conversion was not priced
Lowered lower(const Graph& graph, const Candidates& candidates, const Placement& placement,
              const CostTable& costs, PluginHost& host);

}  // namespace inlay
