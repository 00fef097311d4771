#include "graphs/pattern/recognize.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/rng.h"
#include "core/host/evaluate.h"
#include "core/host/plugin_host.h"

namespace inlay {
namespace {

using Ints = std::vector<std::int64_t>;

class Recognize : public ::testing::Test {
 protected:
  Recognize() : host_(log_, {.search_path = {INLAY_PLUGIN_DIR "/reference.so"}}) {}

  ValueId scalar(float value) { return b_.constant("", Tensor::from<float>({}, {value})); }
  ValueId vector(std::int64_t size, float first, float step) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < size; ++i) values.push_back(first + step * static_cast<float>(i));
    return b_.constant("", Tensor::from<float>({size}, values));
  }
  ValueId op(const char* name, std::vector<ValueId> inputs, Attributes attributes = {}) {
    return b_.node("", name, std::move(inputs), std::move(attributes));
  }

  // Runs a graph of one f32 input on the reference, node by node.
  std::vector<float> run(const Graph& graph, const Tensor& input) {
    const std::shared_ptr<Device> reference = host_.open_device("reference");
    std::map<ValueId, Tensor> values{{graph.inputs()[0], input}};
    for (const Node& node : graph.nodes()) {
      Region region;
      region.pattern = node.op;
      RegionNode single{.op = node.op, .attributes = node.attributes};
      std::vector<Tensor> inputs;
      for (const ValueId id : node.inputs) {
        const Value& value = graph.value(id);
        RegionValue operand{.type = value.type};
        operand.layout = Layout::dense(static_cast<int>(value.type.shape.size()));
        const int index = static_cast<int>(region.values.size());
        region.values.push_back(operand);
        region.inputs.push_back(index);
        single.inputs.push_back(index);
        inputs.push_back(value.constant ? *value.constant : values.at(id));
      }
      RegionValue result{.type = graph.value(node.outputs[0]).type};
      result.layout = Layout::dense(static_cast<int>(result.type.shape.size()));
      single.outputs = {static_cast<int>(region.values.size())};
      region.outputs = single.outputs;
      region.values.push_back(result);
      region.nodes = {single};
      values[node.outputs[0]] = (*evaluate(region, inputs, *reference))[0];
    }
    const auto result = values.at(graph.outputs()[0]).as<float>();
    return {result.begin(), result.end()};
  }

  // The graph ends in `out`; one operator `expected` must remain, and compute the same.
  void expect_recognized(ValueId out, const Shape& shape, const std::string& expected,
                         const std::string& kind) {
    b_.output(out);
    const Graph graph = b_.build();
    const Recognized r = recognize_operators(graph);
    ASSERT_EQ(r.graph.node_count(), 1) << r.graph.to_text();
    EXPECT_EQ(r.graph.node({0}).op, expected);
    ASSERT_EQ(r.changes.size(), 1u);
    EXPECT_EQ(r.changes[0].kind, kind);
    EXPECT_EQ(r.changes[0].nodes.size(), static_cast<std::size_t>(graph.node_count()));

    Rng rng(5);
    std::vector<float> values;
    for (std::int64_t i = 0; i < element_count(shape); ++i) {
      values.push_back(static_cast<float>(4 * rng.normal()));
    }
    const Tensor input = Tensor::from<float>(shape, values);
    const std::vector<float> before = run(graph, input);
    const std::vector<float> after = run(r.graph, input);
    ASSERT_EQ(before.size(), after.size());
    for (std::size_t i = 0; i < before.size(); ++i) {
      // Each of at most nine f32 steps rounds once, on intermediate values below 64 here.
      EXPECT_NEAR(after[i], before[i], 9 * 64 * 0x1p-24) << i;
    }
  }

  void expect_untouched(ValueId out) {
    b_.output(out);
    const Graph graph = b_.build();
    const Recognized r = recognize_operators(graph);
    EXPECT_TRUE(r.changes.empty());
    EXPECT_EQ(r.graph, graph);
  }

  NullLog log_;
  PluginHost host_;
  GraphBuilder b_{"g"};
};

constexpr float kSqrt2 = 1.41421354f;

TEST_F(Recognize, GeluInEachWayToWriteIt) {
  const Shape shape{3, 17};
  for (int form = 0; form < 4; ++form) {
    b_ = GraphBuilder("g");
    const ValueId x = b_.input("x", {DType::kF32, shape});
    const ValueId scaled =
        form == 3 ? op("Mul", {x, scalar(1 / kSqrt2)}) : op("Div", {x, scalar(kSqrt2)});
    const ValueId sum = op("Add", {scalar(1), op("Erf", {scaled})});
    ValueId out;
    if (form == 0 || form == 3) out = op("Mul", {op("Mul", {x, sum}), scalar(0.5f)});
    if (form == 1) out = op("Mul", {op("Mul", {x, scalar(0.5f)}), sum});
    if (form == 2) out = op("Mul", {x, op("Mul", {sum, scalar(0.5f)})});
    SCOPED_TRACE(form);
    expect_recognized(out, shape, "Gelu", "recognize-gelu");
  }
}

TEST_F(Recognize, TanhGeluInEachWayToWriteIt) {
  const Shape shape{3, 17};
  for (int form = 0; form < 9; ++form) {
    b_ = GraphBuilder("g");
    const ValueId x = b_.input("x", {DType::kF32, shape});
    const ValueId c = scalar(0.044715f);
    ValueId cube;
    if (form / 3 == 0) cube = op("Mul", {op("Pow", {x, scalar(3)}), c});
    if (form / 3 == 1) cube = op("Mul", {x, op("Mul", {x, op("Mul", {x, c})})});
    if (form / 3 == 2) cube = op("Mul", {c, op("Mul", {x, op("Mul", {x, x})})});
    const ValueId inner = op("Mul", {scalar(0.79788456f), op("Add", {x, cube})});
    const ValueId sum = op("Add", {scalar(1), op("Tanh", {inner})});
    const ValueId half = scalar(0.5f);
    ValueId out;
    if (form % 3 == 0) out = op("Mul", {op("Mul", {x, sum}), half});
    if (form % 3 == 1) out = op("Mul", {op("Mul", {half, x}), sum});
    if (form % 3 == 2) out = op("Mul", {x, op("Mul", {half, sum})});
    SCOPED_TRACE(form);
    expect_recognized(out, shape, "Gelu", "recognize-gelu");
  }
}

TEST_F(Recognize, ProductWithItsHardSigmoidIsHardSwish) {
  const Shape shape{2, 4, 3, 3};
  const ValueId x = b_.input("x", {DType::kF32, shape});
  const ValueId gate = op("HardSigmoid", {x}, {{"alpha", 1.0f / 6}, {"beta", 0.5f}});
  expect_recognized(op("Mul", {x, gate}), shape, "HardSwish", "recognize-hard-swish");
  b_ = GraphBuilder("g");
  const ValueId y = b_.input("x", {DType::kF32, shape});
  expect_untouched(op("Mul", {op("HardSigmoid", {y}, {{"alpha", 0.2f}, {"beta", 0.5f}}), y}));
}

TEST_F(Recognize, HardSwishByDivisionAndByProduct) {
  const Shape shape{2, 4, 3, 3};
  for (const bool by_division : {true, false}) {
    b_ = GraphBuilder("g");
    const ValueId x = b_.input("x", {DType::kF32, shape});
    const ValueId clip = op("Clip", {op("Add", {x, scalar(3)})}, {{"min", 0.0f}, {"max", 6.0f}});
    const ValueId product = op("Mul", {x, clip});
    const ValueId out =
        by_division ? op("Div", {product, scalar(6)}) : op("Mul", {product, scalar(1.0f / 6)});
    expect_recognized(out, shape, "HardSwish", "recognize-hard-swish");
  }
}

TEST_F(Recognize, LayerNormalizationBySquareAndByProductWithAndWithoutBias) {
  const Shape shape{2, 5, 12};
  for (int form = 0; form < 4; ++form) {
    SCOPED_TRACE(form);
    const bool by_power = form % 2 == 0;
    const bool has_bias = form / 2 == 0;
    b_ = GraphBuilder("g");
    const Attributes mean{{"axes", Ints{2}}, {"keepdims", std::int64_t{1}}};
    const ValueId x = b_.input("x", {DType::kF32, shape});
    const ValueId d = op("Sub", {x, op("ReduceMean", {x}, mean)});
    const ValueId square = by_power ? op("Pow", {d, scalar(2)}) : op("Mul", {d, d});
    const ValueId root = op("Sqrt", {op("Add", {op("ReduceMean", {square}, mean), scalar(1e-5f)})});
    const ValueId scaled = op("Mul", {op("Div", {d, root}), vector(12, 0.5f, 0.1f)});
    const ValueId out = has_bias ? op("Add", {scaled, vector(12, -1, 0.2f)}) : scaled;
    expect_recognized(out, shape, "LayerNormalization", "recognize-layer-normalization");
  }
}

TEST_F(Recognize, OtherConstantsAreAnotherFunction) {
  const ValueId x = b_.input("x", {DType::kF32, {8}});
  const ValueId sum = op("Add", {op("Erf", {op("Div", {x, scalar(1.5f)})}), scalar(1)});
  expect_untouched(op("Mul", {op("Mul", {x, sum}), scalar(0.5f)}));
}

TEST_F(Recognize, AnInnerValueThatIsReadElsewhereKeepsTheNodes) {
  const ValueId x = b_.input("x", {DType::kF32, {8}});
  const ValueId erf = op("Erf", {op("Div", {x, scalar(kSqrt2)})});
  const ValueId gelu = op("Mul", {op("Mul", {x, op("Add", {erf, scalar(1)})}), scalar(0.5f)});
  expect_untouched(op("Add", {gelu, erf}));
}

TEST_F(Recognize, VarianceOverOtherAxesIsNotLayerNormalization) {
  const ValueId x = b_.input("x", {DType::kF32, {2, 5, 12}});
  const auto mean = [&](ValueId v, std::int64_t axis) {
    return op("ReduceMean", {v}, {{"axes", Ints{axis}}, {"keepdims", std::int64_t{1}}});
  };
  const ValueId d = op("Sub", {x, mean(x, 2)});
  const ValueId root = op("Sqrt", {op("Add", {mean(op("Pow", {d, scalar(2)}), 1), scalar(1e-5f)})});
  const ValueId scaled = op("Mul", {op("Div", {d, root}), vector(12, 1, 0)});
  expect_untouched(op("Add", {scaled, vector(12, 0, 0.5f)}));
}

}  // namespace
}  // namespace inlay
