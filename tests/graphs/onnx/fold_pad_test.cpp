#include "graphs/onnx/fold_pad.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/graphs/onnx/model_builder.h"
#include "tests/graphs/reference_run.h"

namespace inlay {
namespace {

class FoldPad : public testing::Test {
 protected:
  FoldPad() : host_(log_, {.search_path = {INLAY_PLUGIN_DIR "/reference.so"}}) {}

  // A Pad, then what `add` makes of "p"; returns the imported graph. `kept` has the Pad's result as
  // an output too, so that it stays: both must compute the same bits.
  Graph fold(const Shape& shape, const std::vector<std::int64_t>& pads, const char* mode,
             const std::function<void(ModelBuilder&)>& add) {
    const auto model = [&](bool is_kept) {
      ModelBuilder m(13);
      m.input("x", DType::kF32, shape).constant("pads", ints_tensor(pads));
      m.node("Pad", {"x", "pads"}, {"p"}, {{"mode", text(mode)}});
      add(m);
      m.output("y");
      if (is_kept) m.output("p");
      return m.import().graph;
    };
    const std::vector<Tensor> inputs = {normal_tensor(shape, 3)};
    Graph graph = model(false);
    EXPECT_EQ(run_on_reference(graph, inputs, host_).at(0),
              run_on_reference(model(true), inputs, host_).at(0))
        << graph.to_text();
    return graph;
  }

  NullLog log_;
  PluginHost host_;
};

void add_conv(ModelBuilder& m) {
  m.constant("w", normal_tensor({2, 3, 3, 3}, 1));
  m.node("Conv", {"p", "w"}, {"y"}, {{"pads", ints({1, 0, 0, 2})}, {"strides", ints({2, 1})}});
}

TEST_F(FoldPad, ConvTakesTheZerosIntoItsPads) {
  const Graph graph = fold({1, 3, 5, 6}, {0, 0, 1, 2, 0, 0, 3, 4}, "constant", add_conv);
  ASSERT_EQ(graph.node_count(), 1) << graph.to_text();
  EXPECT_EQ(get_ints(graph.node(NodeId{0}).attributes, "pads", {}),
            (std::vector<std::int64_t>{2, 2, 3, 6}));
}

TEST_F(FoldPad, ThroughATranspose) {
  const Graph graph = fold({1, 5, 6, 3}, {0, 1, 2, 0, 0, 3, 4, 0}, "constant", [](ModelBuilder& m) {
    m.constant("w", normal_tensor({2, 3, 3, 3}, 1));
    m.node("Transpose", {"p"}, {"t"}, {{"perm", ints({0, 3, 1, 2})}});
    m.node("Conv", {"t", "w"}, {"y"});
  });
  ASSERT_EQ(graph.node_count(), 2) << graph.to_text();
  EXPECT_EQ(graph.value(graph.node(NodeId{0}).outputs[0]).type.shape, (Shape{1, 3, 5, 6}));
  EXPECT_EQ(get_ints(graph.node(NodeId{1}).attributes, "pads", {}),
            (std::vector<std::int64_t>{1, 2, 3, 4}));
}

TEST_F(FoldPad, AveragePoolCountsTheZeros) {
  const Graph graph = fold({1, 2, 5, 6}, {0, 0, 1, 1, 0, 0, 1, 1}, "constant", [](ModelBuilder& m) {
    m.node("AveragePool", {"p"}, {"y"}, {{"kernel_shape", ints({3, 3})}});
  });
  ASSERT_EQ(graph.node_count(), 1) << graph.to_text();
  EXPECT_EQ(get_int(graph.node(NodeId{0}).attributes, "count_include_pad", 0), 1);
}

TEST_F(FoldPad, WhatIsNotZerosAroundTheImageStays) {
  EXPECT_EQ(fold({1, 3, 5, 6}, {0, 0, 1, 2, 0, 0, 3, 4}, "edge", add_conv).node_count(), 2);
  EXPECT_EQ(fold({1, 2, 5, 6}, {0, 1, 1, 2, 0, 0, 3, 4}, "constant", add_conv).node_count(), 2);
  EXPECT_EQ(fold({1, 3, 8, 6}, {0, 0, -1, 2, 0, 0, 3, 4}, "constant", add_conv).node_count(), 2);
  const auto padded_pool = [](ModelBuilder& m) {
    m.node("AveragePool", {"p"}, {"y"},
           {{"kernel_shape", ints({3, 3})}, {"pads", ints({1, 1, 1, 1})}});
  };
  EXPECT_EQ(fold({1, 3, 5, 6}, {0, 0, 1, 2, 0, 0, 3, 4}, "constant", padded_pool).node_count(), 2);
}

}  // namespace
}  // namespace inlay
