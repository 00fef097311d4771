#include "search/candidates/region_onnx.h"

#include <fmt/format.h>

#include "graphs/ir/graph.h"
#include "graphs/onnx/export.h"

namespace inlay {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

std::string value_name(int index) { return fmt::format("v{}", index); }

Graph graph_of(const Region& region) {
  GraphBuilder builder("region");
  std::vector<ValueId> ids(region.values.size(), kNoValue);
  for (const int input : region.inputs) {
    ids[at(input)] = builder.input(value_name(input), region.values[at(input)].type);
  }
  for (int v = 0; v < static_cast<int>(region.values.size()); ++v) {
    const RegionValue& value = region.values[at(v)];
    if (value.is_constant) ids[at(v)] = builder.constant(value_name(v), value.constant.value());
  }
  for (std::size_t n = 0; n < region.nodes.size(); ++n) {
    const RegionNode& source = region.nodes[n];
    Node node;
    node.name = fmt::format("n{}", n);
    node.domain = source.domain;
    node.op = source.op;
    node.attributes = source.attributes;
    for (const int input : source.inputs) {
      node.inputs.push_back(input < 0 ? kNoValue : ids[at(input)]);
    }
    std::vector<TensorType> types;
    std::vector<std::string> names;
    for (const int output : source.outputs) {
      types.push_back(output < 0 ? TensorType{} : region.values[at(output)].type);
      names.push_back(output < 0 ? "" : value_name(output));
    }
    const std::vector<ValueId> made =
        builder.node_with_types(std::move(node), types, std::move(names));
    for (std::size_t o = 0; o < made.size(); ++o) {
      if (source.outputs[o] >= 0) ids[at(source.outputs[o])] = made[o];
    }
  }
  for (const int output : region.outputs) builder.output(ids[at(output)]);
  return builder.build();
}

}  // namespace

std::string region_onnx(const Region& region, int opset) {
  return export_onnx_structure(graph_of(region), opset);
}

}  // namespace inlay
