// Normalisations over trailing or given axes: layer, root mean square, Lp and mean-variance.
#include <cmath>

#include "plugins/reference/element.h"
#include "plugins/reference/lines.h"
#include "plugins/reference/operators.h"

namespace inlay::reference {
namespace {

// An operand broadcast to the normalised dimensions.
std::vector<double> load_broadcast(const Run& run, int operand, inlay_dtype dtype,
                                   const Walk& walk) {
  std::vector<double> values(walk.count());
  walk.for_each_run(0, walk.count(), walk.count(),
                    [&](std::int64_t to, const std::int64_t* from, std::int64_t length) {
                      load(dtype, run.in(operand), from[0], walk.inner_stride(0), length,
                           values.data() + to);
                    });
  return values;
}

}  // namespace

Body compile_layer_normalization(const Operation& op) {
  const Type x = op.input(0), scale = op.input(1), y = op.output(0);
  const Type bias = op.has_input(2) ? op.input(2) : Type{};
  const int axis = op.axis(x.rank(), x.rank() - 1);
  const bool subtracts_mean = op.node().op() == "LayerNormalization";
  const double epsilon = op.node().get_float("epsilon", 1e-5f);
  const Dims normalized(x.dims.begin() + axis, x.dims.end());
  const Walk scale_walk = Walk::broadcast(normalized, {scale.dims});
  const Walk bias_walk = Walk::broadcast(normalized, {bias.dims});
  return [=](const Run& run) {
    const std::vector<double> scales = load_broadcast(run, 1, scale.dtype, scale_walk);
    std::vector<double> biases(scales.size());
    if (run.in(2) != nullptr) biases = load_broadcast(run, 2, bias.dtype, bias_walk);
    const std::int64_t size = scale_walk.count();
    const std::int64_t grain = std::max<std::int64_t>(1, kGrain / (size + 1));
    run.host.parallel_for(x.count(0, axis), grain, [&](std::int64_t begin, std::int64_t end) {
      std::vector<double> row(size);
      for (std::int64_t r = begin; r < end; ++r) {
        load(x.dtype, run.in(0), r * size, 1, size, row.data());
        double mean = 0, square = 0;
        if (subtracts_mean) {
          for (const double value : row) mean += value;
          mean /= static_cast<double>(size);
        }
        for (const double value : row) square += (value - mean) * (value - mean);
        const double factor = 1.0 / std::sqrt(square / static_cast<double>(size) + epsilon);
        for (std::int64_t i = 0; i < size; ++i) {
          row[i] = (row[i] - mean) * factor * scales[i] + biases[i];
        }
        store(y.dtype, run.out(0), r * size, 1, size, row.data());
      }
    });
  };
}

Body compile_lp_normalization(const Operation& op) {
  const Type x = op.input(0), y = op.output(0);
  const Lines lines(x, op.axis(x.rank(), x.rank() - 1));
  const std::int64_t p = op.node().get_int("p", 2);
  if (p != 1 && p != 2) throw sdk::Decline(op.title() + ": p must be 1 or 2");
  return [=](const Run& run) {
    run.host.parallel_for(lines.count(), lines.grain(), [&](std::int64_t begin, std::int64_t end) {
      std::vector<double> line(lines.length);
      for (std::int64_t l = begin; l < end; ++l) {
        load(x.dtype, run.in(0), lines.start(l), lines.inner, lines.length, line.data());
        double norm = 0;
        for (const double value : line) norm += p == 1 ? std::fabs(value) : value * value;
        if (p == 2) norm = std::sqrt(norm);
        // A line of zeros stays zero.
        for (double& value : line) value = norm == 0 ? 0.0 : value / norm;
        store(y.dtype, run.out(0), lines.start(l), lines.inner, lines.length, line.data());
      }
    });
  };
}

// (x - mean) / (deviation + 1e-9), the constant of ONNX's definition.
Body compile_mean_variance_normalization(const Operation& op) {
  const Type x = op.input(0), y = op.output(0);
  Dims axes{0, 2, 3};
  if (op.node().has("axes")) {
    axes.assign(op.node().get_ints("axes").begin(), op.node().get_ints("axes").end());
  }
  Dims kept_dims, kept_strides, dims, strides;
  const Dims own = row_major_strides(x.dims);
  for (int d = 0; d < x.rank(); ++d) {
    bool is_normalized = false;
    for (const std::int64_t axis : axes) is_normalized |= axis == d || axis + x.rank() == d;
    (is_normalized ? dims : kept_dims).push_back(x.dims[d]);
    (is_normalized ? strides : kept_strides).push_back(own[d]);
  }
  const Walk kept(kept_dims, {kept_strides}, {0});
  const Walk group(dims, {strides}, {0});
  return [=](const Run& run) {
    if (group.count() == 0) return;
    run.host.parallel_for(kept.count(), 1, [&](std::int64_t begin, std::int64_t end) {
      std::vector<double> values(group.count());
      const auto each_run = [&](const auto& f) {
        group.for_each_run(0, group.count(), group.count(), f);
      };
      const std::int64_t step = group.inner_stride(0);
      kept.for_each_run(begin, end, 1, [&](std::int64_t, const std::int64_t* base, std::int64_t) {
        each_run([&](std::int64_t to, const std::int64_t* from, std::int64_t length) {
          load(x.dtype, run.in(0), base[0] + from[0], step, length, values.data() + to);
        });
        double mean = 0, variance = 0;
        for (const double value : values) mean += value;
        mean /= static_cast<double>(values.size());
        for (const double value : values) variance += (value - mean) * (value - mean);
        const double deviation = std::sqrt(variance / static_cast<double>(values.size()));
        for (double& value : values) value = (value - mean) / (deviation + 1e-9);
        each_run([&](std::int64_t to, const std::int64_t* from, std::int64_t length) {
          store(y.dtype, run.out(0), base[0] + from[0], step, length, values.data() + to);
        });
      });
    });
  };
}

}  // namespace inlay::reference
