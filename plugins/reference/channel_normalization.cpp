// Normalisations whose scale and bias belong to channels (dimension 1): batch, instance, group and
// local response.
#include <algorithm>
#include <cmath>

#include "plugins/reference/element.h"
#include "plugins/reference/lines.h"
#include "plugins/reference/operators.h"

namespace inlay::reference {
namespace {

void require_channels(const Operation& op, const Type& x, std::initializer_list<int> operands) {
  if (x.rank() < 1) throw sdk::Decline(op.title() + ": operand is a scalar");
  const std::int64_t channels = x.rank() > 1 ? x.dims[1] : 1;
  for (const int i : operands) {
    if (op.input(i).count() != channels) {
      throw sdk::Decline(op.title() + ": operand " + std::to_string(i) + " has " +
                         std::to_string(op.input(i).count()) + " elements, the input has " +
                         std::to_string(channels) + " channels");
    }
  }
}

std::vector<double> load_operand(const Run& run, int i, const Type& type) {
  return load_all<double>(type.dtype, run.in(i), type.count());
}

}  // namespace

Body compile_batch_normalization(const Operation& op) {
  const Type x = op.input(0), scale = op.input(1), bias = op.input(2);
  const Type mean = op.input(3), variance = op.input(4), y = op.output(0);
  require_channels(op, x, {1, 2, 3, 4});
  const double epsilon = op.node().get_float("epsilon", 1e-5f);
  const std::int64_t channels = scale.count();
  const std::int64_t size = x.rank() > 2 ? x.count(2, x.rank()) : 1;
  return [=](const Run& run) {
    const auto scales = load_operand(run, 1, scale), biases = load_operand(run, 2, bias);
    const auto means = load_operand(run, 3, mean), variances = load_operand(run, 4, variance);
    const std::int64_t planes = size == 0 ? 0 : x.count() / size;
    const std::int64_t grain = std::max<std::int64_t>(1, kGrain / (size + 1));
    run.host.parallel_for(planes, grain, [&](std::int64_t begin, std::int64_t end) {
      std::vector<double> plane(size);
      for (std::int64_t p = begin; p < end; ++p) {
        const std::int64_t c = p % channels;
        const double factor = scales[c] / std::sqrt(variances[c] + epsilon);
        load(x.dtype, run.in(0), p * size, 1, size, plane.data());
        for (double& value : plane) value = (value - means[c]) * factor + biases[c];
        store(y.dtype, run.out(0), p * size, 1, size, plane.data());
      }
    });
  };
}

// Instance normalisation is group normalisation with a group per channel.
Body compile_instance_normalization(const Operation& op) {
  const Type x = op.input(0), scale = op.input(1), bias = op.input(2), y = op.output(0);
  require_channels(op, x, {1, 2});
  if (x.rank() < 2) throw sdk::Decline(op.title() + ": rank below 2");
  const double epsilon = op.node().get_float("epsilon", 1e-5f);
  const std::int64_t channels = x.dims[1];
  const std::int64_t groups =
      op.node().op() == "GroupNormalization" ? op.node().get_int("num_groups", 1) : channels;
  if (groups < 1 || channels % groups != 0) {
    throw sdk::Decline(op.title() + ": " + std::to_string(channels) + " channels in " +
                       std::to_string(groups) + " groups");
  }
  const std::int64_t size = x.count(2, x.rank());
  const std::int64_t group_channels = channels / groups;
  return [=](const Run& run) {
    const auto scales = load_operand(run, 1, scale), biases = load_operand(run, 2, bias);
    const std::int64_t count = group_channels * size;
    run.host.parallel_for(x.dims[0] * groups, 1, [&](std::int64_t begin, std::int64_t end) {
      std::vector<double> values(count);
      for (std::int64_t g = begin; g < end; ++g) {
        load(x.dtype, run.in(0), g * count, 1, count, values.data());
        double mean = 0, variance = 0;
        for (const double value : values) mean += value;
        mean /= static_cast<double>(count);
        for (const double value : values) variance += (value - mean) * (value - mean);
        variance /= static_cast<double>(count);
        const double factor = 1.0 / std::sqrt(variance + epsilon);
        for (std::int64_t i = 0; i < count; ++i) {
          const std::int64_t c = g % groups * group_channels + i / size;
          values[i] = (values[i] - mean) * factor * scales[c] + biases[c];
        }
        store(y.dtype, run.out(0), g * count, 1, count, values.data());
      }
    });
  };
}

Body compile_lrn(const Operation& op) {
  const Type x = op.input(0), y = op.output(0);
  if (x.rank() < 2) throw sdk::Decline(op.title() + ": rank below 2");
  const std::int64_t size = op.node().get_int("size", 1);
  const double alpha = op.node().get_float("alpha", 1e-4f);
  const double beta = op.node().get_float("beta", 0.75f);
  const double bias = op.node().get_float("bias", 1.0f);
  if (size < 1) throw sdk::Decline(op.title() + ": size is below 1");
  const Lines lines(x, 1);
  return [=](const Run& run) {
    run.host.parallel_for(lines.count(), lines.grain(), [&](std::int64_t begin, std::int64_t end) {
      std::vector<double> in(lines.length), out(lines.length);
      for (std::int64_t l = begin; l < end; ++l) {
        load(x.dtype, run.in(0), lines.start(l), lines.inner, lines.length, in.data());
        for (std::int64_t c = 0; c < lines.length; ++c) {
          // The window is one longer above the channel when its size is even.
          const std::int64_t first = std::max<std::int64_t>(0, c - (size - 1) / 2);
          const std::int64_t last = std::min(lines.length - 1, c + size / 2);
          double squares = 0;
          for (std::int64_t i = first; i <= last; ++i) squares += in[i] * in[i];
          out[c] = in[c] / std::pow(bias + alpha / static_cast<double>(size) * squares, beta);
        }
        store(y.dtype, run.out(0), lines.start(l), lines.inner, lines.length, out.data());
      }
    });
  };
}

}  // namespace inlay::reference
