#include "graphs/onnx/sink_transposes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/graphs/onnx/model_builder.h"
#include "tests/graphs/reference_run.h"

namespace inlay {
namespace {

class SinkTransposes : public testing::Test {
 protected:
  SinkTransposes() : host_(log_, {.search_path = {INLAY_PLUGIN_DIR "/reference.so"}}) {}

  static Graph import(const ModelBuilder& m, bool sinks) {
    ImportOptions options;
    options.fold_batch_norm = false;
    options.sink_transposes = sinks;
    return m.import(options).graph;
  }

  // Sinking must not change what the model computes; `tolerance` is for reductions, whose elements
  // come in another order. Returns the graph with its transposes sunk.
  Graph expect_same(const ModelBuilder& m, double tolerance = 0) {
    const Graph before = import(m, false);
    Graph after = import(m, true);
    std::vector<Tensor> inputs;
    for (const ValueId id : before.inputs()) {
      inputs.push_back(normal_tensor(before.value(id).type.shape, 7 + inputs.size()));
    }
    const std::vector<Tensor> expected = run_on_reference(before, inputs, host_);
    const std::vector<Tensor> found = run_on_reference(after, inputs, host_);
    EXPECT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
      EXPECT_EQ(found[i].type(), expected[i].type());
      const auto a = expected[i].as<float>();
      const auto b = found[i].as<float>();
      for (std::size_t k = 0; k < std::min(a.size(), b.size()); ++k) {
        EXPECT_NEAR(b[k], a[k], tolerance) << after.to_text();
      }
    }
    return after;
  }

  static int count(const Graph& graph, const char* op) {
    return static_cast<int>(std::count_if(graph.nodes().begin(), graph.nodes().end(),
                                          [&](const Node& node) { return node.op == op; }));
  }

  static Attribute to_last() { return ints({0, 2, 3, 1}); }
  static Attribute to_second() { return ints({0, 3, 1, 2}); }

  NullLog log_;
  PluginHost host_;
};

TEST_F(SinkTransposes, TwoCancelAcrossElementwiseOperators) {
  ModelBuilder m(13);
  m.input("x", DType::kF32, Shape{2, 3, 4, 5}).constant("c", normal_tensor({3}, 1));
  m.constant("k", normal_tensor({4, 5, 1}, 2));
  m.node("Transpose", {"x"}, {"t"}, {{"perm", to_last()}});
  m.node("Add", {"c", "t"}, {"a"});
  m.node("Mul", {"a", "k"}, {"b"});
  m.node("Relu", {"b"}, {"r"});
  m.node("Transpose", {"r"}, {"y"}, {{"perm", to_second()}});
  m.output("y");
  const Graph graph = expect_same(m);
  EXPECT_EQ(graph.node_count(), 3) << graph.to_text();
  EXPECT_EQ(graph.value(graph.outputs()[0]).name, "y");
  const auto rewrites = m.import().rewrites;
  const auto sunk = std::find_if(rewrites.begin(), rewrites.end(),
                                 [](const Rewrite& r) { return r.kind == "sink-transpose"; });
  ASSERT_NE(sunk, rewrites.end());
  EXPECT_EQ(sunk->nodes, (std::vector<std::string>{"n_t", "n_y"}));
  EXPECT_FALSE(sunk->changes_rounding);
}

TEST_F(SinkTransposes, ResidualBlockWithChannelsLastKeepsNone) {
  ModelBuilder m(13);
  m.input("x", DType::kF32, Shape{1, 4, 6, 6}).constant("w", normal_tensor({4, 4, 1, 1}, 1));
  m.constant("c", normal_tensor({4}, 2));
  m.node("Conv", {"x", "w"}, {"conv1"});
  m.node("Transpose", {"conv1"}, {"t1"}, {{"perm", to_last()}});
  m.node("Add", {"t1", "c"}, {"biased"});
  m.node("Relu", {"biased"}, {"relu"});
  m.node("Transpose", {"relu"}, {"t2"}, {{"perm", to_second()}});
  m.node("Conv", {"t2", "w"}, {"conv2"});
  m.node("Transpose", {"conv2"}, {"t3"}, {{"perm", to_last()}});
  m.node("Add", {"t3", "relu"}, {"sum"});  // read before and after
  m.node("ReduceMean", {"sum"}, {"y"}, {{"axes", ints({1, 2})}, {"keepdims", std::int64_t{0}}});
  m.output("y");
  // 36 f32 numbers of magnitude below 64 are averaged in double and rounded once.
  const Graph graph = expect_same(m, 64 * 0x1p-24);
  EXPECT_EQ(count(graph, "Transpose"), 0) << graph.to_text();
}

TEST_F(SinkTransposes, AttributesFollowTheirDimensions) {
  ModelBuilder m(13);
  m.input("x", DType::kF32, Shape{2, 6, 4, 5})
      .constant("pads", ints_tensor({0, 1, 2, 0, 0, 3, 0, 1}));
  m.constant("starts", ints_tensor({1, 2})).constant("ends", ints_tensor({5, 4}));
  m.constant("axes", ints_tensor({2, 3}));
  m.node("Transpose", {"x"}, {"t"}, {{"perm", to_last()}});
  m.node("Pad", {"t", "pads"}, {"p"});
  m.node("Slice", {"p", "starts", "ends", "axes"}, {"s"});
  m.node("Softmax", {"s"}, {"soft"}, {{"axis", std::int64_t{1}}});
  m.node("Concat", {"soft", "s"}, {"c"}, {{"axis", std::int64_t{3}}});
  m.node("Split", {"c"}, {"left", "right"}, {{"axis", std::int64_t{3}}});
  m.node("Sub", {"left", "right"}, {"d"});
  m.node("Transpose", {"d"}, {"y"}, {{"perm", to_second()}});
  m.output("y");
  // Softmax adds its eight exponentials in double and in the same order; still it may round once.
  const Graph graph = expect_same(m, 0x1p-24);
  EXPECT_EQ(count(graph, "Transpose"), 0) << graph.to_text();
}

TEST_F(SinkTransposes, OnesMayComeAndGo) {
  ModelBuilder m(13);
  m.input("x", DType::kF32, Shape{2, 3, 1, 4, 5})
      .constant("shape", ints_tensor({2, 5, 4, 1, 3, 1}));
  m.node("Transpose", {"x"}, {"t"}, {{"perm", ints({0, 2, 4, 3, 1})}});
  m.node("Reshape", {"t", "shape"}, {"r"});
  m.node("Tanh", {"r"}, {"h"});
  m.node("Transpose", {"h"}, {"y"}, {{"perm", ints({0, 4, 5, 2, 1, 3})}});
  m.output("y");
  const Graph graph = expect_same(m);
  EXPECT_EQ(count(graph, "Transpose"), 0) << graph.to_text();
}

TEST_F(SinkTransposes, SmallOperandIsTurnedInsteadOfALargeOne) {
  ModelBuilder m(13);
  m.input("x", DType::kF32, Shape{2, 3, 4, 5}).input("gate", DType::kF32, Shape{2, 1, 1, 3});
  m.node("Transpose", {"x"}, {"t"}, {{"perm", to_last()}});
  m.node("Mul", {"t", "gate"}, {"p"});
  m.node("Transpose", {"p"}, {"y"}, {{"perm", to_second()}});
  m.output("y");
  const Graph graph = expect_same(m);
  EXPECT_EQ(count(graph, "Transpose"), 0) << graph.to_text();
  EXPECT_EQ(count(graph, "Reshape"), 1) << graph.to_text();
}

TEST_F(SinkTransposes, TransposeStaysWhereMovingItGainsNothing) {
  ModelBuilder m(13);
  m.input("x", DType::kF32, Shape{2, 3, 4, 5});
  m.node("Transpose", {"x"}, {"t"}, {{"perm", to_last()}});
  m.node("Relu", {"t"}, {"a"});
  m.node("Sigmoid", {"t"}, {"b"});
  m.output("a").output("b");
  const Graph graph = expect_same(m);
  EXPECT_EQ(graph, import(m, false));
}

TEST_F(SinkTransposes, TransposeThatMovesOnlyOnesBecomesAReshape) {
  ModelBuilder m(13);
  m.input("x", DType::kF32, Shape{2, 3, 1, 5});
  m.node("Transpose", {"x"}, {"y"}, {{"perm", ints({0, 2, 1, 3})}});
  m.output("y");
  const Graph graph = expect_same(m);
  EXPECT_EQ(count(graph, "Reshape"), 1) << graph.to_text();
}

TEST_F(SinkTransposes, OutputsOfTheGraphKeepTheirOrderAndName) {
  ModelBuilder m(13);
  m.input("x", DType::kF32, Shape{2, 3, 4, 5});
  m.node("Transpose", {"x"}, {"t"}, {{"perm", to_last()}});
  m.node("Relu", {"t"}, {"r"});
  m.node("Transpose", {"r"}, {"y"}, {{"perm", to_second()}});
  m.node("Transpose", {"y"}, {"z"}, {{"perm", to_last()}});
  m.node("Exp", {"z"}, {"e"});
  m.node("Transpose", {"e"}, {"u"}, {{"perm", to_second()}});
  m.output("y").output("r").output("u");
  const Graph graph = expect_same(m);
  EXPECT_EQ(count(graph, "Transpose"), 1) << graph.to_text();  // r alone
}

// Random chains of what transposes pass and what they do not.
TEST_F(SinkTransposes, RandomGraphsComputeTheSame) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Rng rng(seed);
    ModelBuilder m(13);
    m.input("x", DType::kF32, Shape{2, 3, 4, 5});
    std::vector<std::string> names = {"x"};
    std::vector<Shape> shapes = {{2, 3, 4, 5}};
    for (int i = 0; i < 12; ++i) {
      const std::size_t from = rng.below(names.size());
      const std::string y = "v" + std::to_string(i);
      Shape shape = shapes[from];
      switch (rng.below(6)) {
        case 0:
        case 1: {
          Shape perm = {0, 1, 2, 3};
          for (std::size_t k = 4; k > 1; --k) std::swap(perm[k - 1], perm[rng.below(k)]);
          Shape turned;
          for (const std::int64_t axis : perm)
            turned.push_back(shape[static_cast<std::size_t>(axis)]);
          m.node("Transpose", {names[from]}, {y}, {{"perm", perm}});
          shape = turned;
          break;
        }
        case 2:
          m.node("Tanh", {names[from]}, {y});
          break;
        case 3:
          m.constant("c" + y, normal_tensor({shape[3]}, seed + 1));
          m.node("Mul", {names[from], "c" + y}, {y});
          break;
        case 4: {
          const auto axis = static_cast<std::int64_t>(rng.below(4));
          m.node("ReduceMax", {names[from]}, {"m" + y}, {{"axes", ints({axis})}});
          m.node("Sub", {names[from], "m" + y}, {y});
          break;
        }
        default: {
          const std::size_t other = rng.below(names.size());
          if (shapes[other] == shape) {
            m.node("Add", {names[from], names[other]}, {y});
          } else {
            m.node("Relu", {names[from]}, {y});
          }
        }
      }
      names.push_back(y);
      shapes.push_back(shape);
    }
    m.output(names.back()).output(names[names.size() - 3]);
    SCOPED_TRACE(seed);
    const Graph graph = expect_same(m);
    EXPECT_LE(count(graph, "Transpose"), count(import(m, false), "Transpose"));
  }
}

}  // namespace
}  // namespace inlay
