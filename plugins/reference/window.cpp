#include "plugins/reference/window.h"

#include "core/sdk/region.h"

namespace inlay::reference {

Window read_window(const Operation& op, const Dims& in, const Dims& out, const Dims& kernel) {
  const int rank = static_cast<int>(in.size()) - 2;
  if (rank < 1 || rank > 3 || out.size() != in.size()) {
    throw sdk::Decline(op.title() + ": expected 1 to 3 spatial dimensions, found " +
                       std::to_string(rank));
  }
  const std::size_t count = static_cast<std::size_t>(rank);
  const Dims shape = op.node().has("kernel_shape") ? op.ints("kernel_shape", count, 1) : kernel;
  const Dims strides = op.ints("strides", count, 1);
  const Dims dilations = op.ints("dilations", count, 1);
  const Dims pads = op.ints("pads", 2 * count, 0);

  Window window;
  window.in = window.out = window.kernel = window.stride = window.dilation = {1, 1, 1};
  window.pad_begin = window.pad_end = {0, 0, 0};
  window.spatial_rank = rank;
  for (int i = 0; i < rank; ++i) {
    const int d = 3 - rank + i;
    window.in[d] = in[2 + i];
    window.out[d] = out[2 + i];
    window.kernel[d] = shape[i];
    window.stride[d] = strides[i];
    window.dilation[d] = dilations[i];
    window.pad_begin[d] = pads[i];
    window.pad_end[d] = pads[rank + i];
    if (shape[i] < 1 || strides[i] < 1 || dilations[i] < 1) {
      throw sdk::Decline(op.title() + ": kernel, strides and dilations must be at least 1");
    }
  }
  return window;
}

}  // namespace inlay::reference
