// Normalisations at inference.
#include <fmt/format.h>

#include "graphs/onnx/operator.h"

namespace inlay {
namespace {

Values same(Operator& op) { return op.emit_same(op.inputs()); }

Values batch_normalization(Operator& op) {
  if (op.get_int("training_mode", 0) != 0) throw op.unsupported("training mode is not supported");
  if (op.opset() < 9 && op.get_int("spatial", 1) == 0) {
    throw op.unsupported("spatial = 0 is not supported");
  }
  op.limit_outputs(1);
  return {op.emit("BatchNormalization",
                  {op.input(0), op.input(1), op.input(2), op.input(3), op.input(4)},
                  {{"epsilon", op.get_float("epsilon", 1e-5f)}})};
}

// One number per group becomes one per channel.
ValueId spread_over_channels(Operator& op, ValueId id, std::int64_t groups, std::int64_t channels) {
  const ValueId column = op.reshape(id, {groups, 1});
  const TensorType spread{op.type(id).dtype, {groups, channels / groups}};
  if (spread.shape == op.type(column).shape) return op.reshape(column, {channels});
  return op.reshape(op.emit_as(spread, "Expand", {column}), {channels});
}

// Scale and bias are per group in opset 18 and per channel as of 21.
Values group_normalization(Operator& op) {
  const std::int64_t groups = op.get_int("num_groups", 0);
  const std::int64_t channels = op.rank(0) < 2 ? 0 : op.shape(0)[1];
  if (groups < 1 || channels % groups != 0) {
    throw op.error(Code::kShapeMismatch,
                   fmt::format("{} channels do not form {} groups", channels, groups));
  }
  ValueId scale = op.input(1);
  ValueId bias = op.input(2);
  if (op.opset() < 21 && op.shape(1) == Shape{groups} && op.shape(2) == Shape{groups}) {
    scale = spread_over_channels(op, scale, groups, channels);
    bias = spread_over_channels(op, bias, groups, channels);
  }
  return op.emit_same({op.input(0), scale, bias});
}

Values layer_normalization(Operator& op) {
  op.limit_outputs(1);
  Values operands{op.input(0), op.input(1), op.input_or_none(2)};
  return {op.emit("LayerNormalization", operands,
                  {{"axis", op.axis(op.get_int("axis", -1), op.rank(0))},
                   {"epsilon", op.get_float("epsilon", 1e-5f)}})};
}

Values rms_normalization(Operator& op) {
  return op.emit_same(op.inputs(), {{"axis", op.axis(op.get_int("axis", -1), op.rank(0))}});
}

Values lp_normalization(Operator& op) {
  return op.emit_same(op.inputs(), {{"axis", op.axis(op.get_int("axis", -1), op.rank(0))}});
}

Values mean_variance_normalization(Operator& op) {
  return op.emit_same(op.inputs(),
                      {{"axes", op.sorted_axes(op.get_ints("axes", {0, 2, 3}), op.rank(0))}});
}

constexpr CanonicalEntry kEntries[] = {
    {"BatchNormalization", batch_normalization},
    {"InstanceNormalization", same},
    {"GroupNormalization", group_normalization},
    {"LayerNormalization", layer_normalization},
    {"RMSNormalization", rms_normalization},
    {"LRN", same},
    {"LpNormalization", lp_normalization},
    {"MeanVarianceNormalization", mean_variance_normalization},
};

}  // namespace

std::span<const CanonicalEntry> canonical_normalizations() { return kEntries; }

}  // namespace inlay
