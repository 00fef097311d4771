// The oracle: every canonical operator in plain code, sums in double. Other plugins are verified
// against it, and it runs what no other can.
#include "core/sdk/plugin.h"

#include "plugins/reference/compile.h"

namespace {

using inlay::sdk::Pattern;
using inlay::sdk::PluginInfo;

constexpr Pattern kPatterns[] = {
    {.id = "movement",
     .ops = "Reshape Transpose Concat Split Slice Expand Tile DepthToSpace SpaceToDepth Pad Trilu "
            "EyeLike Gather "
            "GatherElements GatherND ScatterElements ScatterND OneHot Where TopK ArgMax ArgMin "
            "Hardmax",
     .tolerance = "exact"},
    {.id = "logic",
     .ops = "Relu Neg Abs Floor Ceil Round Sign Not BitwiseNot IsNaN IsInf Clip Max Min And Or Xor "
            "Equal Less "
            "LessOrEqual Greater GreaterOrEqual BitwiseAnd BitwiseOr BitwiseXor BitShift MaxPool "
            "GlobalMaxPool "
            "ReduceMax ReduceMin MatMulInteger ConvInteger Cast",
     .tolerance = "exact"},
    {.id = "arithmetic",
     .ops =
         "Add Sub Mul Div Mod PRelu LeakyRelu ThresholdedRelu Shrink HardSigmoid HardSwish Sqrt "
         "Reciprocal "
         "Softsign QuantizeLinear DequantizeLinear DynamicQuantizeLinear QLinearMatMul QLinearConv",
     .tolerance = "elementwise"},
    {.id = "transcendental",
     .ops = "Sigmoid Tanh Erf Exp Log Pow Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh "
            "Softplus Mish Elu "
            "Celu Selu Gelu Swish",
     .tolerance = "transcendental"},
    {.id = "sums",
     .ops = "Conv ConvTranspose AveragePool LpPool GlobalAveragePool BatchNormalization "
            "InstanceNormalization "
            "GroupNormalization LayerNormalization RMSNormalization LRN LpNormalization "
            "MeanVarianceNormalization Gemm "
            "MatMul Einsum Softmax LogSoftmax ReduceSum ReduceMean ReduceProd ReduceL1 ReduceL2 "
            "ReduceLogSum "
            "ReduceLogSumExp ReduceSumSquare CumSum Resize GridSample LSTM GRU RNN",
     .tolerance = "accum"},
};

}  // namespace

INLAY_PLUGIN((PluginInfo{.name = "reference", .version = "1.0"}), kPatterns,
             inlay::reference::compile_region);
