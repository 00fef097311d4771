// What a kernel takes for granted, said in compile: a region may come from a plan that somebody
// edited, so the manifest's pattern is no proof. Each declines what is otherwise.
//
//   expect_nodes(region, {"Add", "Softmax"});
//   const ValueView x = expect(region.port("X"), INLAY_F32, 2);
//   const ValueView b = expect_constant(region.port("B"), INLAY_F32, 1);
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "core/sdk/region.h"

namespace inlay::sdk {

inline constexpr int kAnyRank = -1;

// ONNX's operators of these names, in the order in which the region has them, and no others.
inline void expect_nodes(const RegionView& region, std::initializer_list<std::string_view> ops) {
  bool is_right = region.node_count() == static_cast<int>(ops.size());
  int i = 0;
  for (const std::string_view op : ops) {
    is_right = is_right && region.node(i).op() == op && region.node(i).domain().empty();
    ++i;
  }
  if (is_right) return;
  std::string text = "expected";
  for (const std::string_view op : ops) text.append(" ").append(op);
  text += ", found";
  for (int n = 0; n < region.node_count(); ++n) {
    const NodeView node = region.node(n);
    text.append(" ").append(node.domain()).append(node.domain().empty() ? "" : ".");
    text.append(node.op());
  }
  throw Decline(text);
}

inline ValueView expect(const ValueView& value, inlay_dtype dtype, int rank = kAnyRank) {
  if (value.dtype() == dtype && (rank == kAnyRank || value.rank() == rank)) return value;
  throw Decline(
      "'" + std::string(value.name()) + "': expected element type " + std::to_string(dtype) +
      (rank == kAnyRank ? std::string() : " and rank " + std::to_string(rank)) + ", found " +
      std::to_string(value.dtype()) + " and rank " + std::to_string(value.rank()));
}

inline ValueView expect_constant(const ValueView& value, inlay_dtype dtype, int rank = kAnyRank) {
  if (!value.is_constant()) {
    throw Decline("'" + std::string(value.name()) + "': expected a constant");
  }
  return expect(value, dtype, rank);
}

}  // namespace inlay::sdk
