// Operators that move, select or repeat elements.
#include <algorithm>
#include <limits>
#include <numeric>

#include "graphs/ir/infer_families.h"

namespace inlay {
namespace {

void expect_reduction(const InferContext& context) {
  const std::string reduction = context.attribute_string("reduction");
  for (const char* known : {"none", "add", "mul", "max", "min"}) {
    if (reduction == known) return;
  }
  context.fail(Code::kInvalidArgument,
               "attribute 'reduction' is '{}', must be none, add, mul, max or min", reduction);
}

Shape join(const Shape& a, const Shape& b) {
  Shape result = a;
  result.insert(result.end(), b.begin(), b.end());
  return result;
}

Shape slice_of(const Shape& shape, std::int64_t begin, std::int64_t end) {
  return Shape(shape.begin() + begin, shape.begin() + end);
}

}  // namespace

std::vector<TensorType> infer_reshape(const InferContext& context) {
  context.fail(Code::kInvalidArgument,
               "its target is the type of its output, which must be given "
               "(GraphBuilder::reshape or node_with_types)");
}

std::vector<TensorType> infer_expand(const InferContext& context) {
  context.fail(Code::kInvalidArgument,
               "its target is the type of its output, which must be given (node_with_types)");
}

std::vector<TensorType> infer_transpose(const InferContext& context) {
  const auto perm = context.ints_of_length("perm", context.rank(0));
  std::vector<std::int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  Shape shape;
  for (std::size_t i = 0; i < perm.size(); ++i) {
    if (sorted[i] != static_cast<std::int64_t>(i)) {
      context.fail(Code::kInvalidArgument, "perm {} is not a permutation of 0 to {}",
                   to_string(Attribute(perm)), perm.size() - 1);
    }
    shape.push_back(context.shape(0)[static_cast<std::size_t>(perm[i])]);
  }
  return {{context.dtype(0), shape}};
}

std::vector<TensorType> infer_concat(const InferContext& context) {
  const std::size_t axis = context.axis("axis", context.rank(0));
  Shape shape = context.shape(0);
  for (std::size_t i = 1; i < context.inputs.size(); ++i) {
    if (!context.has_input(i)) context.fail(Code::kInvalidArgument, "operand {} was left out", i);
    context.expect_same_dtype(i);
    Shape other = context.shape(i);
    if (other.size() == shape.size()) {
      const std::int64_t extent = std::exchange(other[axis], shape[axis]);
      if (other == shape) {
        shape[axis] += extent;
        continue;
      }
    }
    context.mismatch("operand {} is {}, operand 0 is {}: they differ beside axis {}", i,
                     to_string(context.shape(i)), to_string(context.shape(0)), axis);
  }
  return {{context.dtype(0), shape}};
}

std::vector<TensorType> infer_split(const InferContext& context) {
  const std::size_t axis = context.axis("axis", context.rank(0));
  const auto split = context.ints_of_length("split", context.output_count);
  const std::int64_t sum = std::accumulate(split.begin(), split.end(), std::int64_t{0});
  const bool has_negative = std::any_of(split.begin(), split.end(), [](auto s) { return s < 0; });
  if (sum != context.shape(0)[axis] || has_negative) {
    context.mismatch("split {} must add up to {}, the extent of axis {}",
                     to_string(Attribute(split)), context.shape(0)[axis], axis);
  }
  std::vector<TensorType> types(split.size(), context.inputs[0]);
  for (std::size_t i = 0; i < split.size(); ++i) types[i].shape[axis] = split[i];
  return types;
}

std::vector<TensorType> infer_slice(const InferContext& context) {
  const auto axes = context.attribute_ints("axes");
  const auto length = static_cast<std::int64_t>(axes.size());
  const auto starts = context.ints_of_length("starts", length);
  const auto ends = context.ints_of_length("ends", length);
  const auto steps = context.ints_of_length("steps", length);
  Shape shape = context.shape(0);
  std::vector<bool> is_sliced(shape.size(), false);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0 || axes[i] >= context.rank(0) || is_sliced[static_cast<std::size_t>(axes[i])]) {
      context.mismatch("axes {} must be distinct and lie in 0 to {}", to_string(Attribute(axes)),
                       context.rank(0) - 1);
    }
    const auto axis = static_cast<std::size_t>(axes[i]);
    is_sliced[axis] = true;
    const std::int64_t step = steps[i];
    if (step == 0 || step == std::numeric_limits<std::int64_t>::min()) {
      context.fail(Code::kInvalidArgument, "step of axis {} is {}", axis, step);
    }
    const std::int64_t extent = shape[axis];
    // Clamped: [0, extent] forward; backward from at most extent - 1 down to before element 0,
    // which is -1.
    const std::int64_t low = step > 0 ? 0 : -1;
    const std::int64_t high = step > 0 ? extent : extent - 1;
    if (starts[i] < low || starts[i] > high || ends[i] < low || ends[i] > high) {
      context.mismatch("axis {} has extent {}: start {} and end {} must lie in {} to {}", axis,
                       extent, starts[i], ends[i], low, high);
    }
    const std::int64_t distance = step > 0 ? ends[i] - starts[i] : starts[i] - ends[i];
    const std::int64_t stride = step > 0 ? step : -step;
    shape[axis] = distance <= 0 ? 0 : (distance - 1) / stride + 1;
  }
  return {{context.dtype(0), shape}};
}

std::vector<TensorType> infer_pad(const InferContext& context) {
  const auto pads = context.ints_of_length("pads", 2 * context.rank(0));
  const std::string mode = context.attribute_string("mode");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap") {
    context.fail(Code::kInvalidArgument,
                 "attribute 'mode' is '{}', must be constant, reflect, edge or wrap", mode);
  }
  if (context.has_input(1)) {
    context.expect_same_dtype(1);
    if (element_count(context.shape(1)) != 1) {
      context.mismatch("the value must be a scalar, is {}", to_string(context.shape(1)));
    }
  }
  Shape shape = context.shape(0);
  const std::size_t rank = shape.size();
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t extent = shape[d];
    shape[d] += pads[d] + pads[d + rank];
    if (shape[d] < 0) {
      context.mismatch("pads {} and {} take more than the {} elements of axis {}", pads[d],
                       pads[d + rank], extent, d);
    }
    if (extent == 0 && shape[d] > 0 && mode != "constant") {
      context.mismatch("axis {} is empty: mode {} has nothing to copy", d, mode);
    }
  }
  return {{context.dtype(0), shape}};
}

std::vector<TensorType> infer_gather(const InferContext& context) {
  context.expect_index(1);
  const auto axis = static_cast<std::int64_t>(context.axis("axis", context.rank(0)));
  const Shape& data = context.shape(0);
  return {{context.dtype(0), join(join(slice_of(data, 0, axis), context.shape(1)),
                                  slice_of(data, axis + 1, context.rank(0)))}};
}

std::vector<TensorType> infer_gather_elements(const InferContext& context) {
  context.expect_index(1);
  const std::size_t axis = context.axis("axis", context.rank(0));
  context.expect_rank(1, "indices", context.rank(0));
  for (std::size_t d = 0; d < context.shape(0).size(); ++d) {
    if (d == axis || context.shape(1)[d] <= context.shape(0)[d]) continue;
    context.mismatch("indices {} reach past {} on axis {}", to_string(context.shape(1)),
                     to_string(context.shape(0)), d);
  }
  return {{context.dtype(0), context.shape(1)}};
}

std::vector<TensorType> infer_gather_nd(const InferContext& context) {
  context.expect_index(1);
  const Shape& data = context.shape(0);
  const Shape& indices = context.shape(1);
  const std::int64_t batch = context.attribute_int("batch_dims");
  const std::int64_t depth = indices.empty() ? 0 : indices.back();
  if (indices.empty() || batch < 0 || batch >= context.rank(1) || batch + depth > context.rank(0)) {
    context.mismatch("indices {} with batch_dims {} do not fit data {}", to_string(indices), batch,
                     to_string(data));
  }
  if (slice_of(data, 0, batch) != slice_of(indices, 0, batch)) {
    context.mismatch("the first {} dimensions of {} and {} differ", batch, to_string(data),
                     to_string(indices));
  }
  return {{context.dtype(0), join(slice_of(indices, 0, context.rank(1) - 1),
                                  slice_of(data, batch + depth, context.rank(0)))}};
}

std::vector<TensorType> infer_scatter_elements(const InferContext& context) {
  context.expect_index(1);
  context.axis("axis", context.rank(0));
  expect_reduction(context);
  if (context.dtype(2) != context.dtype(0)) {
    context.mismatch("data is {}, updates {}", name_of(context.dtype(0)),
                     name_of(context.dtype(2)));
  }
  context.expect_rank(1, "indices", context.rank(0));
  context.expect_shape(2, "updates", context.shape(1));
  return {context.inputs[0]};
}

std::vector<TensorType> infer_scatter_nd(const InferContext& context) {
  context.expect_index(1);
  expect_reduction(context);
  context.expect_same_dtype(2);
  const Shape& indices = context.shape(1);
  if (indices.empty() || indices.back() > context.rank(0)) {
    context.mismatch("indices {} do not fit data {}", to_string(indices),
                     to_string(context.shape(0)));
  }
  context.expect_shape(2, "updates",
                       join(slice_of(indices, 0, context.rank(1) - 1),
                            slice_of(context.shape(0), indices.back(), context.rank(0))));
  return {context.inputs[0]};
}

std::vector<TensorType> infer_tile(const InferContext& context) {
  const auto repeats = context.ints_of_length("repeats", context.rank(0));
  Shape shape = context.shape(0);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (repeats[d] < 0)
      context.mismatch("repeats {} has a negative entry", to_string(Attribute(repeats)));
    shape[d] *= repeats[d];
  }
  return {{context.dtype(0), shape}};
}

std::vector<TensorType> infer_one_hot(const InferContext& context) {
  const std::size_t axis = context.axis("axis", context.rank(0) + 1);
  const std::int64_t depth = context.attribute_int("depth");
  if (depth < 0) context.mismatch("depth is {}", depth);
  context.expect_shape(1, "values (off, on)", {2});
  Shape shape = context.shape(0);
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), depth);
  return {{context.dtype(1), shape}};
}

std::vector<TensorType> infer_top_k(const InferContext& context) {
  const std::size_t axis = context.axis("axis", context.rank(0));
  const std::int64_t k = context.attribute_int("k");
  Shape shape = context.shape(0);
  if (k < 0 || k > shape[axis]) {
    context.mismatch("k is {}, axis {} has {} elements", k, axis, shape[axis]);
  }
  shape[axis] = k;
  return {{context.dtype(0), shape}, {DType::kI64, shape}};
}

std::vector<TensorType> infer_matrix_mask(const InferContext& context) {
  if (context.rank(0) < 2) {
    context.mismatch("operand must have rank 2 or more, is {}", to_string(context.shape(0)));
  }
  return {context.inputs[0]};
}

std::vector<TensorType> infer_eye_like(const InferContext& context) {
  context.expect_rank(0, "operand", 2);
  const auto dtype = static_cast<DType>(context.attribute_int("dtype"));
  if (size_of(dtype) == 0) {
    context.fail(Code::kUnsupported, "attribute 'dtype' is {}, not an element type Inlay has",
                 context.attribute_int("dtype"));
  }
  return {{dtype, context.shape(0)}};
}

std::vector<TensorType> infer_convert(const InferContext& context) { return {context.inputs[0]}; }

}  // namespace inlay
