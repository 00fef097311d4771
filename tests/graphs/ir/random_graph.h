// Random graphs of small integer tensors, for properties that hold for every graph, and their
// values computed exactly, so that a pass can be checked to keep every output.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/rng.h"
#include "graphs/ir/graph.h"

namespace inlay {

// Nodes Add, Mul, Neg, Max and two-way Split on i64[4] values and constants, of which some are
// equal; operands favour recent values. Some values are read by nobody; the last and a few more are
// outputs.
inline Graph random_graph(Rng& rng, int node_count) {
  const TensorType type = {DType::kI64, {4}};
  GraphBuilder b("random");
  std::vector<ValueId> values = {b.input("x", type), b.input("y", type)};
  for (int i = 0; i < 3; ++i) {
    const auto v = static_cast<std::int64_t>(rng.below(2));  // two of three are equal at least
    values.push_back(
        b.constant("c" + std::to_string(i), Tensor::from<std::int64_t>({4}, {v, 1, 2, 3})));
  }
  const auto pick = [&] {
    const std::size_t window = std::min<std::size_t>(values.size(), 8);
    return values[values.size() - 1 - rng.below(window)];
  };
  for (int i = 0; i < node_count; ++i) {
    switch (rng.below(5)) {
      case 0:
        values.push_back(b.node("", "Add", {pick(), pick()}));
        break;
      case 1:
        values.push_back(b.node("", "Mul", {pick(), pick()}));
        break;
      case 2:
        values.push_back(b.node("", "Neg", {pick()}));
        break;
      case 3:
        values.push_back(b.node("", "Max", {pick(), pick()}));
        break;
      default: {
        const ValueId both = b.node("", "Concat", {pick(), pick()}, {{"axis", std::int64_t{0}}});
        for (const ValueId half :
             b.node("", "Split", {both}, {{"split", std::vector<std::int64_t>{4, 4}}}, 2)) {
          values.push_back(half);
        }
      }
    }
  }
  b.output(values.back());
  for (int i = 0; i < 3; ++i) b.output(values[rng.below(values.size())]);
  return b.build();
}

// The outputs of such a graph, in order, in wrapping arithmetic.
inline std::vector<std::vector<std::uint64_t>> evaluate(const Graph& graph) {
  using Numbers = std::vector<std::uint64_t>;
  std::vector<Numbers> of(static_cast<std::size_t>(graph.value_count()));
  const auto at = [&](ValueId id) -> Numbers& { return of[static_cast<std::size_t>(id.index)]; };
  for (std::int32_t i = 0; i < graph.value_count(); ++i) {
    if (!graph.is_constant(ValueId{i})) continue;
    for (const std::int64_t v : graph.value(ValueId{i}).constant->as<std::int64_t>()) {
      at(ValueId{i}).push_back(static_cast<std::uint64_t>(v));
    }
  }
  std::uint64_t seed = 3;
  for (const ValueId id : graph.inputs()) {
    for (int i = 0; i < 4; ++i) at(id).push_back(seed = seed * 6364136223846793005u + 1);
  }
  for (const Node& node : graph.nodes()) {
    const Numbers a = at(node.inputs[0]);
    const Numbers b = node.inputs.size() > 1 ? at(node.inputs[1]) : Numbers(a.size());
    if (node.op == "Split") {
      for (std::size_t half = 0; half < node.outputs.size(); ++half) {
        if (node.outputs[half].is_none()) continue;
        const auto begin = a.begin() + static_cast<std::ptrdiff_t>(4 * half);
        at(node.outputs[half]) = Numbers(begin, begin + 4);
      }
      continue;
    }
    Numbers result = a;
    if (node.op == "Concat") result.insert(result.end(), b.begin(), b.end());
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (node.op == "Add") result[i] = a[i] + b[i];
      if (node.op == "Mul") result[i] = a[i] * b[i];
      if (node.op == "Neg") result[i] = 0 - a[i];
      if (node.op == "Max") result[i] = std::max(a[i], b[i]);
    }
    at(node.outputs[0]) = result;
  }
  std::vector<Numbers> outputs;
  for (const ValueId id : graph.outputs()) outputs.push_back(at(id));
  return outputs;
}

}  // namespace inlay
