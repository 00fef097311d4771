// From a placement to a plan: steps in order, layout conversions where producer and consumer differ (one per value and
// layout, shared by its consumers), views, static memory.
//
//   const Lowered lowered = lower(graph, candidates, best.placement, costs, host);
#pragma once

#include "core/plan/plan.h"
#include "core/plan/weights.h"
#include "search/candidates/candidates.h"
#include "search/cost/cost_table.h"
#include "search/placement.h"

namespace inlay {

struct Lowered {
  Plan plan;
  Weights weights;
};

// throws  Error{kNotFound, kPluginFailed} if a plugin cannot be opened; Error{kInternal} if a conversion was not priced
Lowered lower(const Graph& graph, const Candidates& candidates, const Placement& placement,
              const CostTable& costs, PluginHost& host);

// A plan that runs only this region, on one plugin: what is measured and verified. Its inputs and outputs are in the
// region's layouts.
// throws  Error{kNotFound, kPluginFailed} if the plugin cannot be opened
Lowered lower_region(const Region& region, const std::string& plugin, PluginHost& host);

}  // namespace inlay
