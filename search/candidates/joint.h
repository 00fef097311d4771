// Concat without copying: where its operands can be written straight into its output.
//
//   for (const Layout& layout : joint_layouts(graph, node, offered)) ...
#pragma once

#include <vector>

#include "core/base/layout.h"
#include "graphs/ir/graph.h"

namespace inlay {

// True if the elements of [begin, begin + count) along `axis` are one piece of memory of the whole.
bool is_contiguous_part(const Layout& layout, const Shape& whole, int axis, std::int64_t begin,
                        std::int64_t count);

// Those of `offered` in which each operand of the Concat is one piece of its output, aligned as
// plugins are promised. None if an operand cannot be written there: a graph input or constant, what
// a view shows, a graph output, an operand twice, or one that an earlier Concat has too.
std::vector<Layout> joint_layouts(const Graph& graph, NodeId concat,
                                  const std::vector<Layout>& offered);

}  // namespace inlay
