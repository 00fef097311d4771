// Parameters and operations of a graph.
#include <algorithm>

#include "graphs/zoo/zoo.h"

namespace inlay {
namespace {

double elements(const Graph& graph, ValueId id) {
  return static_cast<double>(element_count(graph.value(id).type.shape));
}

// Multiply-adds of one node.
double multiply_adds(const Graph& graph, const Node& node) {
  const auto operand = [&](std::size_t i) { return graph.value(node.inputs[i]).type.shape; };
  const auto output = [&] {
    const auto read = std::find_if(node.outputs.begin(), node.outputs.end(),
                                   [](ValueId id) { return !id.is_none(); });
    return elements(graph, *read);
  };
  if (node.op == "Conv") {  // each output element reads a row of the weight
    return output() * elements(graph, node.inputs[1]) / static_cast<double>(operand(1)[0]);
  }
  if (node.op == "ConvTranspose") {  // each input element is spread by a row of the weight
    return elements(graph, node.inputs[0]) * elements(graph, node.inputs[1]) /
           static_cast<double>(operand(1)[0]);
  }
  if (node.op == "MatMul") return output() * static_cast<double>(operand(0).back());
  if (node.op == "Gemm") {
    const bool is_transposed = get_int(node.attributes, "transA", 0) != 0;
    return output() * static_cast<double>(operand(0)[is_transposed ? 0 : 1]);
  }
  if (node.op == "LSTM" || node.op == "GRU") {  // both weights, at every step of every sequence
    return static_cast<double>(operand(0)[0] * operand(0)[1]) *
           (elements(graph, node.inputs[1]) + elements(graph, node.inputs[2]));
  }
  return 0;
}

bool is_statistic(const Graph& graph, ValueId id) {
  const auto readers = graph.consumers(id);
  return std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
    const Node& node = graph.node(reader);
    return node.op == "BatchNormalization" && (node.inputs[3] == id || node.inputs[4] == id);
  });
}

}  // namespace

std::int64_t count_parameters(const Graph& graph) {
  std::int64_t count = 0;
  for (std::int32_t i = 0; i < graph.value_count(); ++i) {
    const ValueId id{i};
    if (!graph.is_constant(id) || !is_float(graph.value(id).type.dtype)) continue;
    // A single number is a constant of the formula (a root, a threshold), not a weight.
    const std::int64_t size = element_count(graph.value(id).type.shape);
    if (size > 1 && !is_statistic(graph, id)) count += size;
  }
  return count;
}

double count_flops(const Graph& graph, const Node& node) { return 2 * multiply_adds(graph, node); }

double count_flops(const Graph& graph) {
  double sum = 0;
  for (const Node& node : graph.nodes()) sum += count_flops(graph, node);
  return sum;
}

}  // namespace inlay
