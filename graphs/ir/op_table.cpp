#include "graphs/ir/op_table.h"

#include <string>
#include <unordered_map>

namespace inlay {
namespace {

constexpr int kAny = -1;

constexpr std::string_view kWindow =
    "kernel_shape:ints strides:ints=ones pads:ints=zeros dilations:ints=ones group:int=1";
constexpr std::string_view kReduce = "axes:ints=all keepdims:int=1";
constexpr std::string_view kArg = "axis:int=0 keepdims:int=1 select_last_index:int=0";
constexpr std::string_view kAlpha = "alpha:float=1";

constexpr OpInfo elementwise(std::string_view name, std::string_view attributes = {}) {
  return {name, 1, 1, 1, 1, false, true, false, attributes};
}
constexpr OpInfo binary(std::string_view name, bool is_commutative = false,
                        std::string_view attributes = {}) {
  return {name, 2, 2, 1, 1, is_commutative, true, false, attributes};
}
constexpr OpInfo plain(std::string_view name, int min_inputs, int max_inputs,
                       std::string_view attributes = {}, int min_outputs = 1, int max_outputs = 1) {
  return {name, min_inputs, max_inputs, min_outputs, max_outputs, false, false, false, attributes};
}

constexpr OpInfo kOps[] = {
    // Spatial
    plain("Conv", 2, 3, kWindow),
    plain("ConvInteger", 2, 4, kWindow),
    plain("QLinearConv", 8, 9, kWindow),
    plain("ConvTranspose", 2, 3,
          "kernel_shape:ints strides:ints=ones pads:ints=zeros dilations:ints=ones group:int=1 "
          "output_padding:ints=zeros"),
    plain("MaxPool", 1, 1,
          "kernel_shape:ints strides:ints=ones pads:ints=zeros dilations:ints=ones "
          "ceil_mode:int=0 storage_order:int=0",
          1, 2),
    plain("AveragePool", 1, 1,
          "kernel_shape:ints strides:ints=ones pads:ints=zeros dilations:ints=ones "
          "ceil_mode:int=0 count_include_pad:int=0"),
    plain("LpPool", 1, 1,
          "kernel_shape:ints strides:ints=ones pads:ints=zeros dilations:ints=ones "
          "ceil_mode:int=0 p:int=2"),
    plain("GlobalAveragePool", 1, 1),
    plain("GlobalMaxPool", 1, 1),
    plain("DepthToSpace", 1, 1, "blocksize:int mode:string=DCR"),
    plain("SpaceToDepth", 1, 1, "blocksize:int"),
    plain("Resize", 1, 1,
          "mode:string=nearest coordinate_transformation_mode:string=half_pixel "
          "nearest_mode:string=round_prefer_floor scales:floats cubic_coeff_a:float=-0.75 "
          "extrapolation_value:float=0 exclude_outside:int=0 antialias:int=0 roi:floats?"),
    plain("GridSample", 2, 2, "mode:string=linear padding_mode:string=zeros align_corners:int=0"),
    plain("LRN", 1, 1, "alpha:float=0.0001 beta:float=0.75 bias:float=1 size:int"),
    // Normalization
    plain("BatchNormalization", 5, 5, "epsilon:float=1e-5"),
    plain("InstanceNormalization", 3, 3, "epsilon:float=1e-5"),
    plain("GroupNormalization", 3, 3, "num_groups:int epsilon:float=1e-5"),
    plain("LayerNormalization", 2, 3, "axis:int epsilon:float=1e-5"),
    plain("RMSNormalization", 2, 2, "axis:int epsilon:float=1e-5"),
    plain("LpNormalization", 1, 1, "axis:int p:int=2"),
    plain("MeanVarianceNormalization", 1, 1, "axes:ints"),
    plain("Softmax", 1, 1, "axis:int"),
    plain("LogSoftmax", 1, 1, "axis:int"),
    plain("Hardmax", 1, 1, "axis:int"),
    // Matrices
    plain("Gemm", 2, 3, "alpha:float=1 beta:float=1 transA:int=0 transB:int=0"),
    plain("MatMul", 2, 2),
    plain("MatMulInteger", 2, 4),
    plain("QLinearMatMul", 8, 8),
    plain("Einsum", 1, kAny, "equation:string"),
    // Elementwise, one operand
    elementwise("Relu"),
    elementwise("Sigmoid"),
    elementwise("Tanh"),
    elementwise("Erf"),
    elementwise("Sqrt"),
    elementwise("Exp"),
    elementwise("Log"),
    elementwise("Neg"),
    elementwise("Abs"),
    elementwise("Floor"),
    elementwise("Ceil"),
    elementwise("Round"),
    elementwise("Sign"),
    elementwise("Reciprocal"),
    elementwise("Sin"),
    elementwise("Cos"),
    elementwise("Tan"),
    elementwise("Asin"),
    elementwise("Acos"),
    elementwise("Atan"),
    elementwise("Sinh"),
    elementwise("Cosh"),
    elementwise("Asinh"),
    elementwise("Acosh"),
    elementwise("Atanh"),
    elementwise("Softplus"),
    elementwise("Softsign"),
    elementwise("HardSwish"),
    elementwise("Mish"),
    elementwise("Not"),
    elementwise("BitwiseNot"),
    elementwise("IsNaN"),
    elementwise("Elu", kAlpha),
    elementwise("Celu", kAlpha),
    elementwise("LeakyRelu", "alpha:float=0.01"),
    elementwise("ThresholdedRelu", kAlpha),
    elementwise("Selu", "alpha:float=1.67326319 gamma:float=1.05070102"),
    elementwise("HardSigmoid", "alpha:float=0.2 beta:float=0.5"),
    elementwise("Gelu", "approximate:string=none"),
    elementwise("Swish", kAlpha),
    elementwise("Shrink", "lambd:float=0.5 bias:float=0"),
    elementwise("IsInf", "detect_negative:int=1 detect_positive:int=1"),
    elementwise("Cast", "to:int saturate:int=1"),
    {"Clip", 1, 3, 1, 1, false, true, false, "min:float? max:float?"},
    // Elementwise, several operands
    binary("PRelu"),
    binary("Add", true),
    binary("Sub"),
    binary("Mul", true),
    binary("Div"),
    binary("Pow"),
    binary("Max", true),
    binary("Min", true),
    binary("And", true),
    binary("Or", true),
    binary("Xor", true),
    binary("Equal", true),
    binary("Less"),
    binary("LessOrEqual"),
    binary("Greater"),
    binary("GreaterOrEqual"),
    binary("BitwiseAnd", true),
    binary("BitwiseOr", true),
    binary("BitwiseXor", true),
    binary("Mod", false, "fmod:int=0"),
    binary("BitShift", false, "direction:string"),
    {"Where", 3, 3, 1, 1, false, true, false, ""},
    // Reductions and scans
    plain("ReduceSum", 1, 1, kReduce),
    plain("ReduceMean", 1, 1, kReduce),
    plain("ReduceMax", 1, 1, kReduce),
    plain("ReduceMin", 1, 1, kReduce),
    plain("ReduceProd", 1, 1, kReduce),
    plain("ReduceL1", 1, 1, kReduce),
    plain("ReduceL2", 1, 1, kReduce),
    plain("ReduceLogSum", 1, 1, kReduce),
    plain("ReduceLogSumExp", 1, 1, kReduce),
    plain("ReduceSumSquare", 1, 1, kReduce),
    plain("ArgMax", 1, 1, kArg),
    plain("ArgMin", 1, 1, kArg),
    plain("CumSum", 1, 1, "axis:int exclusive:int=0 reverse:int=0"),
    plain("TopK", 1, 1, "axis:int k:int largest:int=1 sorted:int=1", 2, 2),
    // Movement
    {"Reshape", 1, 1, 1, 1, false, false, true, ""},
    plain("Transpose", 1, 1, "perm:ints=reversed"),
    plain("Concat", 1, kAny, "axis:int"),
    plain("Split", 1, 1, "axis:int=0 split:ints", 1, kAny),
    plain("Slice", 1, 1, "starts:ints axes:ints steps:ints ends:ints"),
    plain("Pad", 1, 2, "pads:ints mode:string=constant value:float=0"),
    plain("Gather", 2, 2, "axis:int=0"),
    plain("GatherElements", 2, 2, "axis:int=0"),
    plain("GatherND", 2, 2, "batch_dims:int=0"),
    plain("ScatterElements", 3, 3, "axis:int=0 reduction:string=none"),
    plain("ScatterND", 3, 3, "reduction:string=none"),
    plain("Expand", 1, 1),
    plain("Tile", 1, 1, "repeats:ints"),
    plain("OneHot", 2, 2, "axis:int depth:int"),
    plain("Trilu", 1, 1, "upper:int=1 k:int=0"),
    plain("EyeLike", 1, 1, "dtype:int=1 k:int=0"),
    plain("Convert", 1, 1),
    // Recurrent
    plain("LSTM", 3, 8,
          "hidden_size:int direction:string=forward activations:strings=lstm "
          "activation_alpha:floats=empty activation_beta:floats=empty clip:float=0 "
          "input_forget:int=0",
          1, 3),
    plain("GRU", 3, 6,
          "hidden_size:int direction:string=forward activations:strings=gru "
          "activation_alpha:floats=empty activation_beta:floats=empty clip:float=0 "
          "linear_before_reset:int=0",
          1, 2),
    plain("RNN", 3, 6,
          "hidden_size:int direction:string=forward activations:strings=rnn "
          "activation_alpha:floats=empty activation_beta:floats=empty clip:float=0",
          1, 2),
    // Quantization
    plain("DynamicQuantizeLinear", 1, 1, "", 3, 3),
    plain("QuantizeLinear", 2, 3, "axis:int=1 block_size:int=0 saturate:int=1 to:int=0"),
    plain("DequantizeLinear", 2, 3, "axis:int=1 block_size:int=0"),
};

}  // namespace

const OpInfo* find_op(std::string_view name) {
  static const auto index = [] {
    std::unordered_map<std::string_view, const OpInfo*> map;
    for (const OpInfo& op : kOps) map.emplace(op.name, &op);
    return map;
  }();
  const auto it = index.find(name);
  return it == index.end() ? nullptr : it->second;
}

std::span<const OpInfo> all_ops() { return kOps; }

}  // namespace inlay
