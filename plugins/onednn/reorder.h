// Copies between parts of tensors, in any plain layouts, as oneDNN's reorders.
//
//   const Part column = part_of(describe(x), {4, 1}, {0, 2}, {1, 1});     // x[:, 2:3]
//   add_reorder(builder, x, column, y, {describe(y)});
#pragma once

#include "plugins/onednn/primitive_kernel.h"

namespace inlay::onednn {

// Elements of a tensor: those that `desc` describes when it starts `offset_bytes` into it.
struct Part {
  Desc desc;
  std::ptrdiff_t offset_bytes = 0;
};

// The elements starts + i·steps of a tensor that lies as `whole` says; as many as `dims`.
// throws  Decline for a blocked layout
Part part_of(const Desc& whole, const Dims& dims, const Dims& starts, const Dims& steps);

// Appends the copy of one part of x to an equally large one of y.
void add_reorder(KernelBuilder& builder, const sdk::ValueView& x, const Part& source,
                 const sdk::ValueView& y, const Part& target);

}  // namespace inlay::onednn
