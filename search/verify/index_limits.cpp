#include <algorithm>
#include <limits>

#include "search/verify/verify.h"

namespace inlay {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

// The operand that indexes, by operator; -1: none.
int index_operand(const RegionNode& node) {
  if (node.op == "Gather" || node.op == "GatherElements" || node.op == "GatherND") return 1;
  if (node.op == "ScatterElements" || node.op == "ScatterND") return 1;
  if (node.op == "OneHot") return 0;
  return -1;
}

// The largest index that is inside for every dimension indexed.
std::int64_t largest_index(const Region& region, const RegionNode& node) {
  const Shape& indices = region.values[at(node.inputs[at(index_operand(node))])].type.shape;
  if (node.op == "OneHot") {
    const Shape& out = region.values[at(node.outputs[0])].type.shape;
    return out[at(static_cast<int>(get_int(node.attributes, "axis", 0)))] - 1;
  }
  const Shape& data = region.values[at(node.inputs[0])].type.shape;
  if (node.op == "GatherND" || node.op == "ScatterND") {
    const auto first = at(static_cast<int>(get_int(node.attributes, "batch_dims", 0)));
    const auto count = at(static_cast<int>(indices.back()));
    std::int64_t smallest = std::numeric_limits<std::int64_t>::max();
    for (std::size_t d = first; d < std::min(first + count, data.size()); ++d)
      smallest = std::min(smallest, data[d]);
    return smallest - 1;
  }
  return data[at(static_cast<int>(get_int(node.attributes, "axis", 0)))] - 1;
}

// The region input behind a value, through operators that only move elements; -1 if something
// computes it.
int source_input(const Region& region, int value) {
  for (auto node = region.nodes.rbegin(); node != region.nodes.rend(); ++node) {
    if (node->outputs.empty() || node->outputs[0] != value) continue;
    const bool moves = node->op == "Reshape" || node->op == "Transpose" || node->op == "Slice" ||
                       node->op == "Expand" || node->op == "Cast";
    if (!moves) return -1;
    value = node->inputs[0];
  }
  const auto found = std::find(region.inputs.begin(), region.inputs.end(), value);
  return found == region.inputs.end() ? -1 : static_cast<int>(found - region.inputs.begin());
}

}  // namespace

MaxValues index_limits(const Region& region) {
  MaxValues limits;
  for (const RegionNode& node : region.nodes) {
    const int operand = index_operand(node);
    if (operand < 0) continue;
    const int input = source_input(region, node.inputs[at(operand)]);
    if (input < 0) continue;
    const std::int64_t limit = std::max<std::int64_t>(largest_index(region, node), 0);
    const auto [entry, is_new] = limits.try_emplace(input, limit);
    if (!is_new) entry->second = std::min(entry->second, limit);
  }
  return limits;
}

}  // namespace inlay
