#include "plugins/reference/compile.h"

#include <string_view>

#include "plugins/reference/operators.h"

namespace inlay::reference {
namespace {

struct Entry {
  std::string_view op;
  CompileOperator compile;
};

// Elementwise families are looked up by name again inside their compile function.
constexpr Entry kOperators[] = {
    {"Conv", compile_conv},
    {"ConvInteger", compile_conv_integer},
    {"QLinearConv", compile_qlinear_conv},
    {"ConvTranspose", compile_conv_transpose},
    {"MaxPool", compile_max_pool},
    {"AveragePool", compile_sum_pool},
    {"LpPool", compile_sum_pool},
    {"GlobalAveragePool", compile_global_pool},
    {"GlobalMaxPool", compile_global_pool},
    {"MatMul", compile_matmul},
    {"Gemm", compile_gemm},
    {"MatMulInteger", compile_matmul_integer},
    {"QLinearMatMul", compile_qlinear_matmul},
    {"Einsum", compile_einsum},
    {"Elu", compile_activation},
    {"Celu", compile_activation},
    {"LeakyRelu", compile_activation},
    {"ThresholdedRelu", compile_activation},
    {"Selu", compile_activation},
    {"HardSigmoid", compile_activation},
    {"Gelu", compile_activation},
    {"Swish", compile_activation},
    {"Shrink", compile_activation},
    {"IsInf", compile_activation},
    {"Clip", compile_clip},
    {"Add", compile_binary},
    {"Sub", compile_binary},
    {"Mul", compile_binary},
    {"Div", compile_binary},
    {"Max", compile_binary},
    {"Min", compile_binary},
    {"PRelu", compile_binary},
    {"Mod", compile_binary},
    {"And", compile_binary},
    {"Or", compile_binary},
    {"Xor", compile_binary},
    {"Equal", compile_binary},
    {"Less", compile_binary},
    {"LessOrEqual", compile_binary},
    {"Greater", compile_binary},
    {"GreaterOrEqual", compile_binary},
    {"BitwiseAnd", compile_binary},
    {"BitwiseOr", compile_binary},
    {"BitwiseXor", compile_binary},
    {"BitShift", compile_binary},
    {"Pow", compile_power},
    {"Where", compile_where},
    {"Cast", compile_cast},
    {"Softmax", compile_softmax},
    {"LogSoftmax", compile_softmax},
    {"Hardmax", compile_softmax},
    {"BatchNormalization", compile_batch_normalization},
    {"InstanceNormalization", compile_instance_normalization},
    {"GroupNormalization", compile_instance_normalization},
    {"LayerNormalization", compile_layer_normalization},
    {"RMSNormalization", compile_layer_normalization},
    {"LRN", compile_lrn},
    {"LpNormalization", compile_lp_normalization},
    {"MeanVarianceNormalization", compile_mean_variance_normalization},
    {"ReduceSum", compile_reduce},
    {"ReduceMean", compile_reduce},
    {"ReduceMax", compile_reduce},
    {"ReduceMin", compile_reduce},
    {"ReduceProd", compile_reduce},
    {"ReduceL1", compile_reduce},
    {"ReduceL2", compile_reduce},
    {"ReduceLogSum", compile_reduce},
    {"ReduceLogSumExp", compile_reduce},
    {"ReduceSumSquare", compile_reduce},
    {"ArgMax", compile_arg_reduce},
    {"ArgMin", compile_arg_reduce},
    {"CumSum", compile_cumsum},
    {"TopK", compile_top_k},
    {"Reshape", compile_reshape},
    {"Transpose", compile_transpose},
    {"Concat", compile_concat},
    {"Split", compile_split},
    {"Slice", compile_slice},
    {"Expand", compile_expand},
    {"Tile", compile_tile},
    {"DepthToSpace", compile_depth_to_space},
    {"SpaceToDepth", compile_space_to_depth},
    {"Pad", compile_pad},
    {"Trilu", compile_trilu},
    {"EyeLike", compile_eye_like},
    {"Gather", compile_gather},
    {"GatherElements", compile_gather_elements},
    {"GatherND", compile_gather_nd},
    {"ScatterElements", compile_scatter_elements},
    {"ScatterND", compile_scatter_nd},
    {"OneHot", compile_one_hot},
    {"Resize", compile_resize},
    {"GridSample", compile_grid_sample},
    {"LSTM", compile_lstm},
    {"GRU", compile_gru},
    {"RNN", compile_rnn},
    {"QuantizeLinear", compile_quantize_linear},
    {"DequantizeLinear", compile_dequantize_linear},
    {"DynamicQuantizeLinear", compile_dynamic_quantize_linear},
};

}  // namespace

std::unique_ptr<sdk::Kernel> compile_region(const sdk::RegionView& region,
                                            const sdk::CompileContext&) {
  const Operation op(region);
  if (!op.node().domain().empty()) {
    throw sdk::Decline(op.title() + ": unknown domain '" + std::string(op.node().domain()) + "'");
  }
  for (const Entry& entry : kOperators) {
    if (entry.op == op.node().op()) return make_kernel(region, entry.compile(op));
  }
  return make_kernel(region, compile_unary(op));  // declines what it does not know either
}

}  // namespace inlay::reference
