// Transposed convolution: every input element is spread over the outputs that its kernel window
// reaches.
#include <algorithm>

#include "plugins/reference/element.h"
#include "plugins/reference/operators.h"
#include "plugins/reference/window.h"

namespace inlay::reference {
namespace {

// sums[output row] += factor * input row, for one tap. The window runs over the output, as in the
// convolution whose gradient this is: input position i meets output position i*stride - pad +
// tap*dilation.
void spread_plane(const Window& w, const double* in, double factor, const Extent& tap,
                  double* sums) {
  for (std::int64_t z = 0; z < w.in[0]; ++z) {
    const std::int64_t oz = w.position(0, z, tap[0]);
    if (oz < 0 || oz >= w.out[0]) continue;
    for (std::int64_t y = 0; y < w.in[1]; ++y) {
      const std::int64_t oy = w.position(1, y, tap[1]);
      if (oy < 0 || oy >= w.out[1]) continue;
      const double* row = in + (z * w.in[1] + y) * w.in[2];
      double* target = sums + (oz * w.out[1] + oy) * w.out[2];
      const std::int64_t start = w.position(2, 0, tap[2]);
      const std::int64_t stride = w.stride[2];
      const std::int64_t first = start < 0 ? (-start + stride - 1) / stride : 0;
      const std::int64_t last =
          start < w.out[2] ? std::min(w.in[2], (w.out[2] - 1 - start) / stride + 1) : 0;
      for (std::int64_t x = first; x < last; ++x) target[start + x * stride] += factor * row[x];
    }
  }
}

}  // namespace

Body compile_conv_transpose(const Operation& op) {
  const Type x = op.input(0), w = op.input(1), y = op.output(0);
  const Type bias = op.has_input(2) ? op.input(2) : Type{};
  if (x.rank() < 3 || x.rank() != w.rank() || x.rank() != y.rank()) {
    throw sdk::Decline(op.title() + ": input, weight and output must have one rank of at least 3");
  }
  const Window window = read_window(op, x.dims, y.dims, Dims(w.dims.begin() + 2, w.dims.end()));
  const std::int64_t groups = op.node().get_int("group", 1);
  if (groups < 1 || w.dims[0] != x.dims[1] || x.dims[1] % groups != 0 ||
      y.dims[1] != w.dims[1] * groups) {
    throw sdk::Decline(op.title() + ": weight expects " + std::to_string(w.dims[0]) +
                       " input channels, input has " + std::to_string(x.dims[1]));
  }
  return [=](const Run& run) {
    const std::vector<double> input = load_all<double>(x.dtype, run.in(0), x.count());
    const std::vector<double> weight = load_all<double>(w.dtype, run.in(1), w.count());
    const std::int64_t group_in = x.dims[1] / groups;
    const std::int64_t group_out = w.dims[1];
    const std::int64_t out_channels = y.dims[1];
    const std::int64_t taps = window.kernel_count();
    run.host.parallel_for(x.dims[0] * out_channels, 1, [&](std::int64_t begin, std::int64_t end) {
      std::vector<double> sums(window.out_count());
      for (std::int64_t plane = begin; plane < end; ++plane) {
        const std::int64_t channel = plane % out_channels;
        double offset = 0;
        if (run.in(2) != nullptr) load(bias.dtype, run.in(2), channel, 1, 1, &offset);
        std::fill(sums.begin(), sums.end(), 0.0);
        for (std::int64_t c = 0; c < group_in; ++c) {
          const std::int64_t in_channel = channel / group_out * group_in + c;
          const double* in =
              input.data() + (plane / out_channels * x.dims[1] + in_channel) * window.in_count();
          const double* kernel =
              weight.data() + (in_channel * group_out + channel % group_out) * taps;
          for (std::int64_t t = 0; t < taps; ++t) {
            const Extent tap{t / window.kernel[2] / window.kernel[1],
                             t / window.kernel[2] % window.kernel[1], t % window.kernel[2]};
            spread_plane(window, in, kernel[t], tap, sums.data());
          }
        }
        for (double& sum : sums) sum += offset;
        store(y.dtype, run.out(0), plane * window.out_count(), 1, window.out_count(), sums.data());
      }
    });
  };
}

}  // namespace inlay::reference
