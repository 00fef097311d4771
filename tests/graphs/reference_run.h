// Runs a graph on the reference plugin, node by node: for tests of rewrites, which must not change
// what a graph computes.
//
//   PluginHost host(log, {.search_path = {INLAY_PLUGIN_DIR "/reference.so"}});
//   const std::vector<Tensor> outputs = run_on_reference(graph, {input}, host);
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "core/base/rng.h"
#include "core/host/evaluate.h"
#include "core/host/plugin_host.h"
#include "graphs/ir/graph.h"

namespace inlay {

inline Layout dense_layout(const TensorType& type) {
  return Layout::dense(static_cast<int>(type.shape.size()));
}

inline std::vector<Tensor> run_on_reference(const Graph& graph, const std::vector<Tensor>& inputs,
                                            PluginHost& host) {
  const std::shared_ptr<Device> reference = host.open_device("reference");
  std::map<ValueId, Tensor> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) values[graph.inputs()[i]] = inputs[i];
  for (const Node& node : graph.nodes()) {
    Region region;
    region.pattern = node.op;
    RegionNode single{.name = node.name, .op = node.op, .attributes = node.attributes};
    std::vector<Tensor> operands;
    for (const ValueId id : node.inputs) {
      if (id.is_none()) {
        single.inputs.push_back(-1);
        continue;
      }
      const Value& value = graph.value(id);
      const int index = static_cast<int>(region.values.size());
      region.values.push_back({.type = value.type, .layout = dense_layout(value.type)});
      region.inputs.push_back(index);
      single.inputs.push_back(index);
      operands.push_back(value.constant ? *value.constant : values.at(id));
    }
    for (const ValueId id : node.outputs) {
      const int index = static_cast<int>(region.values.size());
      region.values.push_back(
          {.type = graph.value(id).type, .layout = dense_layout(graph.value(id).type)});
      single.outputs.push_back(index);
      region.outputs.push_back(index);
    }
    region.nodes = {single};
    const auto results = evaluate(region, operands, *reference);
    if (!results) {
      ADD_FAILURE() << "the reference declines " << node.op << " '" << node.name << "'";
      return {};
    }
    for (std::size_t k = 0; k < node.outputs.size(); ++k) values[node.outputs[k]] = (*results)[k];
  }
  std::vector<Tensor> outputs;
  for (const ValueId id : graph.outputs()) {
    outputs.push_back(graph.is_constant(id) ? *graph.value(id).constant : values.at(id));
  }
  return outputs;
}

inline Tensor normal_tensor(const Shape& shape, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<float> values;
  for (std::int64_t i = 0; i < element_count(shape); ++i) {
    values.push_back(static_cast<float>(rng.normal()));
  }
  return Tensor::from<float>(shape, values);
}

}  // namespace inlay
