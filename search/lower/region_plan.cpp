#include "search/lower/region_plan.h"

#include <algorithm>
#include <map>
#include <utility>

#include "search/lower/plan_builder.h"

namespace inlay {
namespace {

constexpr const char* kReference = "reference";

std::size_t at(int index) { return static_cast<std::size_t>(index); }

Layout dense(const TensorType& type) { return Layout::dense(static_cast<int>(type.shape.size())); }

std::string port_name(const char* stem, std::size_t position) {
  return stem + std::to_string(position);
}

// One node of a region as a region of its own, everything dense; `values` are the region's, in its
// order.
Region single_node(const Region& region, const RegionNode& node) {
  Region single;
  single.pattern = node.op;
  std::map<int, int> renumbered;
  const auto take = [&](int index) {
    if (index < 0) return -1;
    const auto [entry, is_new] =
        renumbered.try_emplace(index, static_cast<int>(single.values.size()));
    if (is_new) {
      RegionValue value = region.values[at(index)];
      value.port.clear();
      value.layout = dense(value.type);
      single.values.push_back(std::move(value));
    }
    return entry->second;
  };
  RegionNode copy = node;
  for (int& index : copy.inputs) {
    const int original = index;
    index = take(index);
    const bool is_first =
        index >= 0 && at(index) + 1 == single.values.size() &&
        std::find(single.inputs.begin(), single.inputs.end(), index) == single.inputs.end();
    if (is_first && !region.values[at(original)].is_constant) single.inputs.push_back(index);
  }
  for (int& index : copy.outputs) {
    index = take(index);
    if (index >= 0) single.outputs.push_back(index);
  }
  single.nodes.push_back(std::move(copy));
  return single;
}

}  // namespace

Lowered lower_region(const Region& region, const std::string& plugin, PluginHost& host,
                     EdgeLayout edges) {
  PlanBuilder builder(host);
  std::vector<int> inputs;
  for (std::size_t i = 0; i < region.inputs.size(); ++i) {
    const RegionValue& value = region.values[at(region.inputs[i])];
    const Layout given = edges == EdgeLayout::kDense ? dense(value.type) : value.layout;
    const int input = builder.add_input(port_name("in", i), value.type, given);
    inputs.push_back(builder.converted(input, value.layout, /*plugin=*/""));
  }
  std::vector<int> outputs;
  for (std::size_t i = 0; i < region.outputs.size(); ++i) {
    const RegionValue& value = region.values[at(region.outputs[i])];
    outputs.push_back(builder.add_temporary(port_name("out", i), value.type, value.layout));
  }
  std::vector<std::string> names;
  for (const RegionNode& node : region.nodes) names.push_back(node.name);
  builder.add_run(region, plugin, std::move(inputs), outputs, std::move(names));
  for (const int output : outputs) {
    const Layout wanted = edges == EdgeLayout::kDense ? dense(builder.value(output).type)
                                                      : builder.value(output).layout;
    builder.add_output(builder.converted(output, wanted, /*plugin=*/""));
  }
  return builder.finish(summary(region), region_hash(region, /*with_constants=*/true).hex());
}

Lowered lower_reference(const Region& region, PluginHost& host) {
  PlanBuilder builder(host);
  std::map<int, int> plan_value;  // region value → plan value
  for (std::size_t i = 0; i < region.inputs.size(); ++i) {
    const TensorType& type = region.values[at(region.inputs[i])].type;
    plan_value[region.inputs[i]] = builder.add_input(port_name("in", i), type, dense(type));
  }
  for (const RegionNode& node : region.nodes) {
    const Region single = single_node(region, node);
    std::vector<int> inputs;
    std::vector<int> outputs;
    for (const int index : node.inputs) {
      const bool is_operand = index >= 0 && !region.values[at(index)].is_constant;
      if (!is_operand) continue;
      const int operand = plan_value.at(index);
      if (std::find(inputs.begin(), inputs.end(), operand) == inputs.end())
        inputs.push_back(operand);
    }
    for (const int index : node.outputs) {
      if (index < 0) continue;
      const TensorType& type = region.values[at(index)].type;
      outputs.push_back(plan_value[index] =
                            builder.add_temporary(port_name("v", at(index)), type, dense(type)));
    }
    builder.add_run(single, kReference, std::move(inputs), std::move(outputs), {node.name});
  }
  for (const int index : region.outputs) builder.add_output(plan_value.at(index));
  return builder.finish(summary(region), region_hash(region, /*with_constants=*/true).hex());
}

}  // namespace inlay
