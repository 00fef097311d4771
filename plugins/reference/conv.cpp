// Conv and its integer forms: a matrix product of the weights [O/g, C/g·k] with the input's patches
// [C/g·k, positions], which are gathered block by block.
#include <algorithm>
#include <cmath>
#include <functional>

#include "plugins/reference/element.h"
#include "plugins/reference/operators.h"
#include "plugins/reference/product.h"
#include "plugins/reference/window.h"

namespace inlay::reference {
namespace {

struct ConvShape {
  Window window;
  std::int64_t batch, groups;
  std::int64_t in_channels, out_channels;  // of all groups
  std::int64_t group_in() const { return in_channels / groups; }
  std::int64_t group_out() const { return out_channels / groups; }
  std::int64_t depth() const { return group_in() * window.kernel_count(); }
};

// A tensor whose elements are read as (element - zero point).
struct Operand {
  inlay_dtype dtype;
  const void* data;
  std::vector<double> zeros;  // one for all, or one a channel; empty: 0
  double zero(std::int64_t channel) const {
    return zeros.empty() ? 0.0 : zeros[zeros.size() == 1 ? 0 : channel];
  }
};

void load_shifted(const Operand& operand, double zero, std::int64_t offset, std::int64_t stride,
                  std::int64_t count, double* target) {
  load(operand.dtype, operand.data, offset, stride, count, target);
  if (zero == 0) return;
  for (std::int64_t i = 0; i < count; ++i) target[i] -= zero;
}

// A stretch of output positions along the innermost dimension.
struct Segment {
  std::int64_t z, y, x, length, column;
};

std::vector<Segment> segments_of(const Window& w, std::int64_t begin, std::int64_t count) {
  std::vector<Segment> segments;
  for (std::int64_t p = begin; p < begin + count;) {
    const std::int64_t x = p % w.out[2];
    const std::int64_t length = std::min(w.out[2] - x, begin + count - p);
    segments.push_back({p / w.out[2] / w.out[1], p / w.out[2] % w.out[1], x, length, p - begin});
    p += length;
  }
  return segments;
}

// What one kernel tap reads along a segment: padding reads 0.
void load_segment(const Window& w, const Operand& input, std::int64_t plane, const Segment& s,
                  const Extent& tap, double* target) {
  const std::int64_t z = w.position(0, s.z, tap[0]);
  const std::int64_t y = w.position(1, s.y, tap[1]);
  const std::int64_t x = w.position(2, s.x, tap[2]);
  std::int64_t first = 0;
  std::int64_t last = 0;
  if (z >= 0 && z < w.in[0] && y >= 0 && y < w.in[1]) {
    first = x < 0 ? std::min(s.length, (-x + w.stride[2] - 1) / w.stride[2]) : 0;
    last = x < w.in[2] ? std::min(s.length, (w.in[2] - 1 - x) / w.stride[2] + 1) : 0;
    last = std::max(first, last);
  }
  std::fill(target, target + first, 0.0);
  std::fill(target + last, target + s.length, 0.0);
  if (first == last) return;
  const std::int64_t row = plane + (z * w.in[1] + y) * w.in[2];
  load_shifted(input, input.zero(0), row + x + first * w.stride[2], w.stride[2], last - first,
               target + first);
}

// Calls finish(output channel, offset of the run in the output, length, sums) for runs that cover
// the output.
void convolve(
    const sdk::Host& host, const ConvShape& shape, const Operand& input, const Operand& weight,
    const std::function<void(std::int64_t, std::int64_t, std::int64_t, double*)>& finish) {
  const Window& w = shape.window;
  const std::int64_t depth = shape.depth();
  const std::int64_t positions = w.out_count();
  const auto load_weights = [&](const Block& block, std::int64_t k, std::int64_t part,
                                double* target, std::int64_t row_length) {
    for (std::int64_t i = 0; i < block.rows; ++i) {
      const std::int64_t channel = block.product % shape.groups * shape.group_out() + block.row + i;
      load_shifted(weight, weight.zero(channel), channel * depth + k, 1, part,
                   target + i * row_length);
    }
  };
  const auto load_patches = [&](const Block& block, std::int64_t k, std::int64_t part,
                                double* target, std::int64_t row_length) {
    const std::vector<Segment> segments = segments_of(w, block.column, block.columns);
    const std::int64_t first_plane = block.product * shape.group_in();
    for (std::int64_t r = 0; r < part; ++r) {
      const std::int64_t tap = (k + r) % w.kernel_count();
      const std::int64_t plane = (first_plane + (k + r) / w.kernel_count()) * w.in_count();
      const Extent taps{tap / w.kernel[2] / w.kernel[1], tap / w.kernel[2] % w.kernel[1],
                        tap % w.kernel[2]};
      for (const Segment& segment : segments) {
        load_segment(w, input, plane, segment, taps, target + r * row_length + segment.column);
      }
    }
  };
  const auto finish_row = [&](const Block& block, std::int64_t i, double* sums) {
    const std::int64_t plane = block.product * shape.group_out() + block.row + i;
    finish(plane % shape.out_channels, plane * positions + block.column, block.columns, sums);
  };
  for_each_product_block<double>(host, shape.batch * shape.groups, shape.group_out(), depth,
                                 positions, load_weights, load_patches, finish_row);
}

ConvShape read_shape(const Operation& op, const Type& x, const Type& w, const Type& y) {
  if (x.rank() != w.rank() || x.rank() != y.rank() || x.rank() < 3) {
    throw sdk::Decline(op.title() + ": input, weight and output must have one rank of at least 3");
  }
  ConvShape shape;
  shape.window = read_window(op, x.dims, y.dims, Dims(w.dims.begin() + 2, w.dims.end()));
  shape.batch = x.dims[0];
  shape.groups = op.node().get_int("group", 1);
  shape.in_channels = x.dims[1];
  shape.out_channels = w.dims[0];
  if (shape.groups < 1 || x.dims[1] != w.dims[1] * shape.groups || w.dims[0] % shape.groups != 0) {
    throw sdk::Decline(op.title() + ": weight expects " + std::to_string(w.dims[1] * shape.groups) +
                       " input channels, input has " + std::to_string(x.dims[1]));
  }
  Window& window = shape.window;
  if (window.kernel_count() == 1 && window.stride == Extent{1, 1, 1} && window.in == window.out) {
    // A pointwise convolution without padding reads each plane as one row.
    window.in = window.out = {1, 1, window.in_count()};
  }
  return shape;
}

std::vector<double> load_optional(const Run& run, int operand, const Type& type) {
  if (run.in(operand) == nullptr) return {};
  return load_all<double>(type.dtype, run.in(operand), type.count());
}

Type optional_type(const Operation& op, int operand) {
  return op.has_input(operand) ? op.input(operand) : Type{};
}

}  // namespace

Body compile_conv(const Operation& op) {
  const Type x = op.input(0), w = op.input(1), y = op.output(0), bias = optional_type(op, 2);
  const ConvShape shape = read_shape(op, x, w, y);
  return [=](const Run& run) {
    const std::vector<double> offsets = load_optional(run, 2, bias);
    convolve(run.host, shape, {x.dtype, run.in(0), {}}, {w.dtype, run.in(1), {}},
             [&](std::int64_t channel, std::int64_t offset, std::int64_t count, double* sums) {
               if (!offsets.empty()) {
                 for (std::int64_t i = 0; i < count; ++i) sums[i] += offsets[channel];
               }
               store(y.dtype, run.out(0), offset, 1, count, sums);
             });
  };
}

// Sums of 8-bit products are exact in double below 2^37 terms.
Body compile_conv_integer(const Operation& op) {
  const Type x = op.input(0), w = op.input(1), y = op.output(0);
  const Type x_zero = optional_type(op, 2), w_zero = optional_type(op, 3);
  const ConvShape shape = read_shape(op, x, w, y);
  return [=](const Run& run) {
    convolve(run.host, shape, {x.dtype, run.in(0), load_optional(run, 2, x_zero)},
             {w.dtype, run.in(1), load_optional(run, 3, w_zero)},
             [&](std::int64_t, std::int64_t offset, std::int64_t count, double* sums) {
               std::vector<std::int64_t> wrapped(sums, sums + count);
               store(y.dtype, run.out(0), offset, 1, count, wrapped.data());
             });
  };
}

Body compile_qlinear_conv(const Operation& op) {
  const Type x = op.input(0), w = op.input(3), y = op.output(0), bias = optional_type(op, 8);
  const Type w_scale = op.input(4), w_zero = op.input(5), y_zero = op.input(7);
  const Type scale = op.input(1), x_zero = op.input(2);
  const ConvShape shape = read_shape(op, x, w, y);
  return [=](const Run& run) {
    double x_scale = 0, y_scale = 0, shift = 0;
    load(scale.dtype, run.in(1), 0, 1, 1, &x_scale);
    load(scale.dtype, run.in(6), 0, 1, 1, &y_scale);
    load(y_zero.dtype, run.in(7), 0, 1, 1, &shift);
    const std::vector<double> scales = load_optional(run, 4, w_scale);
    const std::vector<double> offsets = load_optional(run, 8, bias);
    convolve(run.host, shape, {x.dtype, run.in(0), load_optional(run, 2, x_zero)},
             {w.dtype, run.in(3), load_optional(run, 5, w_zero)},
             [&](std::int64_t channel, std::int64_t offset, std::int64_t count, double* sums) {
               const double factor = x_scale * scales[scales.size() == 1 ? 0 : channel] / y_scale;
               const double added = offsets.empty() ? 0.0 : offsets[channel];
               for (std::int64_t i = 0; i < count; ++i) {
                 sums[i] = std::nearbyint((sums[i] + added) * factor) + shift;
               }
               store(y.dtype, run.out(0), offset, 1, count, sums);
             });
  };
}

}  // namespace inlay::reference
