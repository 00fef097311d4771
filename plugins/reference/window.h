// The sliding window of convolutions and pools, always in three spatial dimensions: missing ones in
// front have extent 1.
#pragma once

#include <array>
#include <cstdint>

#include "plugins/reference/operation.h"

namespace inlay::reference {

using Extent = std::array<std::int64_t, 3>;

struct Window {
  Extent in, out;  // spatial extents of input and output
  Extent kernel, stride, dilation;
  Extent pad_begin, pad_end;  // may be negative
  int spatial_rank = 0;       // as the operator has it

  std::int64_t in_count() const { return in[0] * in[1] * in[2]; }
  std::int64_t out_count() const { return out[0] * out[1] * out[2]; }
  std::int64_t kernel_count() const { return kernel[0] * kernel[1] * kernel[2]; }

  // Input coordinate that kernel tap `k` meets at output position `o`; may lie in the padding.
  std::int64_t position(int d, std::int64_t o, std::int64_t k) const {
    return o * stride[d] - pad_begin[d] + k * dilation[d];
  }
};

// Reads kernel_shape, strides, pads and dilations. `kernel` gives the kernel's extents where
// kernel_shape is absent. throws  sdk::Decline for more than three spatial dimensions or a stride,
// dilation or extent below 1
Window read_window(const Operation& op, const Dims& in, const Dims& out, const Dims& kernel);

}  // namespace inlay::reference
