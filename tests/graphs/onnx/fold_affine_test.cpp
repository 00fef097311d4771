#include "graphs/onnx/fold_affine.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <tuple>

#include "tests/graphs/onnx/model_builder.h"

namespace inlay {
namespace {

using Type = DType;

Tensor floats(const Shape& shape, const std::vector<float>& values) {
  return Tensor::from<float>(shape, values);
}

void add_norm(ModelBuilder& m, const std::string& x, const std::string& y) {
  m.node("BatchNormalization", {x, "scale", "shift", "mean", "var"}, {y}, {{"epsilon", 0.0f}});
}

ModelBuilder& add_parameters(ModelBuilder& m) {
  return m.constant("scale", floats({2}, {2, 3}))
      .constant("shift", floats({2}, {1, -1}))
      .constant("mean", floats({2}, {0.5f, 1}))
      .constant("var", floats({2}, {4, 0.25f}));  // standard deviations 2 and 1/2: factors 1 and 6
}

const Tensor& parameter(const Graph& graph, std::size_t i) {
  return *graph.value(graph.node(NodeId{0}).inputs[i]).constant;
}

TEST(FoldAffine, ConvTakesItsBatchNormalization) {
  ModelBuilder m(13);
  m.input("x", Type::kF32, Shape{1, 1, 2, 2}).constant("w", floats({2, 1, 1, 1}, {1, 2}));
  m.constant("b", floats({2}, {0.5f, 3}));
  add_parameters(m);
  m.node("Conv", {"x", "w", "b"}, {"c"});
  add_norm(m, "c", "y");
  m.output("y");
  const Imported imported = m.import();
  ASSERT_EQ(imported.graph.node_count(), 1);
  EXPECT_EQ(imported.graph.value(imported.graph.outputs()[0]).name, "y");
  EXPECT_EQ(parameter(imported.graph, 1), floats({2, 1, 1, 1}, {1, 12}));
  EXPECT_EQ(parameter(imported.graph, 2), floats({2}, {1, 11}));
  ASSERT_EQ(imported.rewrites.size(), 1u);
  EXPECT_EQ(imported.rewrites[0].kind, "fold-batch-norm");
  EXPECT_EQ(imported.rewrites[0].nodes, (std::vector<std::string>{"n_c", "n_y"}));
  EXPECT_TRUE(imported.rewrites[0].changes_rounding);

  ImportOptions off;
  off.fold_batch_norm = false;
  EXPECT_EQ(m.import(off).graph.node_count(), 2);
}

TEST(FoldAffine, GroupedTransposedConvScalesItsOwnChannels) {
  ModelBuilder m(13);
  // Two groups of one input and one output channel: the weight's rows are the channels.
  m.input("x", Type::kF32, Shape{1, 2, 2, 2}).constant("w", floats({2, 1, 1, 1}, {1, 2}));
  add_parameters(m);
  m.node("ConvTranspose", {"x", "w"}, {"c"}, {{"group", std::int64_t{2}}});
  add_norm(m, "c", "y");
  m.output("y");
  const Graph graph = m.import().graph;
  ASSERT_EQ(graph.node_count(), 1);
  EXPECT_EQ(parameter(graph, 1), floats({2, 1, 1, 1}, {1, 12}));
  EXPECT_EQ(parameter(graph, 2), floats({2}, {0.5f, -7}));
}

TEST(FoldAffine, GemmScalesColumns) {
  ModelBuilder m(13);
  m.input("x", Type::kF32, Shape{3, 2}).constant("w", floats({2, 2}, {1, 2, 3, 4}));
  m.constant("c", floats({1, 2}, {1, 1}));
  add_parameters(m);
  m.node("Gemm", {"x", "w", "c"}, {"g"}, {{"beta", 2.0f}});
  add_norm(m, "g", "y");
  m.output("y");
  const Graph graph = m.import().graph;
  ASSERT_EQ(graph.node_count(), 1);
  EXPECT_EQ(parameter(graph, 1), floats({2, 2}, {1, 12, 3, 24}));
  EXPECT_EQ(parameter(graph, 2), floats({2}, {2.5f, 5}));
  EXPECT_EQ(get_float(graph.node(NodeId{0}).attributes, "beta", 0), 1.0f);
}

TEST(FoldAffine, LeavesAConvThatSomethingElseReads) {
  ModelBuilder m(13);
  m.input("x", Type::kF32, Shape{1, 1, 2, 2}).constant("w", floats({2, 1, 1, 1}, {1, 2}));
  add_parameters(m);
  m.node("Conv", {"x", "w"}, {"c"});
  add_norm(m, "c", "y");
  m.output("y").output("c");
  EXPECT_EQ(m.import().graph.node_count(), 2);
}

TEST(FoldAffine, SharedWeightStaysForTheOthers) {
  ModelBuilder m(13);
  m.input("x", Type::kF32, Shape{1, 1, 2, 2}).constant("w", floats({2, 1, 1, 1}, {1, 2}));
  add_parameters(m);
  m.node("Conv", {"x", "w"}, {"c"});
  add_norm(m, "c", "y");
  m.node("Conv", {"x", "w"}, {"bare"}, {{"pads", ints({1, 1, 1, 1})}});
  m.output("y").output("bare");
  const Graph graph = m.import().graph;
  ASSERT_EQ(graph.node_count(), 2);
  EXPECT_EQ(*graph.value(graph.node(NodeId{1}).inputs[1]).constant, floats({2, 1, 1, 1}, {1, 2}));
}

TEST(FoldAffine, ChannelConstantBecomesBias) {
  for (const Shape& shape : {Shape{2, 1, 1}, Shape{1, 2, 1, 1}}) {
    ModelBuilder m(13);
    m.input("x", Type::kF32, Shape{1, 1, 2, 2}).constant("w", floats({2, 1, 1, 1}, {1, 2}));
    m.constant("k", floats(shape, {5, 6}));
    m.node("Conv", {"x", "w"}, {"c"});
    m.node("Add", {"k", "c"}, {"y"});
    m.output("y");
    const Imported imported = m.import();
    ASSERT_EQ(imported.graph.node_count(), 1);
    EXPECT_EQ(parameter(imported.graph, 2), floats({2}, {5, 6}));
    EXPECT_TRUE(imported.rewrites.at(0).changes_rounding);
  }
}

// A weight that overflows or vanishes would lose what the two operators together keep.
TEST(FoldAffine, WhatAWeightCannotHoldStaysOutside) {
  const auto nodes_after = [](float weight, float factor, float shift) {
    ModelBuilder m(13);
    m.input("x", Type::kF32, Shape{1, 1, 2, 2}).constant("w", floats({1, 1, 1, 1}, {weight}));
    m.constant("k", floats({1, 1, 1}, {factor})).constant("s", floats({1, 1, 1}, {shift}));
    m.node("Conv", {"x", "w"}, {"c"});
    m.node("Mul", {"c", "k"}, {"p"});
    m.node("Add", {"p", "s"}, {"y"});
    m.output("y");
    return m.import().graph.node_count();
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(nodes_after(2, 3, 4), 1);
  EXPECT_GT(nodes_after(1e20f, 1e30f, 4), 1);
  EXPECT_GT(nodes_after(1e-20f, 1e-30f, 4), 1);
  EXPECT_GT(nodes_after(2, kInfinity, 4), 1);
  EXPECT_GT(nodes_after(2, 3, kInfinity), 1);
  EXPECT_GT(nodes_after(2, std::numeric_limits<float>::quiet_NaN(), 4), 1);
}

Tensor halves(const Shape& shape, const std::vector<float>& values) {
  Tensor tensor = Tensor::zeros({DType::kF16, shape});
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t bits = f32_to_f16(values[i]);
    std::memcpy(tensor.mutable_bytes().data() + i * sizeof(bits), &bits, sizeof(bits));
  }
  return tensor;
}

// A Conv of two channels that are scaled before it or after it.
struct ScaledConv {
  DType dtype = DType::kF32;
  bool is_before = false;

  bool folds(const char* op, const std::vector<float>& weight,
             const std::vector<float>& factor) const {
    const auto tensor = dtype == DType::kF16 ? halves : floats;
    ModelBuilder m(13);
    m.input("x", dtype, Shape{1, 2, 2, 2}).constant("w", tensor({2, 2, 1, 1}, weight));
    m.constant("k", tensor({2, 1, 1}, factor));
    m.node(is_before ? op : "Conv", {"x", is_before ? "k" : "w"}, {"p"});
    m.node(is_before ? "Conv" : op, {"p", is_before ? "w" : "k"}, {"y"});
    m.output("y");
    return m.import().graph.node_count() == 1;
  }
};

// Where all that an output, or an input, is multiplied by becomes subnormal, the fold would lose
// what the two operators together keep.
TEST(FoldAffine, WeightsThatBecomeImpreciseStayOutside) {
  const std::vector<float> ones(4, 1);
  for (const bool is_before : {false, true}) {
    for (const auto& [dtype, small, large] :
         {std::tuple(DType::kF16, 0.0025f, 60000.0f), std::tuple(DType::kF32, 1e-20f, 2e38f)}) {
      const ScaledConv conv{dtype, is_before};
      SCOPED_TRACE(std::string(dtype == DType::kF16 ? "f16" : "f32") +
                   (is_before ? ", before" : ", after"));
      EXPECT_TRUE(conv.folds("Mul", ones, {1, small}));
      EXPECT_FALSE(conv.folds("Mul", std::vector<float>(4, small), {1, small}));
      EXPECT_FALSE(conv.folds("Div", ones, {1, large}));
      // One number beside others; numbers that are none to begin with.
      EXPECT_TRUE(conv.folds("Mul", {1, small, small, 1}, {small, small}));
      EXPECT_TRUE(conv.folds("Mul", {1, 1, 0, 0}, {small, small}));
      EXPECT_TRUE(conv.folds("Mul", ones, {1, 0}));
    }
    EXPECT_TRUE((ScaledConv{DType::kF32, is_before}.folds("Mul", ones, {1, 1e-41f})));
  }
}

TEST(FoldAffine, AChannelThatGivesItsShiftMayVanish) {
  for (const float shift : {0.5f, 1e-34f}) {
    ModelBuilder m(13);
    m.input("x", Type::kF32, Shape{1, 1, 2, 2}).constant("w", floats({2, 1, 1, 1}, {1e-20f, 1}));
    m.constant("scale", floats({2}, {1e-20f, 1})).constant("shift", floats({2}, {shift, 0}));
    m.constant("mean", floats({2}, {0, 0})).constant("var", floats({2}, {1, 1}));
    m.node("Conv", {"x", "w"}, {"c"});
    add_norm(m, "c", "y");
    m.output("y");
    EXPECT_EQ(m.import().graph.node_count(), shift == 0.5f ? 1 : 2);
  }
}

TEST(FoldAffine, AQuotientTooSmallForAScaleIsNoBatchNormalization) {
  for (const float divisor : {2.0f, 2e38f}) {
    ModelBuilder m(13);
    m.input("x", Type::kF32, Shape{1, 2, 2, 2}).constant("s", floats({2, 1, 1}, {2, divisor}));
    m.constant("k", floats({2, 1, 1}, {0, 1e-34f}));
    m.node("Div", {"x", "s"}, {"p"});
    m.node("Add", {"p", "k"}, {"y"});
    m.output("y");
    EXPECT_EQ(m.import().graph.node(NodeId{0}).op, divisor == 2 ? "BatchNormalization" : "Div");
  }
}

TEST(FoldAffine, LastAxisConstantIsNoBias) {
  ModelBuilder m(13);
  // As many channels as columns: only the position tells them apart.
  m.input("x", Type::kF32, Shape{1, 1, 2, 2}).constant("w", floats({2, 1, 1, 1}, {1, 2}));
  m.constant("k", floats({2}, {5, 6}));
  m.node("Conv", {"x", "w"}, {"c"});
  m.node("Add", {"c", "k"}, {"y"});
  m.output("y");
  EXPECT_EQ(m.import().graph.node_count(), 2);
}

// The batch normalization of a network whose exporter wrote it out.
TEST(FoldAffine, ConvTakesAChainOfArithmetic) {
  ModelBuilder m(13);
  m.input("x", Type::kF32, Shape{1, 1, 2, 2}).constant("w", floats({2, 1, 1, 1}, {1, 2}));
  m.constant("b", floats({2}, {1, 1})).constant("two", floats({}, {2}));
  m.constant("mean", floats({2, 1, 1}, {3, 4})).constant("scale", floats({1, 2, 1, 1}, {5, 6}));
  m.node("Conv", {"x", "w", "b"}, {"c"});
  m.node("Sub", {"c", "mean"}, {"centred"});
  m.node("Mul", {"scale", "centred"}, {"scaled"});
  m.node("Div", {"scaled", "two"}, {"halved"});
  m.node("Sub", {"mean", "halved"}, {"y"});
  m.output("y");
  const Imported imported = m.import();
  ASSERT_EQ(imported.graph.node_count(), 1);
  // y = mean - scale (x w + b - mean) / 2
  EXPECT_EQ(parameter(imported.graph, 1), floats({2, 1, 1, 1}, {-2.5f, -6}));
  EXPECT_EQ(parameter(imported.graph, 2), floats({2}, {8, 13}));
  std::vector<std::string> kinds;
  for (const Rewrite& r : imported.rewrites) kinds.push_back(r.kind);
  EXPECT_EQ(kinds,
            (std::vector<std::string>{"fold-bias", "fold-scale", "fold-scale", "fold-bias"}));
}

TEST(FoldAffine, QuotientOfAConstantStays) {
  ModelBuilder m(13);
  m.input("x", Type::kF32, Shape{1, 1, 2, 2}).constant("w", floats({2, 1, 1, 1}, {1, 2}));
  m.constant("two", floats({}, {2}));
  m.node("Conv", {"x", "w"}, {"c"});
  m.node("Div", {"two", "c"}, {"y"});
  m.output("y");
  EXPECT_EQ(m.import().graph.node_count(), 2);
}

TEST(FoldAffine, ConvTakesWhatIsDoneToItsInput) {
  ModelBuilder m(13);
  m.input("x", Type::kF32, Shape{1, 4, 2, 2});
  // Two groups of two input channels and one output channel.
  m.constant("w", floats({2, 2, 1, 1}, {1, 2, 3, 4})).constant("b", floats({2}, {1, 2}));
  m.constant("s", floats({4, 1, 1}, {1, 10, 100, 1000}))
      .constant("k", floats({4, 1, 1}, {1, 1, 2, 3}));
  m.node("Relu", {"x"}, {"r"});
  m.node("Mul", {"r", "s"}, {"scaled"});
  m.node("Add", {"k", "scaled"}, {"shifted"});
  m.node("Conv", {"shifted", "w", "b"}, {"y"}, {{"group", std::int64_t{2}}});
  m.output("y");
  const Graph graph = m.import().graph;
  ASSERT_EQ(graph.node_count(), 2) << graph.to_text();
  const Node& conv = graph.node(NodeId{1});
  EXPECT_EQ(*graph.value(conv.inputs[1]).constant, floats({2, 2, 1, 1}, {1, 20, 300, 4000}));
  EXPECT_EQ(*graph.value(conv.inputs[2]).constant, floats({2}, {1 + 1 + 2, 2 + 6 + 12}));
}

TEST(FoldAffine, LastFactorOfAnUnrolledActivationStays) {
  ModelBuilder m(13);
  m.input("x", Type::kF32, Shape{1, 1, 2, 2}).constant("w", floats({1, 1, 1, 1}, {3}));
  m.constant("six", floats({}, {6})).constant("s", floats({}, {2}));
  m.node("Sigmoid", {"x"}, {"gate"});
  m.node("Mul", {"x", "gate"}, {"product"});
  m.node("Div", {"product", "six"}, {"activation"});
  m.node("Mul", {"activation", "s"}, {"scaled"});
  m.node("Conv", {"scaled", "w"}, {"y"});
  m.output("y");
  const Graph graph = m.import().graph;
  ASSERT_EQ(graph.node_count(), 4) << graph.to_text();
  EXPECT_EQ(graph.node(NodeId{2}).op, "Div");
  EXPECT_EQ(*graph.value(graph.node(NodeId{3}).inputs[1]).constant, floats({1, 1, 1, 1}, {6}));
}

TEST(FoldAffine, ProductAndSumPerChannelAreABatchNormalization) {
  ModelBuilder m(13);
  m.input("x", Type::kF32, Shape{1, 2, 2, 2});
  m.constant("s", floats({2, 1, 1}, {2, 4})).constant("k", floats({1, 2, 1, 1}, {5, 6}));
  m.constant("three", floats({}, {3}));
  m.node("Mul", {"x", "s"}, {"scaled"});
  m.node("Sub", {"k", "scaled"}, {"shifted"});
  m.node("Relu", {"shifted"}, {"r"});
  m.node("Mul", {"r", "three"}, {"tripled"});  // one number for all: left alone
  m.node("Add", {"tripled", "three"}, {"y"});
  m.output("y");
  const Imported imported = m.import();
  const Graph& graph = imported.graph;
  ASSERT_EQ(graph.node_count(), 4) << graph.to_text();
  EXPECT_EQ(graph.node(NodeId{0}).op, "BatchNormalization");
  EXPECT_EQ(parameter(graph, 1), floats({2}, {-2, -4}));
  EXPECT_EQ(parameter(graph, 2), floats({2}, {5, 6}));
  EXPECT_EQ(parameter(graph, 3), floats({2}, {0, 0}));
  EXPECT_EQ(parameter(graph, 4), floats({2}, {1, 1}));
  EXPECT_EQ(get_float(graph.node(NodeId{0}).attributes, "epsilon", 1), 0.0f);
  ASSERT_EQ(imported.rewrites.size(), 1u);
  EXPECT_EQ(imported.rewrites[0].kind, "recognize-batch-norm");
  EXPECT_EQ(imported.rewrites[0].nodes, (std::vector<std::string>{"n_scaled", "n_shifted"}));
}

TEST(FoldAffine, BatchNormalizationTakesWhatFollowsIt) {
  ModelBuilder m(13);
  m.input("x", Type::kF32, Shape{1, 2, 2, 2});
  add_parameters(m);
  m.constant("s", floats({2, 1, 1}, {2, 4})).constant("k", floats({2, 1, 1}, {5, 6}));
  add_norm(m, "x", "n");
  m.node("Mul", {"n", "s"}, {"scaled"});
  m.node("Add", {"scaled", "k"}, {"y"});
  m.output("y");
  const Graph graph = m.import().graph;
  ASSERT_EQ(graph.node_count(), 1) << graph.to_text();
  EXPECT_EQ(parameter(graph, 1), floats({2}, {4, 12}));
  EXPECT_EQ(parameter(graph, 2), floats({2}, {7, 2}));
}

TEST(FoldAffine, PaddingIsScaledButNotAddedTo) {
  ModelBuilder m(13);
  m.input("x", Type::kF32, Shape{1, 1, 3, 3})
      .constant("w", floats({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}));
  m.constant("s", floats({}, {2})).constant("k", floats({}, {3}));
  m.node("Relu", {"x"}, {"r"});
  m.node("Mul", {"r", "s"}, {"scaled"});
  m.node("Conv", {"scaled", "w"}, {"c"}, {{"pads", ints({1, 1, 1, 1})}});
  m.node("Relu", {"c"}, {"r2"});
  m.node("Add", {"r2", "k"}, {"shifted"});
  m.node("Conv", {"shifted", "w"}, {"y"}, {{"pads", ints({1, 1, 1, 1})}});
  m.output("y");
  const Graph graph = m.import().graph;
  std::vector<std::string> ops;
  for (const Node& node : graph.nodes()) ops.push_back(node.op);
  EXPECT_EQ(ops, (std::vector<std::string>{"Relu", "Conv", "Relu", "Add", "Conv"}));
}

TEST(FoldAffine, ScalarConstantIsWidened) {
  ModelBuilder m(13);
  m.input("x", Type::kF32, Shape{1, 1, 2, 2}).constant("w", floats({2, 1, 1, 1}, {1, 2}));
  m.constant("k", floats({}, {5}));
  m.node("Conv", {"x", "w"}, {"c"});
  m.node("Add", {"k", "c"}, {"y"});
  m.output("y");
  const Graph graph = m.import().graph;
  ASSERT_EQ(graph.node_count(), 1);
  EXPECT_EQ(parameter(graph, 2), floats({2}, {5, 5}));
}

}  // namespace
}  // namespace inlay
