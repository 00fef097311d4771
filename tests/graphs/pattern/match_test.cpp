#include <gtest/gtest.h>

#include "graphs/ir/graph.h"
#include "graphs/pattern/pattern.h"

namespace inlay {
namespace {

using Ints = std::vector<std::int64_t>;

PatternText text(std::string match, std::string where = "") {
  PatternText t;
  t.id = "p";
  t.match = std::move(match);
  t.where = std::move(where);
  return t;
}

TensorType f32(Shape shape) { return {DType::kF32, std::move(shape)}; }

Attributes conv_attributes(std::int64_t kernel, std::int64_t group = 1) {
  const std::int64_t pad = kernel / 2;
  return {{"kernel_shape", Ints{kernel, kernel}},
          {"strides", Ints{1, 1}},
          {"dilations", Ints{1, 1}},
          {"pads", Ints{pad, pad, pad, pad}},
          {"group", group}};
}

// x → Conv 'c' → Relu 'r'
Graph conv_relu(std::int64_t group = 1) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", f32({1, 8, 6, 6}));
  const ValueId w = b.constant("w", Tensor::zeros(f32({4, 8 / group, 3, 3})));
  b.output(b.node("r", "Relu", {b.node("c", "Conv", {x, w}, conv_attributes(3, group))}));
  return b.build();
}

MatchReport match(const Graph& graph, const PatternText& t) {
  return match_patterns(graph, {parse_pattern(t)});
}

std::string only_reason(const Graph& graph, const PatternText& t) {
  const MatchReport report = match(graph, t);
  EXPECT_TRUE(report.matches.empty());
  return report.near_misses.size() == 1
             ? report.near_misses[0].reason
             : std::to_string(report.near_misses.size()) + " near misses";
}

TEST(Matcher, BindsVariablesAndOutputs) {
  const Graph g = conv_relu();
  const MatchReport report = match(g, text("Relu(Conv(X,W,B?))"));
  ASSERT_EQ(report.matches.size(), 1U);
  const Match& m = report.matches[0];
  EXPECT_EQ(m.nodes, (std::vector<NodeId>{{0}, {1}}));
  EXPECT_EQ(m.ports.at("X"), g.inputs()[0]);
  EXPECT_EQ(m.ports.at("out"), g.outputs()[0]);
  EXPECT_FALSE(m.ports.contains("B"));
}

TEST(Matcher, AnOptionalNodeGivesAMatchWithAndOneWithoutIt) {
  const Graph g = conv_relu();
  const MatchReport report = match(g, text("Relu?(Conv(X,W))"));
  ASSERT_EQ(report.matches.size(), 2U);
  EXPECT_EQ(report.matches[0].nodes, (std::vector<NodeId>{{0}}));
  EXPECT_EQ(report.matches[1].nodes, (std::vector<NodeId>{{0}, {1}}));
}

TEST(Matcher, TriesBothOrdersOfACommutativeOperator) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", f32({2, 4}));
  const ValueId c = b.input("c", f32({2, 3}));
  const ValueId w = b.constant("w", Tensor::zeros(f32({4, 3})));
  const ValueId mm = b.node("mm", "MatMul", {x, w});
  b.output(b.node("add", "Add", {c, mm}));
  const Graph g = b.build();
  EXPECT_EQ(match(g, text("Add(MatMul(A,B),C)")).matches.size(), 1U);
  EXPECT_EQ(match(g, text("Sub(MatMul(A,B),C)")).matches.size(), 0U);
}

TEST(Matcher, BacktracksOverOrdersUntilConstraintsHold) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", f32({2, 4}));
  const ValueId bias = b.constant("bias", Tensor::zeros(f32({4})));
  b.output(b.node("add", "Add", {bias, x}));
  const Graph g = b.build();
  const MatchReport report = match(g, text("Add(X,B)", "X: f32[_,n]; B: f32[n] const"));
  ASSERT_EQ(report.matches.size(), 1U);
  EXPECT_EQ(report.matches[0].ports.at("B"), bias);
}

TEST(Matcher, ARepeatedVariableIsOneValue) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", f32({4}));
  const ValueId y = b.input("y", f32({4}));
  b.output(b.node("same", "Mul", {x, x}));
  b.output(b.node("other", "Mul", {x, y}));
  const Graph g = b.build();
  const MatchReport squares = match(g, text("Mul(X,X)"));
  ASSERT_EQ(squares.matches.size(), 1U);
  EXPECT_EQ(squares.matches[0].nodes[0], NodeId{0});
  const MatchReport products = match(g, text("Mul(X,Y)"));
  ASSERT_EQ(products.matches.size(), 1U);
  EXPECT_EQ(products.matches[0].nodes[0], NodeId{1});
  ASSERT_EQ(products.near_misses.size(), 1U);
  EXPECT_EQ(products.near_misses[0].reason, "X and Y are the same value");
}

TEST(Matcher, AnAliasReadTwiceIsOneNode) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", f32({4}));
  const ValueId t = b.node("t", "Tanh", {x});
  b.output(b.node("swish", "Mul", {b.node("s", "Sigmoid", {t}), t}));
  const Graph g = b.build();
  const MatchReport report = match(g, text("Mul(a=Tanh(X),Sigmoid(a))"));
  ASSERT_EQ(report.matches.size(), 1U);
  EXPECT_EQ(report.matches[0].nodes.size(), 3U);
}

TEST(Matcher, AnInnerNodeReadElsewhereIsANearMiss) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", f32({4}));
  const ValueId t = b.node("t", "Tanh", {x});
  b.output(b.node("r", "Relu", {t}));
  b.output(b.node("e", "Exp", {t}));
  const Graph g = b.build();
  EXPECT_EQ(only_reason(g, text("Relu(Tanh(X))")), "Tanh 't' is also read by 'e'");
}

TEST(Matcher, ATapReadElsewhereIsAnOutputAndOtherwiseInside) {
  for (const bool is_read : {false, true}) {
    GraphBuilder b("g");
    const ValueId x = b.input("x", f32({2, 3}));
    const ValueId y = b.input("y", f32({2, 3}));
    const ValueId sum = b.node("s", "Add", {x, y});
    b.output(b.node("r", "Relu", {sum}));
    if (is_read) b.output(b.node("t", "Tanh", {sum}));
    const MatchReport report = match(b.build(), text("Relu(^s=Add(X,Y))", "s: f32[n,c]"));
    ASSERT_EQ(report.matches.size(), 1U);
    EXPECT_EQ(report.matches[0].nodes.size(), 2U);
    const auto port = report.matches[0].ports.find("s");
    EXPECT_EQ(port == report.matches[0].ports.end() ? kNoValue : port->second,
              is_read ? sum : kNoValue);
  }
}

TEST(Matcher, OnlyTheFirstOutputOfATapMayBeReadElsewhere) {
  for (const int output : {0, 1}) {
    GraphBuilder b("g");
    const ValueId x = b.input("x", f32({4}));
    Node split;
    split.name = "s";
    split.op = "Split";
    split.inputs = {x};
    split.attributes = {{"axis", std::int64_t{0}}, {"split", Ints{2, 2}}};
    const std::vector<ValueId> parts = b.node_with_types(split, {f32({2}), f32({2})}, {});
    b.output(b.node("t", "Tanh", {parts[0]}));
    b.output(b.node("r", "Relu", {parts[static_cast<std::size_t>(output)]}));
    EXPECT_EQ(match(b.build(), text("Tanh(^s=Split(X))")).matches.size(), output == 0 ? 1U : 0U);
  }
}

TEST(Matcher, AnInnerGraphOutputIsANearMiss) {
  GraphBuilder b("g");
  const ValueId t = b.node("t", "Tanh", {b.input("x", f32({4}))});
  b.output(t);
  b.output(b.node("r", "Relu", {t}));
  EXPECT_EQ(only_reason(b.build(), text("Relu(Tanh(X))")), "Tanh 't' is also a graph output");
}

TEST(Matcher, NearMissesGiveTheClauseAndTheValues) {
  const Graph g = conv_relu();
  EXPECT_EQ(only_reason(g, text("Conv(X,W)", "W: f32[o,c,_,_]; c%16==0; o>1")),
            "c%16==0 fails: c=8");
  EXPECT_EQ(only_reason(g, text("Conv(X,W)", "X: f16|bf16")),
            "X: f16|bf16 fails: X is f32[1x8x6x6]");
  EXPECT_EQ(only_reason(g, text("Conv(X,W)", "X: f32[n,c,w]")),
            "X: f32[n,c,w] fails: X has shape 1x8x6x6");
  EXPECT_EQ(only_reason(g, text("Conv(X,W)", "X: any const")),
            "X: any const fails: X is not constant");
  EXPECT_EQ(only_reason(g, text("Conv(X,W)", "W: any dynamic")),
            "W: any dynamic fails: W is constant");
  EXPECT_EQ(only_reason(g, text("Conv(X,W)", "X: f32[n,c,...]; W: f32[c,...]")),
            "W: f32[c,...] fails: c of W is 4, elsewhere 8");
  EXPECT_EQ(only_reason(g, text("Conv(X,W)", "W: f32[_,_,1,1]")),
            "W: f32[_,_,1,1] fails: 1 of W is 3");
  EXPECT_EQ(only_reason(g, text("Conv(X,W)", "Conv.strides==[2,2]")),
            "Conv.strides==[2,2] fails: Conv.strides=[1,1]");
  EXPECT_EQ(only_reason(g, text("Conv(X,W)", "Conv.nothing==1")),
            "Conv.nothing==1 fails: Conv.nothing is absent");
}

TEST(Matcher, DimensionExpressionsAreCheckedAndSolved) {
  const Graph g = conv_relu(2);
  EXPECT_EQ(
      match(g, text("Conv(X,W)", "X: f32[n,c,h,w]; W: f32[o,c/Conv.group,3,3]")).matches.size(),
      1U);
  EXPECT_EQ(match(g, text("Conv(X,W)", "X: f32[n,c,h,w]; W: f32[o,c/g,3,3]; g==2")).matches.size(),
            1U);
  EXPECT_EQ(only_reason(g, text("Conv(X,W)", "X: f32[n,c,h,w]; W: f32[o,c/g,3,3]; g==1")),
            "g==1 fails: g=2");
  EXPECT_EQ(only_reason(g, text("Conv(X,W)", "X: f32[n,c,...]; W: f32[_,c*Conv.group,...]")),
            "dimension c*Conv.group of W fails: extent 4, it is 16");
}

TEST(Matcher, ClausesAboutWhatIsNotThereHold) {
  const Graph g = conv_relu();
  EXPECT_EQ(match(g, text("[Relu|Clip](Conv(X,W))", "Clip.min==0")).matches.size(), 1U);
  EXPECT_EQ(match(g, text("Conv(X,W,B?)", "B: f32[o] const; o==99")).matches.size(), 1U);
  EXPECT_EQ(match(g, text("Clip?(Conv(X,W))", "has(Clip.max)")).matches.size(), 1U);
}

TEST(Matcher, FloatAttributesCompareExactlyWithLiterals) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", f32({4}));
  b.output(b.node("clip", "Clip", {x}, {{"min", 0.0F}, {"max", 0.1F}}));
  const Graph g = b.build();
  EXPECT_EQ(match(g, text("Clip(X)", "Clip.min==0; Clip.max==0.1")).matches.size(), 1U);
  EXPECT_EQ(match(g, text("Clip(X)", "has(Clip.min); Clip.max==0.1000001")).matches.size(), 0U);
}

TEST(Matcher, ListsCompareWithANumberElementByElement) {
  const Graph g = conv_relu();
  EXPECT_EQ(match(g, text("Conv(X,W)", "Conv.strides==1; Conv.pads<=1")).matches.size(), 1U);
  EXPECT_EQ(match(g, text("Conv(X,W)", "Conv.strides!=1")).matches.size(), 0U);
}

TEST(Matcher, ReadsTheValueOfASmallConstant) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", f32({4}));
  const ValueId two = b.constant("two", Tensor::from<float>({}, {2.0F}));
  b.output(b.node("pow", "Pow", {x, two}));
  const Graph g = b.build();
  EXPECT_EQ(match(g, text("Pow(X,E)", "E: f32 const; value(E)==2")).matches.size(), 1U);
  EXPECT_EQ(only_reason(g, text("Pow(X,E)", "value(E)==3")), "value(E)==3 fails: value(E)=2");
}

TEST(Matcher, AnOpsPatternMatchesSingleNodesWithNumberedPorts) {
  const Graph g = conv_relu();
  PatternText t;
  t.id = "any";
  t.ops = {"Relu", "Conv"};
  t.where = "0: f32; Conv.group==1";
  const MatchReport report = match(g, t);
  ASSERT_EQ(report.matches.size(), 2U);
  EXPECT_TRUE(report.matches[0].ports.contains("1"));
  EXPECT_EQ(report.matches[1].ports.at("out"), g.outputs()[0]);
}

TEST(Matcher, OrdersMatchesByRootThenPattern) {
  const Graph g = conv_relu();
  const std::vector<Pattern> patterns = {parse_pattern(text("Relu(X)")),
                                         parse_pattern(text("Relu?(Conv(X,W))"))};
  const MatchReport report = match_patterns(g, patterns);
  ASSERT_EQ(report.matches.size(), 3U);
  EXPECT_EQ(report.matches[0].pattern, 1);
  EXPECT_EQ(report.matches[1].pattern, 0);
  EXPECT_EQ(report.matches[2].pattern, 1);
}

}  // namespace
}  // namespace inlay
