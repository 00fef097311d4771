// The parts of type inference, one file a family; only infer.cpp and they include this. Each
// function gets a node that has passed the checks against the operator table (operand and output
// counts, attributes) and returns the types of the outputs that were asked for, or more.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "graphs/ir/graph.h"

namespace inlay {

struct InferContext {
  const Node& node;
  const std::vector<TensorType>& inputs;
  int output_count;

  // Ends inference with "Conv 'c3': …".
  template <typename... Args>
  [[noreturn]] void fail(Code code, fmt::format_string<Args...> text, Args&&... args) const {
    throw Error(code, fmt::format("{} '{}': {}", node.op, node.name,
                                  fmt::format(text, std::forward<Args>(args)...)));
  }
  template <typename... Args>
  [[noreturn]] void mismatch(fmt::format_string<Args...> text, Args&&... args) const {
    fail(Code::kShapeMismatch, text, std::forward<Args>(args)...);
  }

  bool has_input(std::size_t i) const {
    return i < inputs.size() && inputs[i].dtype != DType::kNone;
  }
  const Shape& shape(std::size_t i) const { return inputs[i].shape; }
  DType dtype(std::size_t i) const { return inputs[i].dtype; }
  std::int64_t rank(std::size_t i) const { return static_cast<std::int64_t>(shape(i).size()); }

  std::int64_t attribute_int(std::string_view name) const {
    return get_int(node.attributes, name, 0);
  }
  std::vector<std::int64_t> attribute_ints(std::string_view name) const {
    return get_ints(node.attributes, name, {});
  }
  std::string attribute_string(std::string_view name) const {
    return get_string(node.attributes, name, "");
  }

  // An ints attribute of a given length.
  std::vector<std::int64_t> ints_of_length(std::string_view name, std::int64_t length) const;
  // An axis attribute, checked to lie in [0, rank).
  std::size_t axis(std::string_view name, std::int64_t rank) const;

  void expect_rank(std::size_t i, std::string_view what, std::int64_t rank) const;
  void expect_shape(std::size_t i, std::string_view what, const Shape& shape) const;
  // Operand i, if present, has the dtype of operand 0.
  void expect_same_dtype(std::size_t i) const;
  void expect_float(std::size_t i) const;
  void expect_index(std::size_t i) const;  // i32 or i64
  // Operand i broadcasts to `shape` without changing it.
  void expect_broadcast_to(std::size_t i, const Shape& shape) const;
};

using InferFunction = std::vector<TensorType> (*)(const InferContext&);

// The common shape of two under numpy's rules; fails naming both.
Shape broadcast_shapes(const InferContext& context, const Shape& a, const Shape& b);

// infer_math.cpp
std::vector<TensorType> infer_float_unary(const InferContext& context);
std::vector<TensorType> infer_numeric_unary(const InferContext& context);
std::vector<TensorType> infer_logical_not(const InferContext& context);
std::vector<TensorType> infer_bitwise_not(const InferContext& context);
std::vector<TensorType> infer_float_test(const InferContext& context);
std::vector<TensorType> infer_clip(const InferContext& context);
std::vector<TensorType> infer_prelu(const InferContext& context);
std::vector<TensorType> infer_arithmetic(const InferContext& context);
std::vector<TensorType> infer_pow(const InferContext& context);
std::vector<TensorType> infer_logical(const InferContext& context);
std::vector<TensorType> infer_integer_binary(const InferContext& context);
std::vector<TensorType> infer_comparison(const InferContext& context);
std::vector<TensorType> infer_where(const InferContext& context);
std::vector<TensorType> infer_cast(const InferContext& context);
std::vector<TensorType> infer_reduce(const InferContext& context);
std::vector<TensorType> infer_arg_reduce(const InferContext& context);
std::vector<TensorType> infer_cumsum(const InferContext& context);
std::vector<TensorType> infer_dynamic_quantize(const InferContext& context);
std::vector<TensorType> infer_quantize(const InferContext& context);
std::vector<TensorType> infer_dequantize(const InferContext& context);

// infer_matrix.cpp
std::vector<TensorType> infer_matmul(const InferContext& context);
std::vector<TensorType> infer_matmul_integer(const InferContext& context);
std::vector<TensorType> infer_qlinear_matmul(const InferContext& context);
std::vector<TensorType> infer_gemm(const InferContext& context);
std::vector<TensorType> infer_einsum(const InferContext& context);

// infer_movement.cpp
std::vector<TensorType> infer_reshape(const InferContext& context);
std::vector<TensorType> infer_expand(const InferContext& context);
std::vector<TensorType> infer_transpose(const InferContext& context);
std::vector<TensorType> infer_concat(const InferContext& context);
std::vector<TensorType> infer_split(const InferContext& context);
std::vector<TensorType> infer_slice(const InferContext& context);
std::vector<TensorType> infer_pad(const InferContext& context);
std::vector<TensorType> infer_gather(const InferContext& context);
std::vector<TensorType> infer_gather_elements(const InferContext& context);
std::vector<TensorType> infer_gather_nd(const InferContext& context);
std::vector<TensorType> infer_scatter_elements(const InferContext& context);
std::vector<TensorType> infer_scatter_nd(const InferContext& context);
std::vector<TensorType> infer_tile(const InferContext& context);
std::vector<TensorType> infer_one_hot(const InferContext& context);
std::vector<TensorType> infer_top_k(const InferContext& context);
std::vector<TensorType> infer_matrix_mask(const InferContext& context);
std::vector<TensorType> infer_eye_like(const InferContext& context);
std::vector<TensorType> infer_convert(const InferContext& context);

// infer_normalization.cpp
std::vector<TensorType> infer_channel_normalization(const InferContext& context);
std::vector<TensorType> infer_group_normalization(const InferContext& context);
std::vector<TensorType> infer_layer_normalization(const InferContext& context);
std::vector<TensorType> infer_along_axis(const InferContext& context);
std::vector<TensorType> infer_mean_variance(const InferContext& context);
std::vector<TensorType> infer_lrn(const InferContext& context);

// infer_recurrent.cpp
std::vector<TensorType> infer_recurrent(const InferContext& context);

// infer_spatial.cpp
std::vector<TensorType> infer_conv(const InferContext& context);
std::vector<TensorType> infer_conv_integer(const InferContext& context);
std::vector<TensorType> infer_qlinear_conv(const InferContext& context);
std::vector<TensorType> infer_conv_transpose(const InferContext& context);
std::vector<TensorType> infer_pool(const InferContext& context);
std::vector<TensorType> infer_global_pool(const InferContext& context);
std::vector<TensorType> infer_depth_to_space(const InferContext& context);
std::vector<TensorType> infer_space_to_depth(const InferContext& context);
std::vector<TensorType> infer_resize(const InferContext& context);
std::vector<TensorType> infer_grid_sample(const InferContext& context);

}  // namespace inlay
