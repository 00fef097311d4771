#include "graphs/ir/infer.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "graphs/ir/op_table.h"

namespace inlay {
namespace {

using Ints = std::vector<std::int64_t>;

TensorType f32(Shape shape) { return {DType::kF32, std::move(shape)}; }
TensorType i64(Shape shape) { return {DType::kI64, std::move(shape)}; }
TensorType u8(Shape shape) { return {DType::kU8, std::move(shape)}; }
Attribute number(std::int64_t value) { return value; }
Attribute text(const char* value) { return std::string(value); }

// The output types, separated by spaces, or the message of the error, of a node named 'n' whose
// other attributes are ONNX's defaults.
std::string infer(const char* op, const std::vector<TensorType>& inputs, Attributes attributes = {},
                  int output_count = 1) {
  Node node;
  node.name = "n";
  node.op = op;
  node.attributes = std::move(attributes);
  try {
    fill_default_attributes(node, inputs);
    std::string result;
    for (const TensorType& type : infer_types(node, inputs, output_count)) {
      result += (result.empty() ? "" : " ") + to_string(type);
    }
    return result;
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(InferSpatial, ConvolutionsCountTheirWindows) {
  EXPECT_EQ(infer("Conv", {f32({1, 3, 224, 224}), f32({64, 3, 7, 7}), f32({64})},
                  {{"strides", Ints{2, 2}}, {"pads", Ints{3, 3, 3, 3}}}),
            "f32[1x64x112x112]");
  EXPECT_EQ(infer("Conv", {f32({1, 4, 10, 9}), f32({8, 2, 3, 2})},
                  {{"group", number(2)}, {"dilations", Ints{2, 3}}, {"pads", Ints{1, 0, 0, 2}}}),
            "f32[1x8x7x8]");
  EXPECT_EQ(infer("Conv", {f32({0, 3, 5}), f32({2, 3, 3})}), "f32[0x2x3]");
  EXPECT_EQ(infer("ConvTranspose", {f32({1, 6, 5, 5}), f32({6, 2, 3, 3})},
                  {{"strides", Ints{2, 2}},
                   {"pads", Ints{1, 1, 1, 1}},
                   {"output_padding", Ints{1, 0}},
                   {"group", number(3)}}),
            "f32[1x6x10x9]");
  EXPECT_EQ(infer("ConvInteger", {u8({1, 1, 4, 4}), u8({2, 1, 3, 3})}), "i32[1x2x2x2]");
  EXPECT_EQ(infer("QLinearConv", {u8({1, 1, 4, 4}),
                                  f32({}),
                                  u8({}),
                                  u8({2, 1, 3, 3}),
                                  f32({}),
                                  u8({}),
                                  f32({}),
                                  {DType::kI8, {}}}),
            "i8[1x2x2x2]");
}

TEST(InferSpatial, ConvolutionsSayWhatDoesNotFit) {
  const TensorType x = f32({1, 32, 8, 8});
  EXPECT_EQ(infer("Conv", {x, f32({16, 64, 3, 3})}),
            "Conv 'n': weight expects 64 input channels, input has 32");
  EXPECT_EQ(infer("Conv", {x, f32({16, 32, 9, 3})}),
            "Conv 'n': window of 9 does not fit extent 8 with padding 0 on axis 2");
  EXPECT_EQ(infer("Conv", {x, f32({16, 32, 3, 3}), f32({32})}), "Conv 'n': bias must be 16, is 32");
  EXPECT_EQ(infer("Conv", {x, f32({16, 32, 3, 3})}, {{"strides", Ints{1}}}),
            "Conv 'n': attribute 'strides' needs 2 entries, has 1");
  EXPECT_EQ(infer("Conv", {x, f32({16, 32, 3, 3})}, {{"strides", Ints{0, 1}}}),
            "Conv 'n': kernel_shape, strides and dilations must be positive on axis 2: 3, 0, 1");
  EXPECT_EQ(infer("Conv", {x, f32({16, 32, 3, 3})}, {{"kernel_shape", Ints{5, 5}}}),
            "Conv 'n': kernel_shape [5, 5] is not the weight's: 16x32x3x3");
  EXPECT_EQ(infer("Conv", {x, f32({16, 32, 3})}, {{"kernel_shape", Ints{3, 3}}}),
            "Conv 'n': weight 16x32x3 and input 1x32x8x8 differ in rank");
  EXPECT_EQ(infer("Conv", {x, {DType::kF16, {16, 32, 3, 3}}}),
            "Conv 'n': operand 1 is f16, operand 0 is f32");
  EXPECT_EQ(infer("Conv", {x, f32({15, 16, 3, 3})}, {{"group", number(2)}}),
            "Conv 'n': 15 output channels do not divide into 2 groups");
}

TEST(InferSpatial, CeilModeKeepsNoWindowThatStartsInTrailingPadding) {
  const auto pool = [](std::int64_t extent, std::int64_t kernel, std::int64_t stride,
                       std::int64_t pad, std::int64_t ceil_mode) {
    return infer("AveragePool", {f32({1, 1, extent})},
                 {{"kernel_shape", Ints{kernel}},
                  {"strides", Ints{stride}},
                  {"pads", Ints{pad, pad}},
                  {"ceil_mode", number(ceil_mode)}});
  };
  EXPECT_EQ(pool(6, 3, 2, 0, 0), "f32[1x1x2]");
  EXPECT_EQ(pool(6, 3, 2, 0, 1), "f32[1x1x3]");
  EXPECT_EQ(pool(4, 2, 3, 1, 1), "f32[1x1x2]");  // a third would start at 6, past 4 + 1
  EXPECT_EQ(infer("MaxPool", {f32({1, 2, 5, 5})}, {{"kernel_shape", Ints{2, 2}}}, 2),
            "f32[1x2x4x4] i64[1x2x4x4]");
}

TEST(InferSpatial, ResamplingAndRearranging) {
  EXPECT_EQ(infer("GlobalAveragePool", {f32({2, 7, 5, 4})}), "f32[2x7x1x1]");
  EXPECT_EQ(infer("DepthToSpace", {f32({1, 8, 2, 3})}, {{"blocksize", number(2)}}), "f32[1x2x4x6]");
  EXPECT_EQ(infer("SpaceToDepth", {f32({1, 2, 4, 6})}, {{"blocksize", number(2)}}), "f32[1x8x2x3]");
  EXPECT_EQ(infer("SpaceToDepth", {f32({1, 2, 4, 5})}, {{"blocksize", number(2)}}),
            "SpaceToDepth 'n': 4x5 does not divide into blocks of 2x2");
  EXPECT_EQ(infer("Resize", {f32({1, 1, 10, 3})}, {{"scales", std::vector<float>{1, 1, 0.7f, 2}}}),
            "f32[1x1x7x6]");
  EXPECT_EQ(infer("Resize", {f32({1, 1, 10})}, {{"scales", std::vector<float>{1, 1}}}),
            "Resize 'n': attribute 'scales' needs 3 entries, has 2");
  EXPECT_EQ(infer("GridSample", {f32({1, 3, 5, 5}), f32({1, 7, 8, 2})}), "f32[1x3x7x8]");
  EXPECT_EQ(infer("GridSample", {f32({1, 3, 5, 5}), f32({1, 7, 8, 3})}),
            "GridSample 'n': grid 1x7x8x3 does not fit 1x3x5x5: same batch and rank, last "
            "dimension 2");
}

TEST(InferMatrix, MatMulFollowsNumpy) {
  EXPECT_EQ(infer("MatMul", {f32({3, 4}), f32({4, 5})}), "f32[3x5]");
  EXPECT_EQ(infer("MatMul", {f32({4}), f32({4, 5})}), "f32[5]");
  EXPECT_EQ(infer("MatMul", {f32({3, 4}), f32({4})}), "f32[3]");
  EXPECT_EQ(infer("MatMul", {f32({4}), f32({4})}), "f32[scalar]");
  EXPECT_EQ(infer("MatMul", {f32({2, 1, 3, 4}), f32({7, 4, 5})}), "f32[2x7x3x5]");
  EXPECT_EQ(infer("MatMul", {f32({3, 4}), f32({5, 6})}),
            "MatMul 'n': inner dimensions differ: 3x4 times 5x6");
  EXPECT_EQ(infer("MatMul", {f32({2, 3, 4}), f32({3, 4, 5})}),
            "MatMul 'n': 2 and 3 do not broadcast");
  EXPECT_EQ(infer("MatMulInteger", {u8({3, 4}), {DType::kI8, {4, 5}}, u8({})}), "i32[3x5]");
}

TEST(InferMatrix, GemmTransposesAndBroadcastsC) {
  EXPECT_EQ(infer("Gemm", {f32({4, 3}), f32({5, 4}), f32({5})},
                  {{"transA", number(1)}, {"transB", number(1)}}),
            "f32[3x5]");
  EXPECT_EQ(infer("Gemm", {f32({3, 4}), f32({4, 5}), f32({3})}),
            "Gemm 'n': operand 2 is 3, which does not broadcast to 3x5");
  EXPECT_EQ(infer("Gemm", {f32({3, 4}), f32({5, 4})}),
            "Gemm 'n': inner dimensions differ: 3x4 times 5x4");
}

TEST(InferMatrix, EinsumReadsItsEquation) {
  const auto einsum = [](const char* equation, const std::vector<TensorType>& inputs) {
    return infer("Einsum", inputs, {{"equation", text(equation)}});
  };
  EXPECT_EQ(einsum("bij, bjk -> bik", {f32({2, 3, 4}), f32({2, 4, 5})}), "f32[2x3x5]");
  EXPECT_EQ(einsum("ij,jk", {f32({3, 4}), f32({4, 5})}), "f32[3x5]");
  EXPECT_EQ(einsum("ii", {f32({3, 3})}), "f32[scalar]");
  EXPECT_EQ(einsum("ba", {f32({2, 3})}), "f32[3x2]");
  EXPECT_EQ(einsum("...ij,...jk->...ik", {f32({7, 1, 3, 4}), f32({2, 4, 5})}), "f32[7x2x3x5]");
  EXPECT_EQ(einsum("ij,jk->ik", {f32({3, 4}), f32({6, 5})}),
            "Einsum 'n': dimension 'j' is 4 and 6");
  EXPECT_EQ(einsum("ij->ik", {f32({3, 4})}),
            "Einsum 'n': equation 'ij->ik': output 'k' is in no operand");
  EXPECT_EQ(einsum("ij,jk", {f32({3, 4})}),
            "Einsum 'n': equation 'ij,jk' has 2 operands, the node 1");
}

TEST(InferMath, ElementwiseBroadcastsAndChecksTypes) {
  EXPECT_EQ(infer("Add", {f32({2, 1, 4}), f32({3, 1})}), "f32[2x3x4]");
  EXPECT_EQ(infer("Add", {f32({0, 3}), f32({1, 3})}), "f32[0x3]");
  EXPECT_EQ(infer("Add", {f32({2, 3}), f32({2})}), "Add 'n': 2x3 and 2 do not broadcast");
  EXPECT_EQ(infer("Add", {f32({2}), i64({2})}), "Add 'n': operand 1 is i64, operand 0 is f32");
  EXPECT_EQ(infer("Pow", {f32({2}), i64({})}), "f32[2]");
  EXPECT_EQ(infer("Less", {i64({2}), i64({})}), "bool[2]");
  EXPECT_EQ(infer("And", {f32({2}), f32({2})}), "And 'n': operand 0 must be bool, is f32");
  EXPECT_EQ(infer("Where", {{DType::kBool, {2, 1}}, f32({3}), f32({})}), "f32[2x3]");
  EXPECT_EQ(infer("Sqrt", {i64({2})}), "Sqrt 'n': operand 0 must be of a float type, is i64");
  EXPECT_EQ(infer("IsNaN", {f32({2})}), "bool[2]");
  EXPECT_EQ(infer("Cast", {f32({2})}, {{"to", number(7)}}), "i64[2]");
  EXPECT_EQ(infer("Cast", {f32({2})}, {{"to", number(8)}}),
            "Cast 'n': attribute 'to' is 8, not an element type Inlay has");
  EXPECT_EQ(infer("PRelu", {f32({1, 3, 2, 2}), f32({3, 1, 1})}), "f32[1x3x2x2]");
  EXPECT_EQ(infer("PRelu", {f32({3}), f32({2, 3})}),
            "PRelu 'n': operand 1 is 2x3, which does not broadcast to 3");
  EXPECT_EQ(infer("Clip", {f32({2}), f32({3})}), "Clip 'n': bound min must be a scalar, is 3");
}

TEST(InferMath, ReductionsDropOrKeepTheirAxes) {
  const TensorType x = f32({2, 3, 4});
  EXPECT_EQ(infer("ReduceSum", {x}, {{"axes", Ints{0, 2}}}), "f32[1x3x1]");
  EXPECT_EQ(infer("ReduceMean", {x}, {{"axes", Ints{1}}, {"keepdims", number(0)}}), "f32[2x4]");
  EXPECT_EQ(infer("ReduceMax", {x}, {{"axes", Ints{}}}), "f32[2x3x4]");
  EXPECT_EQ(infer("ReduceMax", {x}, {{"axes", Ints{-1}}}),
            "ReduceMax 'n': axes [-1] must be ascending and lie in 0 to 2");
  EXPECT_EQ(infer("ArgMax", {x}, {{"axis", number(1)}, {"keepdims", number(0)}}), "i64[2x4]");
  EXPECT_EQ(infer("CumSum", {x}, {{"axis", number(3)}}),
            "CumSum 'n': attribute 'axis' is 3, must lie in 0 to 2");
}

TEST(InferMath, QuantizationTakesItsTypeFromZeroPointOrAttribute) {
  EXPECT_EQ(infer("DynamicQuantizeLinear", {f32({2, 3})}, {}, 3), "u8[2x3] f32[scalar] u8[scalar]");
  EXPECT_EQ(infer("QuantizeLinear", {f32({2, 3}), f32({}), {DType::kI8, {}}}), "i8[2x3]");
  EXPECT_EQ(infer("QuantizeLinear", {f32({2, 3}), f32({3})}, {{"to", number(3)}}), "i8[2x3]");
  EXPECT_EQ(infer("QuantizeLinear", {f32({2, 3}), f32({4})}),
            "QuantizeLinear 'n': scale must be 3, is 4");
  EXPECT_EQ(infer("DequantizeLinear", {u8({2, 3}), {DType::kF16, {}}}), "f16[2x3]");
  EXPECT_EQ(infer("DequantizeLinear", {u8({2, 6}), f32({2, 2})}, {{"block_size", number(3)}}),
            "f32[2x6]");
}

TEST(InferMovement, JoinsCutsAndTurns) {
  EXPECT_EQ(infer("Transpose", {f32({2, 3, 4})}, {{"perm", Ints{2, 0, 1}}}), "f32[4x2x3]");
  EXPECT_EQ(infer("Transpose", {f32({2, 3})}, {{"perm", Ints{0, 0}}}),
            "Transpose 'n': perm [0, 0] is not a permutation of 0 to 1");
  EXPECT_EQ(infer("Concat", {f32({2, 3}), f32({2, 4})}, {{"axis", number(1)}}), "f32[2x7]");
  EXPECT_EQ(infer("Concat", {f32({2, 3}), f32({3, 4})}, {{"axis", number(1)}}),
            "Concat 'n': operand 1 is 3x4, operand 0 is 2x3: they differ beside axis 1");
  EXPECT_EQ(infer("Split", {f32({5, 2})}, {{"split", Ints{2, 3}}}, 2), "f32[2x2] f32[3x2]");
  EXPECT_EQ(infer("Split", {f32({5, 2})}, {{"split", Ints{2, 2}}}, 2),
            "Split 'n': split [2, 2] must add up to 5, the extent of axis 0");
  EXPECT_EQ(infer("Tile", {f32({2, 3})}, {{"repeats", Ints{2, 0}}}), "f32[4x0]");
  EXPECT_EQ(infer("Pad", {f32({2, 3})}, {{"pads", Ints{1, -1, 0, -1}}}), "f32[3x1]");
  EXPECT_EQ(infer("Pad", {f32({2, 3})}, {{"pads", Ints{0, -2, 0, -2}}}),
            "Pad 'n': pads -2 and -2 take more than the 3 elements of axis 1");
  EXPECT_EQ(infer("Reshape", {f32({2})}),
            "Reshape 'n': its target is the type of its output, which must be given "
            "(GraphBuilder::reshape or node_with_types)");
}

TEST(InferMovement, SlicesCountInBothDirections) {
  const auto slice = [](std::int64_t start, std::int64_t end, std::int64_t step) {
    return infer(
        "Slice", {f32({7, 10})},
        {{"starts", Ints{start}}, {"ends", Ints{end}}, {"axes", Ints{1}}, {"steps", Ints{step}}});
  };
  EXPECT_EQ(slice(2, 9, 1), "f32[7x7]");
  EXPECT_EQ(slice(0, 10, 3), "f32[7x4]");
  EXPECT_EQ(slice(9, -1, -1), "f32[7x10]");
  EXPECT_EQ(slice(9, 0, -4), "f32[7x3]");
  EXPECT_EQ(slice(5, 5, 1), "f32[7x0]");
  EXPECT_EQ(slice(0, 11, 1),
            "Slice 'n': axis 1 has extent 10: start 0 and end 11 must lie in 0 to 10");
  EXPECT_EQ(slice(0, 4, 0), "Slice 'n': step of axis 1 is 0");
}

TEST(InferMovement, GathersAndScatters) {
  EXPECT_EQ(infer("Gather", {f32({5, 6, 7}), i64({2, 3})}, {{"axis", number(1)}}), "f32[5x2x3x7]");
  EXPECT_EQ(infer("Gather", {f32({5, 6}), i64({})}), "f32[6]");
  EXPECT_EQ(infer("Gather", {f32({5, 6}), f32({2})}),
            "Gather 'n': operand 1 must be i32 or i64, is f32");
  EXPECT_EQ(infer("GatherElements", {f32({5, 6}), i64({9, 6})}), "f32[9x6]");
  EXPECT_EQ(infer("GatherND", {f32({2, 3, 4}), i64({2, 5, 1})}, {{"batch_dims", number(1)}}),
            "f32[2x5x4]");
  EXPECT_EQ(infer("GatherND", {f32({2, 3}), i64({5, 3})}),
            "GatherND 'n': indices 5x3 with batch_dims 0 do not fit data 2x3");
  EXPECT_EQ(infer("ScatterND", {f32({4, 5}), i64({3, 1}), f32({3, 5})}), "f32[4x5]");
  EXPECT_EQ(infer("ScatterND", {f32({4, 5}), i64({3, 1}), f32({3, 4})}),
            "ScatterND 'n': updates must be 3x5, is 3x4");
  EXPECT_EQ(
      infer("ScatterElements", {f32({4, 5}), i64({2, 2}), f32({2, 2})},
            {{"reduction", text("xor")}}),
      "ScatterElements 'n': attribute 'reduction' is 'xor', must be none, add, mul, max or min");
  EXPECT_EQ(infer("TopK", {f32({3, 8})}, {{"axis", number(1)}, {"k", number(2)}}, 2),
            "f32[3x2] i64[3x2]");
  EXPECT_EQ(infer("TopK", {f32({3, 8})}, {{"axis", number(1)}, {"k", number(9)}}, 2),
            "TopK 'n': k is 9, axis 1 has 8 elements");
  EXPECT_EQ(infer("OneHot", {i64({2, 3}), f32({2})}, {{"axis", number(2)}, {"depth", number(5)}}),
            "f32[2x3x5]");
}

TEST(InferNormalization, ChecksTheParametersShapes) {
  const TensorType x = f32({1, 8, 4, 4});
  const TensorType c = f32({8});
  EXPECT_EQ(infer("BatchNormalization", {x, c, c, c, c}), "f32[1x8x4x4]");
  EXPECT_EQ(infer("BatchNormalization", {x, c, c, f32({4}), c}),
            "BatchNormalization 'n': mean must be 8, is 4");
  EXPECT_EQ(infer("GroupNormalization", {x, c, c}, {{"num_groups", number(3)}}),
            "GroupNormalization 'n': 8 channels do not divide into 3 groups");
  EXPECT_EQ(infer("LayerNormalization", {f32({2, 5, 8}), c, c}, {{"axis", number(2)}}),
            "f32[2x5x8]");
  EXPECT_EQ(infer("LayerNormalization", {f32({2, 5, 8}), f32({7})}, {{"axis", number(2)}}),
            "LayerNormalization 'n': operand 1 is 7, which does not broadcast to 2x5x8");
  EXPECT_EQ(infer("Softmax", {f32({2, 5})}, {{"axis", number(-1)}}),
            "Softmax 'n': attribute 'axis' is -1, must lie in 0 to 1");
}

TEST(InferRecurrent, ChecksWeightsAgainstGatesAndDirections) {
  const Attributes both = {{"hidden_size", number(4)}, {"direction", text("bidirectional")}};
  const TensorType x = f32({5, 2, 3});
  EXPECT_EQ(infer("LSTM", {x, f32({2, 16, 3}), f32({2, 16, 4}), f32({2, 32})}, both, 3),
            "f32[5x2x2x4] f32[2x2x4] f32[2x2x4]");
  EXPECT_EQ(infer("GRU", {x, f32({1, 12, 3}), f32({1, 12, 4})}, {{"hidden_size", number(4)}}, 2),
            "f32[5x1x2x4] f32[1x2x4]");
  EXPECT_EQ(infer("RNN", {x, f32({1, 4, 3}), f32({1, 4, 4})}, {{"hidden_size", number(4)}}),
            "f32[5x1x2x4]");
  EXPECT_EQ(infer("LSTM", {x, f32({1, 16, 3}), f32({2, 16, 4})}, both),
            "LSTM 'n': W must be 2x16x3, is 1x16x3");
  EXPECT_EQ(infer("GRU", {x, f32({1, 12, 3}), f32({1, 12, 4}), {}, i64({2})},
                  {{"hidden_size", number(4)}}),
            "GRU 'n': sequence_lens must be i32, is i64");
}

TEST(Infer, ChecksOperandsOutputsAndOperator) {
  EXPECT_EQ(infer("Add", {f32({1})}), "Add 'n': expected 2 operands, found 1");
  EXPECT_EQ(infer("Conv", {f32({1, 1, 1})}), "Conv 'n': expected 2 to 3 operands, found 1");
  EXPECT_EQ(infer("Add", {f32({1}), {}}), "Add 'n': operand 1 is needed and was left out");
  EXPECT_EQ(infer("Relu", {f32({1})}, {}, 2), "Relu 'n': expected 1 outputs, found 2");
  EXPECT_EQ(infer("Dropout", {f32({1})}), "Dropout 'n': not a canonical operator");
}

TEST(CheckOutputType, RefusesTargetsThatCannotBe) {
  const auto check = [](const char* op, const TensorType& from, const TensorType& to) {
    Node node;
    node.name = "n";
    node.op = op;
    try {
      check_output_type(node, {from}, to);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(check("Expand", f32({3, 1}), f32({2, 3, 4})), "");
  EXPECT_EQ(check("Expand", f32({3, 2}), f32({3, 4})),
            "Expand 'n': operand 0 is 3x2, which does not broadcast to 3x4");
  EXPECT_EQ(check("Reshape", f32({4}), i64({4})),
            "Reshape 'n': operand is f32[4], the target i64[4]");
  EXPECT_EQ(check("Resize", f32({1, 1, 4}), f32({1, 1})),
            "Resize 'n': 1x1x4 has rank 3, the target 1x1 has 2");
  EXPECT_EQ(check("Relu", f32({4}), i64({5})), "");  // not its business
}

}  // namespace
}  // namespace inlay
