#include "search/candidates/joint.h"

#include <algorithm>

#include "graphs/ir/op_table.h"

namespace inlay {
namespace {

constexpr std::size_t kAlignment = 64;  // what plugins are promised

bool is_concat(const Node& node) { return node.domain.empty() && node.op == "Concat"; }

bool is_view(const Node& node) {
  const OpInfo* info = node.domain.empty() ? find_op(node.op) : nullptr;
  return info != nullptr && info->is_view;
}

// Whether a step writes the value, into memory that may be chosen for it.
bool is_placeable(const Graph& graph, ValueId operand, NodeId concat) {
  const NodeId producer = graph.value(operand).producer;
  if (producer == kNoNode || graph.is_output(operand) || is_view(graph.node(producer)))
    return false;
  const auto readers = graph.consumers(operand);
  return std::none_of(readers.begin(), readers.end(), [&](NodeId reader) {
    return reader < concat && is_concat(graph.node(reader));
  });
}

}  // namespace

bool is_contiguous_part(const Layout& layout, const Shape& whole, int axis, std::int64_t begin,
                        std::int64_t count) {
  for (const int dim : layout.order()) {
    if (dim == axis) break;
    if (whole[static_cast<std::size_t>(dim)] != 1) return false;
  }
  return std::all_of(layout.blocks().begin(), layout.blocks().end(), [&](const LayoutBlock& block) {
    return block.dim != axis || (begin % block.size == 0 && count % block.size == 0);
  });
}

std::vector<Layout> joint_layouts(const Graph& graph, NodeId concat,
                                  const std::vector<Layout>& offered) {
  const Node& node = graph.node(concat);
  if (!is_concat(node) || graph.is_output(node.outputs[0])) return {};
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (std::count(node.inputs.begin(), node.inputs.end(), node.inputs[i]) > 1) return {};
    if (!is_placeable(graph, node.inputs[i], concat)) return {};
  }
  const Shape& whole = graph.value(node.outputs[0]).type.shape;
  const int axis = static_cast<int>(std::get<std::int64_t>(node.attributes.at("axis")));
  std::vector<Layout> found;
  for (const Layout& layout : offered) {
    if (layout.rank() != static_cast<int>(whole.size())) continue;
    std::int64_t begin = 0;
    const bool fits = std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId operand) {
      const TensorType& type = graph.value(operand).type;
      const std::int64_t count = type.shape[static_cast<std::size_t>(axis)];
      const bool is_part = is_contiguous_part(layout, whole, axis, begin, count) && count > 0 &&
                           layout.size_bytes(type) % kAlignment == 0;
      begin += count;
      return is_part;
    });
    if (fits) found.push_back(layout);
  }
  return found;
}

}  // namespace inlay
