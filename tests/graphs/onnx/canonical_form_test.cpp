// Every form of an operator that the opsets know becomes the one of docs/operators.md.
#include <gtest/gtest.h>

#include <limits>

#include "tests/graphs/onnx/model_builder.h"

namespace inlay {
namespace {

using Type = DType;
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

// The text of the graph that one node on input x makes; further operands are constants c1, c2, …,
// where an empty tensor stands for an omitted one.
std::string canonical(std::int64_t opset, const std::string& op, const Shape& x,
                      const std::vector<Tensor>& operands, const Attributes& attributes,
                      int outputs = 1, Type dtype = Type::kF32) {
  ModelBuilder m(opset);
  m.input("x", dtype, x);
  std::vector<std::string> inputs{"x"};
  for (const Tensor& tensor : operands) {
    if (tensor.dtype() == Type::kNone) {
      inputs.push_back("");
      continue;
    }
    inputs.push_back("c" + std::to_string(inputs.size()));
    m.constant(inputs.back(), tensor);
  }
  std::vector<std::string> names;
  for (int i = 0; i < outputs; ++i) names.push_back(i == 0 ? "y" : "y" + std::to_string(i));
  m.node(op, inputs, names, attributes);
  for (const std::string& name : names) m.output(name);
  return m.import().graph.to_text();
}

Tensor f32(const Shape& shape) { return Tensor::zeros({Type::kF32, shape}); }
Tensor f32_scalar(float value) { return Tensor::from<float>({}, {value}); }

TEST(CanonicalConv, SamePaddingFollowsTheDilatedKernel) {
  const std::string upper =
      canonical(11, "Conv", {1, 1, 7, 8}, {f32({2, 1, 3, 2})},
                {{"auto_pad", text("SAME_UPPER")}, {"dilations", ints({2, 3})}});
  EXPECT_EQ(upper,
            "y: f32[1x2x7x8] = Conv(x, c1) {dilations=[2, 3], group=1, kernel_shape=[3, 2], "
            "pads=[2, 1, 2, 2], strides=[1, 1]}\n");
  const std::string lower =
      canonical(11, "Conv", {1, 1, 7, 8}, {f32({2, 1, 3, 2})},
                {{"auto_pad", text("SAME_LOWER")}, {"dilations", ints({2, 3})}});
  EXPECT_NE(lower.find("pads=[2, 2, 2, 1]"), std::string::npos) << lower;
}

TEST(CanonicalConv, TransposedOutputShapeBecomesPads) {
  const std::string text_form =
      canonical(11, "ConvTranspose", {1, 1, 3, 3}, {f32({1, 2, 3, 3})},
                {{"strides", ints({3, 2})}, {"output_shape", ints({8, 6})}});
  // Full sizes are 9 and 7: one too many each, and the odd one goes to the beginning.
  EXPECT_EQ(
      text_form,
      "y: f32[1x2x8x6] = ConvTranspose(x, c1) {dilations=[1, 1], group=1, kernel_shape=[3, 3], "
      "output_padding=[0, 0], pads=[1, 1, 0, 0], strides=[3, 2]}\n");
}

TEST(CanonicalPool, DefaultsAreWrittenOut) {
  EXPECT_EQ(canonical(8, "MaxPool", {1, 1, 4, 4}, {}, {{"kernel_shape", ints({2, 2})}}),
            "y: f32[1x1x3x3] = MaxPool(x) {ceil_mode=0, dilations=[1, 1], kernel_shape=[2, 2], "
            "pads=[0, 0, 0, 0], storage_order=0, strides=[1, 1]}\n");
}

TEST(CanonicalClip, OldAttributesAndNewOperandsAgree) {
  const std::string expected = "y: f32[3] = Clip(x) {max=6, min=0}\n";
  EXPECT_EQ(canonical(6, "Clip", {3}, {}, {{"min", 0.0f}, {"max", 6.0f}}), expected);
  EXPECT_EQ(canonical(13, "Clip", {3}, {f32_scalar(0), f32_scalar(6)}, {}), expected);
}

TEST(CanonicalClip, OmittedMinimumDoesNotBecomeMaximum) {
  EXPECT_EQ(canonical(13, "Clip", {3}, {Tensor(), f32_scalar(6)}, {}),
            "y: f32[3] = Clip(x) {max=6}\n");
}

TEST(CanonicalClip, IntegerBoundsStayOperands) {
  EXPECT_EQ(canonical(13, "Clip", {3}, {Tensor::from<std::int64_t>({}, {2})}, {}, 1, Type::kI64),
            "y: i64[3] = Clip(x, c1)\n");
}

TEST(CanonicalSoftmax, OldFormFlattensWhereItDiffers) {
  EXPECT_EQ(canonical(11, "Softmax", {2, 3, 4}, {}, {}),
            "n_y: f32[2x12] = Reshape(x)\n"
            "n_y_1: f32[2x12] = Softmax(n_y) {axis=1}\n"
            "y: f32[2x3x4] = Reshape(n_y_1)\n");
  EXPECT_EQ(canonical(11, "Softmax", {2, 3, 4}, {}, {{"axis", std::int64_t{2}}}),
            "y: f32[2x3x4] = Softmax(x) {axis=2}\n");
  EXPECT_EQ(canonical(13, "Softmax", {2, 3, 4}, {}, {}), "y: f32[2x3x4] = Softmax(x) {axis=2}\n");
}

TEST(CanonicalReduce, AxesComeFromAttributeOrOperand) {
  const std::string expected = "y: f32[2x1x1] = ReduceMean(x) {axes=[1, 2], keepdims=1}\n";
  EXPECT_EQ(canonical(13, "ReduceMean", {2, 3, 4}, {}, {{"axes", ints({-1, 1})}}), expected);
  EXPECT_EQ(canonical(18, "ReduceMean", {2, 3, 4}, {ints_tensor({-1, 1})}, {}), expected);
  EXPECT_EQ(canonical(18, "ReduceMean", {2, 3}, {}, {{"keepdims", std::int64_t{0}}}),
            "y: f32[scalar] = ReduceMean(x) {axes=[0, 1], keepdims=0}\n");
}

TEST(CanonicalReshape, AllItsKin) {
  const auto reshaped = [](const std::string& shape) {
    return "y: f32[" + shape + "] = Reshape(x)\n";
  };
  EXPECT_EQ(canonical(13, "Reshape", {2, 3, 4}, {ints_tensor({0, -1})}, {}), reshaped("2x12"));
  EXPECT_EQ(canonical(13, "Flatten", {2, 3, 4}, {}, {{"axis", std::int64_t{2}}}), reshaped("6x4"));
  EXPECT_EQ(canonical(11, "Squeeze", {2, 1, 4}, {}, {{"axes", ints({-2})}}), reshaped("2x4"));
  EXPECT_EQ(canonical(13, "Squeeze", {2, 1, 1}, {}, {}), reshaped("2"));
  EXPECT_EQ(canonical(13, "Unsqueeze", {2, 3}, {ints_tensor({0, -1})}, {}), reshaped("1x2x3x1"));
  EXPECT_EQ(
      canonical(14, "Reshape", {0, 3}, {ints_tensor({3, 0})}, {{"allowzero", std::int64_t{1}}}),
      reshaped("3x0"));
}

TEST(CanonicalSlice, ReversesWithTheSmallestInteger) {
  EXPECT_EQ(
      canonical(13, "Slice", {4},
                {ints_tensor({-1}), ints_tensor({kMin}), ints_tensor({0}), ints_tensor({-1})}, {}),
      "y: f32[4] = Slice(x) {axes=[0], ends=[-1], starts=[3], steps=[-1]}\n");
}

TEST(CanonicalSlice, ClampsAndSortsAxes) {
  EXPECT_EQ(
      canonical(9, "Slice", {4, 5}, {},
                {{"axes", ints({1, 0})}, {"starts", ints({1, -3})}, {"ends", ints({kMax, -1})}}),
      "y: f32[2x4] = Slice(x) {axes=[0, 1], ends=[3, 5], starts=[1, 1], steps=[1, 1]}\n");
}

TEST(CanonicalSlice, StepBeyondTheEndTakesOneElement) {
  EXPECT_EQ(
      canonical(13, "Slice", {4},
                {ints_tensor({1}), ints_tensor({kMax}), ints_tensor({0}), ints_tensor({kMax})}, {}),
      "y: f32[1] = Slice(x) {axes=[0], ends=[4], starts=[1], steps=[5]}\n");
}

TEST(CanonicalPad, AxesAndNegativeAmounts) {
  EXPECT_EQ(
      canonical(18, "Pad", {4, 5}, {ints_tensor({-1, 2}), f32_scalar(3), ints_tensor({-1})}, {}),
      "y: f32[4x6] = Pad(x) {mode=\"constant\", pads=[0, -1, 0, 2], value=3}\n");
}

TEST(CanonicalSplit, EqualAndUnequalParts) {
  EXPECT_EQ(canonical(11, "Split", {6}, {}, {}, 3),
            "y: f32[2], y1: f32[2], y2: f32[2] = Split(x) {axis=0, split=[2, 2, 2]}\n");
  EXPECT_EQ(canonical(18, "Split", {7}, {}, {{"num_outputs", std::int64_t{3}}}, 3),
            "y: f32[3], y1: f32[3], y2: f32[1] = Split(x) {axis=0, split=[3, 3, 1]}\n");
}

TEST(CanonicalTopK, CountComesFromAttributeOrOperand) {
  const std::string expected =
      "y: f32[2], y1: i64[2] = TopK(x) {axis=0, k=2, largest=1, sorted=1}\n";
  EXPECT_EQ(canonical(9, "TopK", {5}, {}, {{"k", std::int64_t{2}}}, 2), expected);
  EXPECT_EQ(canonical(11, "TopK", {5}, {ints_tensor({2})}, {}, 2), expected);
}

TEST(CanonicalResize, SizesBecomeScales) {
  EXPECT_EQ(
      canonical(13, "Resize", {1, 1, 2, 4}, {Tensor(), Tensor(), ints_tensor({1, 1, 3, 4})},
                {{"mode", text("linear")}}),
      "y: f32[1x1x3x4] = Resize(x) {antialias=0, "
      "coordinate_transformation_mode=\"half_pixel\", cubic_coeff_a=-0.75, exclude_outside=0, "
      "extrapolation_value=0, mode=\"linear\", nearest_mode=\"round_prefer_floor\", "
      "scales=[1, 1, 1.5, 1]}\n");
}

TEST(CanonicalResize, UpsampleIsAsymmetricAndRoundsDown) {
  const std::string result =
      canonical(7, "Upsample", {1, 1, 2, 2}, {}, {{"scales", std::vector<float>{1, 1, 2, 2}}});
  EXPECT_NE(result.find("y: f32[1x1x4x4] = Resize(x)"), std::string::npos) << result;
  EXPECT_NE(result.find("coordinate_transformation_mode=\"asymmetric\""), std::string::npos);
  EXPECT_NE(result.find("nearest_mode=\"floor\""), std::string::npos);
}

TEST(CanonicalResize, KeepsTheAspectRatio) {
  const std::string result =
      canonical(18, "Resize", {1, 1, 2, 4}, {Tensor(), Tensor(), ints_tensor({6, 6})},
                {{"axes", ints({2, 3})}, {"keep_aspect_ratio_policy", text("not_larger")}});
  EXPECT_NE(result.find("y: f32[1x1x3x6]"), std::string::npos) << result;
  EXPECT_NE(result.find("scales=[1, 1, 1.5, 1.5]"), std::string::npos) << result;
}

TEST(CanonicalChain, SumGoesLeftToRight) {
  ModelBuilder m(13);
  for (const char* name : {"a", "b", "c"}) m.input(name, Type::kF32, Shape{2});
  m.node("Mean", {"a", "b", "c"}, {"y"});
  m.output("y");
  EXPECT_EQ(
      m.import().graph.to_text(),
      "n_y: f32[2] = Add(a, b)\nn_y_1: f32[2] = Add(n_y, c)\ny: f32[2] = Mul(n_y_1, n_y.1)\n");
}

TEST(CanonicalLstm, BatchFirstBecomesTransposes) {
  ModelBuilder m(14);
  m.input("x", Type::kF32, Shape{2, 5, 3});
  m.constant("w", f32({1, 16, 3})).constant("r", f32({1, 16, 4}));
  m.node("LSTM", {"x", "w", "r"}, {"y", "", "c"}, {{"layout", std::int64_t{1}}});
  m.output("y").output("c");
  EXPECT_EQ(m.import().graph.to_text(),
            "n_y: f32[5x2x3] = Transpose(x) {perm=[1, 0, 2]}\n"
            "n_y_1: f32[5x1x2x4], _, n_y_1_2: f32[1x2x4] = LSTM(n_y, w, r) {activation_alpha=[], "
            "activation_beta=[], activations=[Sigmoid, Tanh, Tanh], clip=0, direction=\"forward\", "
            "hidden_size=4, input_forget=0}\n"
            "y: f32[2x5x1x4] = Transpose(n_y_1) {perm=[2, 0, 1, 3]}\n"
            "c: f32[2x1x4] = Reshape(n_y_1_2)\n");
}

TEST(CanonicalGroupNormalization, ScalesPerGroupBecomePerChannel) {
  const Tensor per_group = Tensor::from<float>({2}, {1, 2});
  const std::string result = canonical(18, "GroupNormalization", {1, 4, 3}, {per_group, per_group},
                                       {{"num_groups", std::int64_t{2}}});
  EXPECT_NE(result.find("Expand"), std::string::npos) << result;
  const Tensor per_channel = f32({4});
  const Tensor bias_per_channel = Tensor::from<float>({4}, {1, 1, 1, 1});
  EXPECT_EQ(canonical(21, "GroupNormalization", {1, 4, 3}, {per_channel, bias_per_channel},
                      {{"num_groups", std::int64_t{2}}}),
            "y: f32[1x4x3] = GroupNormalization(x, c1, c2) {epsilon=1e-05, num_groups=2}\n");
}

TEST(CanonicalBinary, OldBroadcastAlignsAtItsAxis) {
  EXPECT_EQ(canonical(6, "Add", {2, 3, 4}, {f32({3})},
                      {{"broadcast", std::int64_t{1}}, {"axis", std::int64_t{1}}}),
            "y: f32[2x3x4] = Add(x, n_y.1)\n");
}

TEST(CanonicalGenerators, ShapesAreFoldedWithoutAnEvaluator) {
  ModelBuilder m(15);
  m.input("x", Type::kF32, Shape{2, 3, 4});
  m.node("Shape", {"x"}, {"s"}, {{"start", std::int64_t{-2}}});
  m.node("ConstantOfShape", {"s"}, {"z"}, {{"value", Tensor::from<float>({1}, {2.5f})}});
  m.node("Add", {"x", "z"}, {"y"});
  m.output("y");
  const Graph graph = m.import().graph;
  ASSERT_EQ(graph.to_text(), "y: f32[2x3x4] = Add(x, z)\n");
  const Tensor& z = *graph.value(graph.node(NodeId{0}).inputs[1]).constant;
  EXPECT_EQ(z, Tensor::from<float>({3, 4}, std::vector<float>(12, 2.5f)));
}

TEST(CanonicalGenerators, RangeCountsDown) {
  ModelBuilder m(13);
  const auto number = [](std::int64_t v) { return Tensor::from<std::int64_t>({}, {v}); };
  m.constant("a", number(10)).constant("b", number(3)).constant("c", number(-3));
  m.node("Range", {"a", "b", "c"}, {"y"});
  m.output("y");
  const Graph graph = m.import().graph;
  EXPECT_EQ(*graph.value(graph.outputs()[0]).constant, ints_tensor({10, 7, 4}));
}

TEST(CanonicalIdentity, NodesThatDoNothingAreDropped) {
  ModelBuilder m(13);
  m.input("x", Type::kF32, Shape{2, 3});
  m.node("Identity", {"x"}, {"a"});
  m.node("Dropout", {"a"}, {"b"});
  m.node("Cast", {"b"}, {"c"}, {{"to", std::int64_t{1}}});
  m.node("Transpose", {"c"}, {"d"}, {{"perm", ints({0, 1})}});
  m.constant("pads", ints_tensor({0, 0, 0, 0}));
  m.node("Pad", {"d", "pads"}, {"e"});
  m.node("Relu", {"e"}, {"y"});
  m.output("y");
  const Imported imported = m.import();
  EXPECT_EQ(imported.graph.to_text(), "y: f32[2x3] = Relu(x)\n");
  ASSERT_EQ(imported.rewrites.size(), 1u);
  EXPECT_EQ(imported.rewrites[0].kind, "remove-identity");
  EXPECT_EQ(imported.rewrites[0].nodes,
            (std::vector<std::string>{"n_a", "n_b", "n_c", "n_d", "n_e"}));
}

TEST(CanonicalIdentity, NeighboursOfOneKindBecomeOne) {
  ModelBuilder m(13);
  m.input("x", Type::kF32, Shape{2, 3, 4});
  m.node("Transpose", {"x"}, {"a"}, {{"perm", ints({0, 2, 1})}});
  m.node("Transpose", {"a"}, {"b"}, {{"perm", ints({1, 0, 2})}});
  m.node("Transpose", {"a"}, {"back"}, {{"perm", ints({0, 2, 1})}});
  m.node("Flatten", {"back"}, {"flat"});
  m.constant("axes", ints_tensor({0}));
  m.node("Unsqueeze", {"flat", "axes"}, {"wide"});
  m.output("b").output("wide");
  EXPECT_EQ(m.import().graph.to_text(),
            "b: f32[4x2x3] = Transpose(x) {perm=[2, 0, 1]}\nwide: f32[1x2x12] = Reshape(x)\n");
}

}  // namespace
}  // namespace inlay
