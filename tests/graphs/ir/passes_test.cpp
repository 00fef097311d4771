#include "graphs/ir/passes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/graphs/ir/random_graph.h"

namespace inlay {
namespace {

// What every pass promises: outputs and inputs the same by name and value, nodes only removed,
// names unique, producers before consumers.
void expect_kept(const Graph& before, const PassResult& after) {
  EXPECT_EQ(evaluate(after.graph), evaluate(before));
  ASSERT_EQ(after.graph.outputs().size(), before.outputs().size());
  for (std::size_t i = 0; i < before.outputs().size(); ++i) {
    EXPECT_EQ(after.graph.value(after.graph.outputs()[i]).name,
              before.value(before.outputs()[i]).name);
  }
  ASSERT_EQ(after.graph.inputs().size(), before.inputs().size());
  std::multiset<std::string> names(after.removed.begin(), after.removed.end());
  for (std::int32_t i = 0; i < after.graph.node_count(); ++i) {
    const Node& node = after.graph.node(NodeId{i});
    names.insert(node.name);
    for (const ValueId id : node.inputs) EXPECT_LT(after.graph.value(id).producer.index, i);
  }
  std::multiset<std::string> all;
  for (const Node& node : before.nodes()) all.insert(node.name);
  EXPECT_EQ(names, all);
}

TEST(RemoveDead, KeepsOutputsAndOnlyWhatTheyNeedOnRandomGraphs) {
  Rng rng(21);
  for (int round = 0; round < 100; ++round) {
    const Graph graph = random_graph(rng, 40);
    const PassResult live = remove_dead(graph);
    expect_kept(graph, live);
    for (std::int32_t i = 0; i < live.graph.value_count(); ++i) {
      const ValueId id{i};
      const bool is_input = !live.graph.is_constant(id) && live.graph.value(id).producer == kNoNode;
      EXPECT_TRUE(is_input || live.graph.is_output(id) || !live.graph.consumers(id).empty());
    }
    EXPECT_TRUE(remove_dead(live.graph).removed.empty());
  }
}

TEST(RemoveDead, DropsAnOutputNobodyReads) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", {DType::kF32, {1, 1, 4, 4}});
  const auto pool = b.node("p", "MaxPool", {x}, {{"kernel_shape", Shape{2, 2}}}, 2);
  b.output(pool[0]);
  EXPECT_EQ(remove_dead(b.build()).graph.node(NodeId{0}).outputs.size(), 1u);
}

TEST(MergeEqual, KeepsOutputsAndLeavesNoTwinsOnRandomGraphs) {
  Rng rng(22);
  std::size_t merged_nodes = 0;
  for (int round = 0; round < 100; ++round) {
    const Graph graph = random_graph(rng, 60);
    const PassResult merged = merge_equal(graph);
    expect_kept(graph, merged);
    merged_nodes += merged.removed.size();
    for (std::int32_t i = 0; i < merged.graph.node_count(); ++i) {
      for (std::int32_t j = 0; j < i; ++j) {
        const Node& a = merged.graph.node(NodeId{j});
        const Node& b = merged.graph.node(NodeId{i});
        const bool is_twin = a.op == b.op && a.inputs == b.inputs && a.attributes == b.attributes;
        const bool is_output = std::any_of(b.outputs.begin(), b.outputs.end(),
                                           [&](ValueId id) { return merged.graph.is_output(id); });
        EXPECT_TRUE(!is_twin || is_output) << merged.graph.to_text();
      }
    }
  }
  EXPECT_GT(merged_nodes, 20u);  // the sample has something to merge
}

TEST(MergeEqual, TellsAttributesAndTypesApart) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", {DType::kF32, {4}});
  const auto cast = [&](DType to) {
    return b.node("", "Cast", {x}, {{"to", static_cast<std::int64_t>(to)}});
  };
  const auto leaky = [&](float alpha) { return b.node("", "LeakyRelu", {x}, {{"alpha", alpha}}); };
  b.output(b.node("", "Neg", {cast(DType::kI32)}));
  b.output(b.node("", "Neg", {cast(DType::kI64)}));
  b.output(b.node("", "Neg", {leaky(0.0f)}));
  b.output(b.node("", "Neg", {leaky(-0.0f)}));
  b.output(b.node("", "Abs", {b.reshape("r1", x, {2, 2})}));
  b.output(b.node("", "Abs", {b.reshape("r2", x, {4, 1})}));
  EXPECT_TRUE(merge_equal(b.build()).removed.empty());
}

TEST(MergeEqual, MergesConstantsByContentAndTypeAlone) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", {DType::kF32, {4096}});
  // Equal but for one element that no sample sees, and the same bytes as another type.
  std::vector<float> numbers(4096, 0.0f);
  const ValueId first = b.constant("first", Tensor::from<float>({4096}, numbers));
  const ValueId twin = b.constant("twin", Tensor::from<float>({4096}, numbers));
  numbers[300] = 1.0f;
  const ValueId other = b.constant("other", Tensor::from<float>({4096}, numbers));
  const ValueId other_twin = b.constant("other_twin", Tensor::from<float>({4096}, numbers));
  const ValueId bits = b.constant("bits", Tensor::zeros({DType::kI32, {4096}}));
  for (const ValueId c : {first, twin, other, other_twin})
    b.output(b.node("", "Neg", {b.node("", "Add", {x, c})}));
  b.output(b.node("", "Abs", {bits}));
  const Graph merged = merge_equal(b.build()).graph;
  std::set<std::string> constants;
  for (const Value& value : merged.values()) {
    if (value.constant) constants.insert(value.name);
  }
  EXPECT_EQ(constants, (std::set<std::string>{"bits", "first", "other"}));
}

TEST(MergeEqual, KeepsATwinThatIsAnOutput) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", {DType::kF32, {4}});
  b.output(b.node("first", "Relu", {x}));
  b.output(b.node("second", "Relu", {x}));
  const PassResult merged = merge_equal(b.build());
  EXPECT_EQ(merged.graph.node_count(), 2);
  EXPECT_TRUE(merged.removed.empty());
}

}  // namespace
}  // namespace inlay
