// Elementwise operators, reductions, quantization.
#include <algorithm>

#include "graphs/ir/infer_families.h"

namespace inlay {
namespace {

bool is_numeric(DType dtype) { return is_float(dtype) || is_integer(dtype); }

void expect_numeric(const InferContext& context, std::size_t i) {
  if (is_numeric(context.dtype(i))) return;
  context.mismatch("operand {} must be numeric, is {}", i, name_of(context.dtype(i)));
}

void expect_integer(const InferContext& context, std::size_t i) {
  if (is_integer(context.dtype(i))) return;
  context.mismatch("operand {} must be of an integer type, is {}", i, name_of(context.dtype(i)));
}

void expect_bool(const InferContext& context, std::size_t i) {
  if (context.dtype(i) == DType::kBool) return;
  context.mismatch("operand {} must be bool, is {}", i, name_of(context.dtype(i)));
}

Shape broadcast_pair(const InferContext& context) {
  return broadcast_shapes(context, context.shape(0), context.shape(1));
}

DType parse_target(const InferContext& context, std::string_view attribute) {
  const auto dtype = static_cast<DType>(context.attribute_int(attribute));
  if (size_of(dtype) == 0) {
    context.fail(Code::kUnsupported, "attribute '{}' is {}, not an element type Inlay has",
                 attribute, context.attribute_int(attribute));
  }
  return dtype;
}

// Scale and zero point: one for all, one per entry of `axis`, or one per block along it.
void check_scale(const InferContext& context) {
  const std::int64_t block = context.attribute_int("block_size");
  if (block > 0) {
    const std::size_t axis = context.axis("axis", context.rank(0));
    Shape expected = context.shape(0);
    expected[axis] = (expected[axis] + block - 1) / block;
    context.expect_shape(1, "scale", expected);
  } else if (context.rank(1) == 1 && context.shape(1)[0] != 1) {
    const std::size_t axis = context.axis("axis", context.rank(0));
    context.expect_shape(1, "scale", {context.shape(0)[axis]});
  } else if (context.rank(1) > 1) {
    context.mismatch("scale must be a scalar or have rank 1, is {}", to_string(context.shape(1)));
  }
  if (context.has_input(2)) context.expect_shape(2, "zero point", context.shape(1));
}

}  // namespace

std::vector<TensorType> infer_float_unary(const InferContext& context) {
  context.expect_float(0);
  return {context.inputs[0]};
}

std::vector<TensorType> infer_numeric_unary(const InferContext& context) {
  expect_numeric(context, 0);
  return {context.inputs[0]};
}

std::vector<TensorType> infer_logical_not(const InferContext& context) {
  expect_bool(context, 0);
  return {context.inputs[0]};
}

std::vector<TensorType> infer_bitwise_not(const InferContext& context) {
  expect_integer(context, 0);
  return {context.inputs[0]};
}

std::vector<TensorType> infer_float_test(const InferContext& context) {
  context.expect_float(0);
  return {{DType::kBool, context.shape(0)}};
}

std::vector<TensorType> infer_clip(const InferContext& context) {
  expect_numeric(context, 0);
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    if (!context.has_input(i)) continue;
    context.expect_same_dtype(i);
    if (element_count(context.shape(i)) != 1) {
      context.mismatch("bound {} must be a scalar, is {}", i == 1 ? "min" : "max",
                       to_string(context.shape(i)));
    }
  }
  if (context.inputs.size() > 1 && !context.node.attributes.empty()) {
    context.fail(Code::kInvalidArgument, "bounds are operands or attributes, not both");
  }
  return {context.inputs[0]};
}

std::vector<TensorType> infer_prelu(const InferContext& context) {
  expect_numeric(context, 0);
  context.expect_same_dtype(1);
  context.expect_broadcast_to(1, context.shape(0));
  return {context.inputs[0]};
}

std::vector<TensorType> infer_arithmetic(const InferContext& context) {
  expect_numeric(context, 0);
  context.expect_same_dtype(1);
  return {{context.dtype(0), broadcast_pair(context)}};
}

std::vector<TensorType> infer_pow(const InferContext& context) {
  expect_numeric(context, 0);
  expect_numeric(context, 1);  // the exponent may have a type of its own
  return {{context.dtype(0), broadcast_pair(context)}};
}

std::vector<TensorType> infer_logical(const InferContext& context) {
  expect_bool(context, 0);
  expect_bool(context, 1);
  return {{DType::kBool, broadcast_pair(context)}};
}

std::vector<TensorType> infer_integer_binary(const InferContext& context) {
  expect_integer(context, 0);
  context.expect_same_dtype(1);
  return {{context.dtype(0), broadcast_pair(context)}};
}

std::vector<TensorType> infer_comparison(const InferContext& context) {
  context.expect_same_dtype(1);
  if (context.node.op != "Equal") expect_numeric(context, 0);
  return {{DType::kBool, broadcast_pair(context)}};
}

std::vector<TensorType> infer_where(const InferContext& context) {
  expect_bool(context, 0);
  if (context.dtype(1) != context.dtype(2)) {
    context.mismatch("the branches are {} and {}", name_of(context.dtype(1)),
                     name_of(context.dtype(2)));
  }
  const Shape branches = broadcast_shapes(context, context.shape(1), context.shape(2));
  return {{context.dtype(1), broadcast_shapes(context, context.shape(0), branches)}};
}

std::vector<TensorType> infer_cast(const InferContext& context) {
  return {{parse_target(context, "to"), context.shape(0)}};
}

std::vector<TensorType> infer_reduce(const InferContext& context) {
  const bool is_bool_range = context.dtype(0) == DType::kBool &&
                             (context.node.op == "ReduceMax" || context.node.op == "ReduceMin");
  if (!is_bool_range) expect_numeric(context, 0);
  const bool keeps = context.attribute_int("keepdims") != 0;
  std::vector<bool> is_reduced(context.shape(0).size(), false);
  std::int64_t previous = -1;
  for (const std::int64_t axis : context.attribute_ints("axes")) {
    if (axis <= previous || axis >= context.rank(0)) {
      context.mismatch("axes {} must be ascending and lie in 0 to {}",
                       to_string(Attribute(context.attribute_ints("axes"))), context.rank(0) - 1);
    }
    is_reduced[static_cast<std::size_t>(axis)] = true;
    previous = axis;
  }
  Shape shape;
  for (std::size_t d = 0; d < is_reduced.size(); ++d) {
    if (!is_reduced[d]) shape.push_back(context.shape(0)[d]);
    if (is_reduced[d] && keeps) shape.push_back(1);
  }
  return {{context.dtype(0), shape}};
}

std::vector<TensorType> infer_arg_reduce(const InferContext& context) {
  expect_numeric(context, 0);
  const std::size_t axis = context.axis("axis", context.rank(0));
  Shape shape = context.shape(0);
  if (shape[axis] == 0) context.mismatch("axis {} of {} is empty", axis, to_string(shape));
  shape[axis] = 1;
  if (context.attribute_int("keepdims") == 0) {
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  }
  return {{DType::kI64, shape}};
}

std::vector<TensorType> infer_cumsum(const InferContext& context) {
  expect_numeric(context, 0);
  context.axis("axis", context.rank(0));
  return {context.inputs[0]};
}

std::vector<TensorType> infer_dynamic_quantize(const InferContext& context) {
  if (context.dtype(0) != DType::kF32) {
    context.mismatch("operand 0 must be f32, is {}", name_of(context.dtype(0)));
  }
  return {{DType::kU8, context.shape(0)}, {DType::kF32, {}}, {DType::kU8, {}}};
}

std::vector<TensorType> infer_quantize(const InferContext& context) {
  expect_numeric(context, 0);
  check_scale(context);
  DType target = DType::kU8;
  if (context.has_input(2)) target = context.dtype(2);
  if (context.attribute_int("to") != 0) target = parse_target(context, "to");
  if (context.has_input(2) && target != context.dtype(2)) {
    context.mismatch("attribute 'to' is {}, the zero point {}", name_of(target),
                     name_of(context.dtype(2)));
  }
  return {{target, context.shape(0)}};
}

std::vector<TensorType> infer_dequantize(const InferContext& context) {
  expect_integer(context, 0);
  context.expect_float(1);
  check_scale(context);
  context.expect_same_dtype(2);
  return {{context.dtype(1), context.shape(0)}};
}

}  // namespace inlay
