// Plans of a single region, without a graph: the candidate itself, as it is measured or checked,
// and the same work on the reference plugin.
//
//   const Lowered candidate = lower_region(region, "onednn", host, EdgeLayout::kDense);
//   const Lowered reference = lower_reference(region, host);
#pragma once

#include <string>

#include "core/host/plugin_host.h"
#include "core/plan/plan.h"
#include "core/plan/weights.h"

namespace inlay {

// A plan and the bytes of its constants, in memory.
struct Lowered {
  Plan plan;
  Weights weights;
};

// How a region's plan takes its inputs and gives its outputs.
enum class EdgeLayout {
  kAsRegion,  // in the region's own layouts: what is measured
  // dense, converted by the host on the way in and out: what is checked against the reference
  kDense,
};

// A plan that runs only this region, whose constants all carry bytes, on one plugin.
// throws  Error{kNotFound, kPluginFailed} if the plugin cannot be opened
Lowered lower_region(const Region& region, const std::string& plugin, PluginHost& host,
                     EdgeLayout edges = EdgeLayout::kAsRegion);

// The same work on the reference plugin, node by node and dense: what a check compares with.
Lowered lower_reference(const Region& region, PluginHost& host);

// The region that converts a value's layout: one inlay.Convert node.
Region conversion_region(const TensorType& type, const Layout& from, const Layout& to);

}  // namespace inlay
