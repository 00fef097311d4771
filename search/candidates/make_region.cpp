#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/plan/onnx_constant.h"
#include "search/candidates/candidates.h"
#include "search/candidates/region_onnx.h"

namespace inlay {
namespace {

// Region values in order of first mention, which depends on structure alone: equal regions hash
// equally.
class RegionMaker {
 public:
  RegionMaker(const Graph& graph, const Candidate& candidate)
      : graph_(graph), candidate_(candidate) {
    for (std::size_t i = 0; i < candidate.inputs.size(); ++i) {
      layouts_.emplace(candidate.inputs[i].index, &candidate.input_layouts[i]);
    }
    for (std::size_t i = 0; i < candidate.outputs.size(); ++i) {
      layouts_.emplace(candidate.outputs[i].index, &candidate.output_layouts[i]);
    }
  }

  Region make() {
    region_.pattern = candidate_.pattern;
    for (const NodeId id : candidate_.nodes) {
      const Node& node = graph_.node(id);
      RegionNode made;
      made.name = node.name;
      made.domain = node.domain;
      made.op = node.op;
      made.attributes = node.attributes;
      for (const ValueId input : node.inputs) made.inputs.push_back(index_of(input));
      for (const ValueId output : node.outputs) made.outputs.push_back(index_of(output));
      region_.nodes.push_back(std::move(made));
    }
    for (const ValueId input : candidate_.inputs) region_.inputs.push_back(index_of(input));
    for (const ValueId output : candidate_.outputs) region_.outputs.push_back(index_of(output));
    return std::move(region_);
  }

 private:
  int index_of(ValueId id) {
    if (id.is_none()) return -1;
    const auto [it, is_new] = index_.emplace(id.index, static_cast<int>(region_.values.size()));
    if (is_new) region_.values.push_back(value_of(id));
    return it->second;
  }

  RegionValue value_of(ValueId id) const {
    const Value& value = graph_.value(id);
    RegionValue made;
    made.name = value.name;
    const auto port = candidate_.ports.find(id);
    if (port != candidate_.ports.end()) made.port = port->second;
    made.type = value.type;
    const auto layout = layouts_.find(id.index);
    made.layout = layout != layouts_.end()
                      ? *layout->second
                      : Layout::dense(static_cast<int>(value.type.shape.size()));
    made.is_constant = value.constant.has_value();
    made.constant = value.constant;
    return made;
  }

  const Graph& graph_;
  const Candidate& candidate_;
  std::unordered_map<std::int32_t, const Layout*> layouts_;
  std::unordered_map<std::int32_t, int> index_;
  Region region_;
};

}  // namespace

Boundary find_boundary(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::vector<NodeId> sorted = nodes;
  std::sort(sorted.begin(), sorted.end());
  const auto is_inside = [&sorted](NodeId id) {
    return std::binary_search(sorted.begin(), sorted.end(), id);
  };
  std::unordered_set<std::int32_t> seen;
  Boundary boundary;
  for (const NodeId id : nodes) {
    for (const ValueId input : graph.node(id).inputs) {
      if (input.is_none() || graph.is_constant(input)) continue;
      const NodeId producer = graph.value(input).producer;
      if (producer != kNoNode && is_inside(producer)) continue;
      if (seen.insert(input.index).second) boundary.inputs.push_back(input);
    }
    for (const ValueId output : graph.node(id).outputs) {
      if (output.is_none()) continue;
      const auto readers = graph.consumers(output);
      const bool is_read = std::any_of(readers.begin(), readers.end(),
                                       [&is_inside](NodeId reader) { return !is_inside(reader); });
      if (is_read || graph.is_output(output)) boundary.outputs.push_back(output);
    }
  }
  return boundary;
}

Region make_region(const Graph& graph, const Candidate& candidate) {
  Region region = RegionMaker(graph, candidate).make();
  if (candidate.onnx_opset != 0) add_onnx(&region, region_onnx(region, candidate.onnx_opset));
  return region;
}

}  // namespace inlay
