// Normalizations and the operators that work along one axis: the output has the type of the first
// operand.
#include "graphs/ir/infer_families.h"

namespace inlay {
namespace {

constexpr const char* kParameters[] = {"X", "scale", "B", "mean", "var"};

// The extent of the channel dimension, which is the second.
std::int64_t channels(const InferContext& context) {
  if (context.rank(0) < 2) {
    context.mismatch("operand must have rank 2 or more (batch, channels, ...), is {}",
                     to_string(context.shape(0)));
  }
  return context.shape(0)[1];
}

}  // namespace

std::vector<TensorType> infer_channel_normalization(const InferContext& context) {
  context.expect_float(0);
  const std::int64_t count = channels(context);
  for (std::size_t i = 1; i < context.inputs.size(); ++i) {
    context.expect_shape(i, kParameters[i], {count});
  }
  return {context.inputs[0]};
}

std::vector<TensorType> infer_group_normalization(const InferContext& context) {
  const std::int64_t groups = context.attribute_int("num_groups");
  const std::int64_t count = channels(context);
  if (groups <= 0 || count % groups != 0) {
    context.mismatch("{} channels do not divide into {} groups", count, groups);
  }
  return infer_channel_normalization(context);
}

std::vector<TensorType> infer_layer_normalization(const InferContext& context) {
  context.expect_float(0);
  context.axis("axis", context.rank(0));
  context.expect_broadcast_to(1, context.shape(0));
  if (context.has_input(2)) context.expect_broadcast_to(2, context.shape(0));
  return {context.inputs[0]};
}

std::vector<TensorType> infer_along_axis(const InferContext& context) {
  context.expect_float(0);
  context.axis("axis", context.rank(0));
  return {context.inputs[0]};
}

std::vector<TensorType> infer_mean_variance(const InferContext& context) {
  context.expect_float(0);
  for (const std::int64_t axis : context.attribute_ints("axes")) {
    if (axis >= 0 && axis < context.rank(0)) continue;
    context.mismatch("axis {} is outside 0 to {}", axis, context.rank(0) - 1);
  }
  return {context.inputs[0]};
}

std::vector<TensorType> infer_lrn(const InferContext& context) {
  context.expect_float(0);
  channels(context);
  if (context.attribute_int("size") <= 0) {
    context.mismatch("size is {}, must be positive", context.attribute_int("size"));
  }
  return {context.inputs[0]};
}

}  // namespace inlay
