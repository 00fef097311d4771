// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear.
#include <algorithm>
#include <cmath>

#include "plugins/reference/element.h"
#include "plugins/reference/operators.h"
#include "plugins/reference/walk.h"

namespace inlay::reference {
namespace {

// Which scale belongs to an element: one for all, one an index of the axis, or one a block of
// `block` indices.
struct ScaleMap {
  std::int64_t length = 1, inner = 1, block = 1, entries = 1;
  bool is_per_tensor = true, is_blocked = false;

  std::int64_t at(std::int64_t i) const {
    if (is_per_tensor) return 0;
    const std::int64_t position = i / inner % length;
    if (!is_blocked) return position;
    return (i / inner / length * entries + position / block) * inner + i % inner;
  }
};

ScaleMap read_scales(const Operation& op) {
  const Type x = op.input(0), scale = op.input(1);
  ScaleMap map;
  const std::int64_t block = op.node().get_int("block_size", 0);
  if (scale.rank() == 0 || (scale.count() == 1 && block == 0)) return map;
  std::int64_t axis = op.node().get_int("axis", 1);
  if (axis < 0) axis += x.rank();
  if (axis < 0 || axis >= x.rank()) throw sdk::Decline(op.title() + ": axis outside the rank");
  map.is_per_tensor = false;
  map.is_blocked = block > 0;
  map.block = std::max<std::int64_t>(1, block);
  map.length = x.dims[axis];
  map.inner = x.count(static_cast<int>(axis) + 1, x.rank());
  map.entries = (map.length + map.block - 1) / map.block;
  const std::int64_t expected =
      map.is_blocked ? x.count(0, static_cast<int>(axis)) * map.entries * map.inner : map.length;
  if (scale.count() != expected) {
    throw sdk::Decline(op.title() + ": expected " + std::to_string(expected) + " scales, found " +
                       std::to_string(scale.count()));
  }
  return map;
}

std::vector<double> load_zeros(const Run& run, int operand, inlay_dtype dtype, std::int64_t count) {
  if (run.in(operand) == nullptr) return std::vector<double>(count);
  return load_all<double>(dtype, run.in(operand), count);
}

}  // namespace

// The quotient is rounded in the scale's precision first, as ONNX divides in that type; ties decide
// the result.
Body compile_quantize_linear(const Operation& op) {
  const Type x = op.input(0), scale = op.input(1), y = op.output(0);
  const inlay_dtype zero_dtype = op.has_input(2) ? op.input(2).dtype : y.dtype;
  const ScaleMap map = read_scales(op);
  const bool divides_in_double = x.dtype == INLAY_F64;
  return [=](const Run& run) {
    const auto scales = load_all<double>(scale.dtype, run.in(1), scale.count());
    const auto zeros = load_zeros(run, 2, zero_dtype, scale.count());
    run.host.parallel_for(x.count(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        double value = 0;
        load(x.dtype, run.in(0), i, 1, 1, &value);
        value /= scales[map.at(i)];
        if (!divides_in_double) value = static_cast<float>(value);
        value = std::nearbyint(value) + zeros[map.at(i)];
        store(y.dtype, run.out(0), i, 1, 1, &value);
      }
    });
  };
}

Body compile_dequantize_linear(const Operation& op) {
  const Type x = op.input(0), scale = op.input(1), y = op.output(0);
  const ScaleMap map = read_scales(op);
  return [=](const Run& run) {
    const auto scales = load_all<double>(scale.dtype, run.in(1), scale.count());
    const auto zeros = load_zeros(run, 2, x.dtype, scale.count());
    run.host.parallel_for(x.count(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        double value = 0;
        load(x.dtype, run.in(0), i, 1, 1, &value);
        value = (value - zeros[map.at(i)]) * scales[map.at(i)];
        store(y.dtype, run.out(0), i, 1, 1, &value);
      }
    });
  };
}

// In f32 throughout, as ONNX defines it: the scale is a result, and the elements are divided by the
// rounded one.
Body compile_dynamic_quantize_linear(const Operation& op) {
  const Type x = op.input(0);
  if (x.dtype != INLAY_F32) throw sdk::Decline(op.title() + ": defined for f32 only");
  return [=](const Run& run) {
    const float* in = run.in<float>(0);
    float low = 0, high = 0;
    for (std::int64_t i = 0; i < x.count(); ++i) {
      low = std::min(low, in[i]);
      high = std::max(high, in[i]);
    }
    // All zeros: any scale does; 1 keeps the quotient defined.
    const float scale = high == low ? 1.0f : (high - low) / 255.0f;
    const float zero = std::nearbyint(std::clamp(-low / scale, 0.0f, 255.0f));
    const auto zero_point = static_cast<std::uint8_t>(zero);
    if (run.out(1) != nullptr) *run.out<float>(1) = scale;
    if (run.out(2) != nullptr) *run.out<std::uint8_t>(2) = zero_point;
    if (run.out(0) == nullptr) return;
    run.host.parallel_for(x.count(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const double value = std::nearbyint(in[i] / scale) + zero;
        store(INLAY_U8, run.out(0), i, 1, 1, &value);
      }
    });
  };
}

}  // namespace inlay::reference
