#include "graphs/ir/infer.h"

#include <string>
#include <unordered_map>

#include "graphs/ir/infer_families.h"
#include "graphs/ir/op_table.h"

namespace inlay {
namespace {

const std::unordered_map<std::string_view, InferFunction>& inference_table() {
  static const std::unordered_map<std::string_view, InferFunction> table = [] {
    std::unordered_map<std::string_view, InferFunction> map;
    const auto add = [&](InferFunction function, std::initializer_list<std::string_view> ops) {
      for (const std::string_view op : ops) map.emplace(op, function);
    };
    add(infer_float_unary,
        {"Sigmoid",  "Tanh",        "Sqrt", "Exp",   "Log",   "Floor",     "Ceil",
         "Round",    "Reciprocal",  "Sin",  "Cos",   "Tan",   "Asin",      "Acos",
         "Atan",     "Sinh",        "Cosh", "Asinh", "Acosh", "Atanh",     "Softplus",
         "Softsign", "HardSwish",   "Mish", "Elu",   "Celu",  "LeakyRelu", "ThresholdedRelu",
         "Selu",     "HardSigmoid", "Gelu", "Swish"});
    add(infer_numeric_unary, {"Relu", "Erf", "Neg", "Abs", "Sign", "Shrink"});
    add(infer_logical_not, {"Not"});
    add(infer_bitwise_not, {"BitwiseNot"});
    add(infer_float_test, {"IsNaN", "IsInf"});
    add(infer_clip, {"Clip"});
    add(infer_prelu, {"PRelu"});
    add(infer_arithmetic, {"Add", "Sub", "Mul", "Div", "Max", "Min", "Mod"});
    add(infer_pow, {"Pow"});
    add(infer_logical, {"And", "Or", "Xor"});
    add(infer_integer_binary, {"BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitShift"});
    add(infer_comparison, {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"});
    add(infer_where, {"Where"});
    add(infer_cast, {"Cast"});
    add(infer_reduce,
        {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
         "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"});
    add(infer_arg_reduce, {"ArgMax", "ArgMin"});
    add(infer_cumsum, {"CumSum"});
    add(infer_dynamic_quantize, {"DynamicQuantizeLinear"});
    add(infer_quantize, {"QuantizeLinear"});
    add(infer_dequantize, {"DequantizeLinear"});
    add(infer_matmul, {"MatMul"});
    add(infer_matmul_integer, {"MatMulInteger"});
    add(infer_qlinear_matmul, {"QLinearMatMul"});
    add(infer_gemm, {"Gemm"});
    add(infer_einsum, {"Einsum"});
    add(infer_reshape, {"Reshape"});
    add(infer_expand, {"Expand"});
    add(infer_transpose, {"Transpose"});
    add(infer_concat, {"Concat"});
    add(infer_split, {"Split"});
    add(infer_slice, {"Slice"});
    add(infer_pad, {"Pad"});
    add(infer_gather, {"Gather"});
    add(infer_gather_elements, {"GatherElements"});
    add(infer_gather_nd, {"GatherND"});
    add(infer_scatter_elements, {"ScatterElements"});
    add(infer_scatter_nd, {"ScatterND"});
    add(infer_tile, {"Tile"});
    add(infer_one_hot, {"OneHot"});
    add(infer_top_k, {"TopK"});
    add(infer_matrix_mask, {"Trilu"});
    add(infer_eye_like, {"EyeLike"});
    add(infer_convert, {"Convert"});
    add(infer_channel_normalization, {"BatchNormalization", "InstanceNormalization"});
    add(infer_group_normalization, {"GroupNormalization"});
    add(infer_layer_normalization, {"LayerNormalization", "RMSNormalization"});
    add(infer_along_axis, {"Softmax", "LogSoftmax", "Hardmax", "LpNormalization"});
    add(infer_mean_variance, {"MeanVarianceNormalization"});
    add(infer_lrn, {"LRN"});
    add(infer_recurrent, {"LSTM", "GRU", "RNN"});
    add(infer_conv, {"Conv"});
    add(infer_conv_integer, {"ConvInteger"});
    add(infer_qlinear_conv, {"QLinearConv"});
    add(infer_conv_transpose, {"ConvTranspose"});
    add(infer_pool, {"MaxPool", "AveragePool", "LpPool"});
    add(infer_global_pool, {"GlobalAveragePool", "GlobalMaxPool"});
    add(infer_depth_to_space, {"DepthToSpace"});
    add(infer_space_to_depth, {"SpaceToDepth"});
    add(infer_resize, {"Resize"});
    add(infer_grid_sample, {"GridSample"});
    return map;
  }();
  return table;
}

std::string describe_range(int low, int high) {
  if (high < 0) return fmt::format("at least {}", low);
  return low == high ? fmt::format("{}", low) : fmt::format("{} to {}", low, high);
}

void check_counts(const InferContext& context, const OpInfo& info) {
  const int inputs = static_cast<int>(context.inputs.size());
  if (inputs < info.min_inputs || (info.max_inputs >= 0 && inputs > info.max_inputs)) {
    context.fail(Code::kInvalidArgument, "expected {} operands, found {}",
                 describe_range(info.min_inputs, info.max_inputs), inputs);
  }
  for (int i = 0; i < info.min_inputs; ++i) {
    if (context.has_input(static_cast<std::size_t>(i))) continue;
    context.fail(Code::kInvalidArgument, "operand {} is needed and was left out", i);
  }
  const int outputs = context.output_count;
  if (outputs < info.min_outputs || (info.max_outputs >= 0 && outputs > info.max_outputs)) {
    context.fail(Code::kInvalidArgument, "expected {} outputs, found {}",
                 describe_range(info.min_outputs, info.max_outputs), outputs);
  }
}

}  // namespace

std::vector<std::int64_t> InferContext::ints_of_length(std::string_view name,
                                                       std::int64_t length) const {
  std::vector<std::int64_t> values = attribute_ints(name);
  if (static_cast<std::int64_t>(values.size()) != length) {
    mismatch("attribute '{}' needs {} entries, has {}", name, length, values.size());
  }
  return values;
}

std::size_t InferContext::axis(std::string_view name, std::int64_t rank) const {
  const std::int64_t value = attribute_int(name);
  if (value < 0 || value >= rank) {
    mismatch("attribute '{}' is {}, must lie in 0 to {}", name, value, rank - 1);
  }
  return static_cast<std::size_t>(value);
}

void InferContext::expect_rank(std::size_t i, std::string_view what, std::int64_t expected) const {
  if (rank(i) == expected) return;
  mismatch("{} must have rank {}, is {}", what, expected, to_string(shape(i)));
}

void InferContext::expect_shape(std::size_t i, std::string_view what, const Shape& expected) const {
  if (shape(i) == expected) return;
  mismatch("{} must be {}, is {}", what, to_string(expected), to_string(shape(i)));
}

void InferContext::expect_same_dtype(std::size_t i) const {
  if (!has_input(i) || dtype(i) == dtype(0)) return;
  mismatch("operand {} is {}, operand 0 is {}", i, name_of(dtype(i)), name_of(dtype(0)));
}

void InferContext::expect_float(std::size_t i) const {
  if (is_float(dtype(i))) return;
  mismatch("operand {} must be of a float type, is {}", i, name_of(dtype(i)));
}

void InferContext::expect_index(std::size_t i) const {
  if (dtype(i) == DType::kI32 || dtype(i) == DType::kI64) return;
  mismatch("operand {} must be i32 or i64, is {}", i, name_of(dtype(i)));
}

void InferContext::expect_broadcast_to(std::size_t i, const Shape& target) const {
  const Shape& from = shape(i);
  bool fits = from.size() <= target.size();
  for (std::size_t d = 1; fits && d <= from.size(); ++d) {
    const std::int64_t extent = from[from.size() - d];
    fits = extent == 1 || extent == target[target.size() - d];
  }
  if (!fits) {
    mismatch("operand {} is {}, which does not broadcast to {}", i, to_string(from),
             to_string(target));
  }
}

Shape broadcast_shapes(const InferContext& context, const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  for (std::size_t d = 1; d <= shorter.size(); ++d) {
    std::int64_t& out = result[result.size() - d];
    const std::int64_t other = shorter[shorter.size() - d];
    if (other == out || other == 1) continue;
    if (out != 1) {
      context.mismatch("{} and {} do not broadcast", to_string(a), to_string(b));
    }
    out = other;
  }
  return result;
}

std::vector<TensorType> infer_types(const Node& node, const std::vector<TensorType>& inputs,
                                    int output_count) {
  const InferContext context{node, inputs, output_count};
  const OpInfo* info = find_op(node.op);
  const std::string_view home = node.op == "Convert" ? "inlay" : "";
  if (info == nullptr || node.domain != home) {
    throw Error(Code::kUnsupported,
                fmt::format("{}{}{} '{}': not a canonical operator", node.domain,
                            node.domain.empty() ? "" : ".", node.op, node.name));
  }
  check_counts(context, *info);
  check_attributes(node, *info);
  std::vector<TensorType> types = inference_table().at(node.op)(context);
  types.resize(static_cast<std::size_t>(output_count));
  return types;
}

void check_output_type(const Node& node, const std::vector<TensorType>& inputs,
                       const TensorType& output) {
  const bool is_reshape = node.op == "Reshape";
  const bool is_expand = node.op == "Expand";
  if (!node.domain.empty() || !(is_reshape || is_expand || node.op == "Resize")) return;
  const InferContext context{node, inputs, 1};
  check_counts(context, *find_op(node.op));
  const Shape& from = inputs[0].shape;
  const Shape& to = output.shape;
  if (output.dtype != inputs[0].dtype) {
    context.mismatch("operand is {}, the target {}", to_string(inputs[0]), to_string(output));
  }
  if (is_reshape && element_count(from) != element_count(to)) {
    context.mismatch("{} has {} elements, the target {} has {}", to_string(from),
                     element_count(from), to_string(to), element_count(to));
  }
  if (is_expand) context.expect_broadcast_to(0, to);
  if (!is_reshape && !is_expand && from.size() != to.size()) {
    context.mismatch("{} has rank {}, the target {} has {}", to_string(from), from.size(),
                     to_string(to), to.size());
  }
}

}  // namespace inlay
