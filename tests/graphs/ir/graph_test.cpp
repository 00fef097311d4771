#include "graphs/ir/graph.h"

#include <gtest/gtest.h>

#include <set>

#include "core/base/error.h"
#include "tests/graphs/ir/random_graph.h"

namespace inlay {
namespace {

const TensorType kVector = {DType::kF32, {4}};

TEST(Graph, PrintsALinePerNode) {
  GraphBuilder b("tiny");
  const ValueId x = b.input("x", {DType::kF32, {1, 3, 8, 8}});
  const ValueId w = b.constant("w", Tensor::zeros({DType::kF32, {4, 3, 1, 1}}));
  const ValueId y = b.node("y", "Conv", {x, w});
  b.output(b.node("p", "MaxPool", {y}, {{"kernel_shape", std::vector<std::int64_t>{2, 2}}}, 2)[1]);
  EXPECT_EQ(b.build().to_text(),
            "y: f32[1x4x8x8] = Conv(x, w) {dilations=[1, 1], group=1, kernel_shape=[1, 1], "
            "pads=[0, 0, 0, 0], strides=[1, 1]}\n"
            "p: f32[1x4x7x7], p_1: i64[1x4x7x7] = MaxPool(y) {ceil_mode=0, dilations=[1, 1], "
            "kernel_shape=[2, 2], pads=[0, 0, 0, 0], storage_order=0, strides=[1, 1]}\n");
}

TEST(Graph, ListsEachConsumerOnceInOrder) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", kVector);
  const ValueId square = b.node("square", "Mul", {x, x});
  b.output(b.node("sum", "Add", {square, x}));
  const Graph graph = b.build();
  const auto readers = graph.consumers(x);
  EXPECT_EQ(std::vector<NodeId>(readers.begin(), readers.end()), (std::vector<NodeId>{{0}, {1}}));
  EXPECT_TRUE(graph.is_output(*graph.find_value("sum")));
  EXPECT_FALSE(graph.is_output(square));
}

TEST(Graph, FindsEveryNodeAndValueByName) {
  Rng rng(4);
  const Graph graph = random_graph(rng, 200);
  for (int i = 0; i < graph.node_count(); ++i) {
    EXPECT_EQ(graph.find_node(graph.node(NodeId{i}).name), NodeId{i});
  }
  for (int i = 0; i < graph.value_count(); ++i) {
    EXPECT_EQ(graph.find_value(graph.value(ValueId{i}).name), ValueId{i});
  }
  EXPECT_FALSE(graph.find_node("no such node").has_value());
  EXPECT_FALSE(graph.find_value("").has_value());
}

TEST(Graph, EqualsACopyAndNotADifferentOne) {
  Rng rng(5);
  const Graph graph = random_graph(rng, 30);
  const Graph copy = graph;
  EXPECT_EQ(copy, graph);
  EXPECT_NE(random_graph(rng, 30), graph);
}

TEST(GraphBuilder, MakesTakenAndEmptyNamesUnique) {
  GraphBuilder b("g");
  ValueId x = b.input("a", kVector);
  b.constant("a", Tensor::zeros(kVector));
  for (const char* name : {"a", "a_1", "", "", "Relu_1", "a"}) x = b.node(name, "Relu", {x});
  b.output(x);
  const Graph graph = b.build();
  std::set<std::string> nodes;
  std::set<std::string> values;
  for (const Node& node : graph.nodes()) nodes.insert(node.name);
  for (const Value& value : graph.values()) values.insert(value.name);
  EXPECT_EQ(nodes.size(), graph.nodes().size());
  EXPECT_EQ(values.size(), graph.values().size());
  EXPECT_EQ(graph.node(NodeId{0}).name, "a");
}

TEST(GraphBuilder, BuildsAChainOfFortyThousandNodesWithOneRepeatedName) {
  constexpr int kNodes = 40000;
  GraphBuilder b("chain");
  ValueId x = b.input("x", kVector);
  for (int i = 0; i < kNodes; ++i) x = b.node("layer", "Relu", {x});
  b.output(x);
  const Graph graph = b.build();
  EXPECT_EQ(graph.node_count(), kNodes);
  // A number appended a second time would be searched from 1 again, which is quadratic: the last of
  // the names shows that the numbers went up by one.
  EXPECT_EQ(graph.node(NodeId{kNodes - 1}).name, "layer_39999");
}

TEST(GraphBuilder, LeavesOutOutputsWithoutType) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", {DType::kF32, {6}});
  Node node;
  node.name = "split";
  node.op = "Split";
  node.inputs = {x};
  const auto made =
      b.node_with_types(node, {{DType::kF32, {2}}, {}, {DType::kF32, {2}}}, {"", "", "c"});
  EXPECT_TRUE(made[1].is_none());
  EXPECT_EQ(b.value(made[2]).name, "c");
  EXPECT_EQ(b.value(made[0]).name, "split");
  b.output(made[2]);
  EXPECT_NE(b.build().to_text().find("split: f32[2], _, c: f32[2] = Split(x)"), std::string::npos);
}

TEST(GraphBuilder, RefusesOperandsThatDoNotExistAndGraphsWithoutOutput) {
  GraphBuilder b("g");
  b.input("x", kVector);
  EXPECT_THROW(b.node("r", "Relu", {ValueId{7}}), Error);
  EXPECT_THROW(b.output(ValueId{7}), Error);
  EXPECT_THROW(b.output(kNoValue), Error);
  EXPECT_THROW(b.build(), Error);
}

TEST(GraphBuilder, ReshapeChecksTheElementCount) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", {DType::kF32, {2, 6}});
  EXPECT_EQ(b.value(b.reshape("ok", x, {3, 4})).type, (TensorType{DType::kF32, {3, 4}}));
  try {
    b.reshape("r", x, {5, 2});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "Reshape 'r': 2x6 has 12 elements, the target 5x2 has 10");
  }
}

TEST(Graph, TextHasALineForEachNodeWhateverItsNames) {
  GraphBuilder b("g");
  const ValueId x = b.input("in\nput\x1b[2J", {DType::kF32, {2}});
  b.output(b.node(std::string(100000, 'n') + "\xff", "Relu", {x}));
  const std::string text = b.build().to_text();
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("Relu(in; put\\x1b[2J)"), std::string::npos) << text;
  EXPECT_LT(text.size(), 500u);
}

}  // namespace
}  // namespace inlay
