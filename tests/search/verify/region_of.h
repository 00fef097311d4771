// A whole graph as one dense region, for tests.
#pragma once

#include <algorithm>
#include <string>

#include "core/plan/region.h"
#include "graphs/ir/graph.h"

namespace inlay {

inline Region region_of(const Graph& graph) {
  Region region;
  region.pattern = "test";
  for (const Value& value : graph.values()) {
    region.values.push_back({value.name, "", value.type,
                             Layout::dense(static_cast<int>(value.type.shape.size())),
                             value.constant.has_value(), value.constant});
  }
  for (const Node& node : graph.nodes()) {
    RegionNode copy{node.name, node.domain, node.op, {}, {}, node.attributes};
    for (const ValueId id : node.inputs) copy.inputs.push_back(id.index);
    for (const ValueId id : node.outputs) copy.outputs.push_back(id.index);
    region.nodes.push_back(std::move(copy));
  }
  for (const ValueId id : graph.inputs()) region.inputs.push_back(id.index);
  for (const ValueId id : graph.outputs()) region.outputs.push_back(id.index);
  return region;
}

}  // namespace inlay
