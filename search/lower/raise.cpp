#include "search/lower/raise.h"

#include <map>

#include "core/plan/onnx_constant.h"

namespace inlay {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

bool is_conversion(const Region& region) {
  return region.nodes.size() == 1 && region.nodes[0].domain == "inlay" &&
         region.nodes[0].op == "Convert";
}

class Raising {
 public:
  Raising(const Plan& plan, const Weights& weights)
      : plan_(plan), weights_(weights), builder_(plan.model) {}

  Graph run() {
    for (const int input : plan_.inputs) {
      const PlanValue& value = plan_.values[at(input)];
      values_[input] = builder_.input(value.name, value.type);
    }
    for (const PlanStep& step : plan_.steps) {
      if (step.kind != StepKind::kRun || is_conversion(plan_.regions[at(step.region)])) {
        values_[step.outputs[0]] = value_of(step.inputs[0]);
      } else {
        add_region(step);
      }
    }
    for (const int output : plan_.outputs) builder_.output(value_of(output));
    return builder_.build();
  }

 private:
  ValueId value_of(int index) {
    if (const auto found = values_.find(index); found != values_.end()) return found->second;
    const PlanValue& value = plan_.values[at(index)];
    ValueId id;
    if (!value.parts.empty()) {
      id = add_concat(value);
    } else if (value.storage == Storage::kConstant) {
      id = builder_.constant(value.name, weights_.tensors[at(value.constant)]);
    } else {  // a view: everything else was made by an earlier step
      Node node;
      node.op = "Reshape";
      node.inputs = {value_of(value.view_of)};
      id = builder_.node_with_types(std::move(node), {value.type}, {value.name}).front();
    }
    values_[index] = id;
    return id;
  }

  // Parts lie one after another along the only dimension in which they differ; where one is the
  // whole, along any.
  ValueId add_concat(const PlanValue& whole) {
    Node node;
    node.op = "Concat";
    std::int64_t axis = 0;
    const Shape& first = plan_.values[at(whole.parts.front())].type.shape;
    while (axis + 1 < std::ssize(first) &&
           first[at(static_cast<int>(axis))] == whole.type.shape[at(static_cast<int>(axis))]) {
      ++axis;
    }
    node.attributes["axis"] = axis;
    for (const int part : whole.parts) node.inputs.push_back(value_of(part));
    return builder_.node_with_types(std::move(node), {whole.type}, {whole.name}).front();
  }

  void add_region(const PlanStep& step) {
    const Region& region = plan_.regions[at(step.region)];
    std::map<int, ValueId> inside;  // region value → graph value
    for (std::size_t i = 0; i < region.inputs.size(); ++i)
      inside[region.inputs[i]] = value_of(step.inputs[i]);
    std::size_t next_constant = 0;
    for (std::size_t v = 0; v < region.values.size(); ++v) {
      const RegionValue& value = region.values[v];
      if (!value.is_constant) continue;
      const Tensor tensor =
          value.constant ? *value.constant : weights_.tensors[at(step.constants[next_constant++])];
      if (is_onnx(value)) continue;
      inside[static_cast<int>(v)] = builder_.constant("", tensor);
    }
    for (std::size_t n = 0; n < region.nodes.size(); ++n) {
      const RegionNode& source = region.nodes[n];
      Node node;
      node.name = n < step.nodes.size() ? step.nodes[n] : "";
      node.domain = source.domain;
      node.op = source.op;
      node.attributes = source.attributes;
      for (const int input : source.inputs)
        node.inputs.push_back(input < 0 ? kNoValue : inside.at(input));
      std::vector<TensorType> types;
      for (const int output : source.outputs) {
        types.push_back(output < 0 ? TensorType{} : region.values[at(output)].type);
      }
      const std::vector<ValueId> outputs = builder_.node_with_types(std::move(node), types, {});
      for (std::size_t o = 0; o < outputs.size(); ++o) {
        if (source.outputs[o] >= 0) inside[source.outputs[o]] = outputs[o];
      }
    }
    for (std::size_t i = 0; i < region.outputs.size(); ++i)
      values_[step.outputs[i]] = inside.at(region.outputs[i]);
  }

  const Plan& plan_;
  const Weights& weights_;
  GraphBuilder builder_;
  std::map<int, ValueId> values_;
};

}  // namespace

Graph raise_to_graph(const Plan& plan, const Weights& weights) {
  return Raising(plan, weights).run();
}

}  // namespace inlay
