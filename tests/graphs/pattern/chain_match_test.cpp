#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "core/base/error.h"
#include "core/base/rng.h"
#include "graphs/ir/graph.h"
#include "graphs/pattern/pattern.h"

namespace inlay {
namespace {

const TensorType kType{DType::kF32, {2, 3}};

PatternText rule(std::string match, std::string fuse, std::string where = "") {
  PatternText text;
  text.id = "p";
  text.match = std::move(match);
  text.fuse = std::move(fuse);
  text.where = std::move(where);
  return text;
}

std::string error_of(const PatternText& text) {
  try {
    parse_pattern(text);
    return "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kCorrupt);
    return error.what();
  }
}

using NodeSets = std::set<std::vector<NodeId>>;

NodeSets node_sets(const Graph& graph, const std::vector<Pattern>& patterns) {
  NodeSets sets;
  for (const Match& match : match_patterns(graph, patterns).matches) {
    std::vector<NodeId> nodes = match.nodes;
    std::sort(nodes.begin(), nodes.end());
    sets.insert(std::move(nodes));
  }
  return sets;
}

// x → Relu → Add(., y) → Mul(., z) → Abs
Graph chain() {
  GraphBuilder b("chain");
  const ValueId x = b.input("x", kType);
  const ValueId y = b.input("y", kType);
  const ValueId z = b.input("z", kType);
  const ValueId r = b.node("r", "Relu", {x});
  const ValueId a = b.node("a", "Add", {y, r});
  const ValueId m = b.node("m", "Mul", {a, z});
  b.output(b.node("t", "Abs", {m}));
  return b.build();
}

TEST(ChainMatcher, EachLengthOfTheChainIsAMatchWithItsOwnOutput) {
  const Graph g = chain();
  const MatchReport report =
      match_patterns(g, {parse_pattern(rule("Relu(X)", "[Add|Mul](.,Y); Abs(.)"))});
  ASSERT_EQ(report.matches.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    const Match& m = report.matches[i];
    EXPECT_EQ(m.nodes.size(), i + 1);
    EXPECT_EQ(m.ports.at("out"), g.node(m.nodes.back()).outputs[0]);
    EXPECT_EQ(m.ports.at("X"), g.inputs()[0]);
  }
  EXPECT_EQ(report.matches[3].ports.at("Y"), g.inputs()[1]);
  EXPECT_EQ(report.matches[3].ports.at("Y.1"), g.inputs()[2]);
}

TEST(ChainMatcher, StopsAtTheMostLinks) {
  const NodeSets sets =
      node_sets(chain(), {parse_pattern(rule("Relu(X)", "2: [Add|Mul](.,Y); Abs(.)"))});
  EXPECT_EQ(sets, (NodeSets{{{0}}, {{0}, {1}}, {{0}, {1}, {2}}}));
}

TEST(ChainMatcher, ClausesHoldForEachLinkWithItsOwnOperand) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", kType);
  const ValueId row = b.input("row", {DType::kF32, {3}});
  const ValueId r = b.node("r", "Relu", {x});
  const ValueId a = b.node("a", "Add", {r, x});
  b.output(b.node("a2", "Add", {b.node("t", "Tanh", {a}), row}));
  const MatchReport report = match_patterns(
      b.build(), {parse_pattern(rule("Tanh(X)", "Add(.,Y)", "X: f32[n,c]; Y: f32[n,c]"))});
  ASSERT_EQ(report.matches.size(), 1U);
  ASSERT_EQ(report.near_misses.size(), 1U);
  EXPECT_NE(report.near_misses[0].reason.find("Y"), std::string::npos);
}

TEST(ChainMatcher, AValueReadElsewhereOrGivenOutEndsTheChain) {
  for (const bool is_output : {false, true}) {
    GraphBuilder b("g");
    const ValueId x = b.input("x", kType);
    const ValueId r = b.node("r", "Relu", {x});
    b.output(b.node("a", "Abs", {r}));
    is_output ? b.output(r) : b.output(b.node("n", "Neg", {r}));
    EXPECT_EQ(node_sets(b.build(), {parse_pattern(rule("Relu(X)", "Abs(.)"))}), NodeSets{{{0}}});
  }
}

TEST(ChainMatcher, ALinkMayReadTheValueSoFarTwice) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", kType);
  const ValueId r = b.node("r", "Neg", {x});
  b.output(b.node("m", "Mul", {r, b.node("s", "Sigmoid", {r})}));
  EXPECT_EQ(node_sets(b.build(), {parse_pattern(rule("Neg(X)", "Mul(.,Sigmoid(.)); Mul(.,Y)"))}),
            (NodeSets{{{0}}, {{0}, {1}, {2}}}));
}

// Node by node and link by link: what is read outside, or may be, is an output port.
TEST(ChainMatcher, EveryOutputOfTheLastOperatorIsAPort) {
  for (const int read : {0, 1, 2}) {
    GraphBuilder b("g");
    const ValueId r = b.node("r", "Relu", {b.input("x", kType)});
    const std::vector<ValueId> halves =
        b.node("s", "Split", {r},
               {{"axis", std::int64_t{0}}, {"split", std::vector<std::int64_t>{1, 1}}}, 2);
    for (std::size_t i = 0; i < halves.size(); ++i) {
      if (read == 2 || static_cast<int>(i) == read) b.output(b.node("", "Abs", {halves[i]}));
    }
    const Graph g = b.build();
    for (const auto& [match, fuse] : std::vector<std::pair<std::string, std::string>>{
             {"Split(Relu(X))", ""}, {"Relu(X)", "Split(.); Abs(.)"}}) {
      const MatchReport report =
          match_patterns(g, {parse_pattern(rule(match, fuse, "X: f32[n,c]; out1: f32[1,c]"))});
      const auto split = std::find_if(report.matches.begin(), report.matches.end(),
                                      [](const Match& m) { return m.nodes.size() == 2; });
      ASSERT_NE(split, report.matches.end());
      EXPECT_EQ(split->ports, (std::map<std::string, ValueId>{
                                  {"X", g.inputs()[0]}, {"out", halves[0]}, {"out1", halves[1]}}));
      // Nothing goes on from a value that is only a part of what was made.
      EXPECT_EQ(report.matches.size(), fuse.empty() ? 1U : 2U);
    }
    EXPECT_TRUE(match_patterns(g, {parse_pattern(rule("Relu(X)", "Split(.)", "out1: i64"))})
                    .matches.size() == 1U);
  }
}

TEST(ChainMatcher, AnOutputThatIsLeftOutIsNoPort) {
  GraphBuilder b("g");
  const ValueId r = b.node("r", "Relu", {b.input("x", kType)});
  Node split;
  split.name = "s";
  split.op = "Split";
  split.inputs = {r};
  split.attributes = {{"axis", std::int64_t{0}}, {"split", std::vector<std::int64_t>{1, 1}}};
  b.output(b.node_with_types(split, {TensorType{}, TensorType{DType::kF32, {1, 3}}}, {"", "h"})[1]);
  const Graph g = b.build();
  const MatchReport report = match_patterns(g, {parse_pattern(rule("Relu(X)", "Split(.)"))});
  ASSERT_EQ(report.matches.size(), 2U);
  EXPECT_EQ(report.matches[1].ports,
            (std::map<std::string, ValueId>{{"X", g.inputs()[0]}, {"out1", g.outputs()[0]}}));
}

// Every link fits in several ways; what they lead to is looked at once.
TEST(ChainMatcher, ManyWaysToTheSameNodesTakeNoLonger) {
  GraphBuilder b("g");
  ValueId v = b.node("n", "Neg", {b.input("x", kType)});
  for (int i = 0; i < 16; ++i) {
    const std::string n = std::to_string(i);
    const ValueId side = b.node("m" + n, "Mul", {b.input("a" + n, kType), b.input("b" + n, kType)});
    v = b.node("s" + n, "Add", {v, side});
  }
  b.output(v);
  const MatchReport report = match_patterns(
      b.build(), {parse_pattern(rule("Neg(X)", "16: Add(.,Mul(A,B)); Add(.,[Mul|Div](C,D))"))});
  EXPECT_EQ(report.matches.size(), 17U);
}

TEST(ChainMatcher, TwoOperandsOfOneValueAreNotTwoPorts) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", kType);
  b.output(b.node("a", "Add", {b.node("r", "Relu", {x}), x}));
  const MatchReport report =
      match_patterns(b.build(), {parse_pattern(rule("Relu(X)", "Add(.,Y)"))});
  ASSERT_EQ(report.matches.size(), 1U);
  ASSERT_EQ(report.near_misses.size(), 1U);
  EXPECT_EQ(report.near_misses[0].reason, "X and Y are the same value");
}

TEST(ChainMatcher, MistakesInARuleAreNamedWithTheirColumn) {
  EXPECT_EQ(error_of(rule("Relu(X)", "Abs(X)")),
            "pattern 'p': fuse, column 1: a link's last operator must read '.'");
  EXPECT_EQ(error_of(rule("Relu(X)", "0: Abs(.)")),
            "pattern 'p': fuse, column 1: expected 1 to 16 links, found 0");
  EXPECT_EQ(error_of(rule("Relu(X)", "Abs(.);")),
            "pattern 'p': fuse, column 8: expected an operator, found the end");
  EXPECT_EQ(error_of(rule("Relu(X)", "Abs?(.)")),
            "pattern 'p': fuse, column 1: a link is optional as it is");
  EXPECT_EQ(error_of(rule("Relu(.)", "Abs(.)")),
            "pattern 'p': match, column 6: expected an operator or a variable, found '.'");
  EXPECT_EQ(error_of(rule("Relu(X)", "Add(.,X)")),
            "pattern 'p': fuse: 'X' means something in the match already");
  EXPECT_EQ(error_of(rule("Relu(^s=Neg(X))", "Add(.,s)")),
            "pattern 'p': fuse: 's' means something in the match already");
  EXPECT_EQ(error_of(rule("Relu(X)", "Add(.,^c=Relu(Z))")),
            "pattern 'p': fuse, column 8: a link has no taps");
  PatternText text;
  text.id = "p";
  text.ops = {"Relu"};
  text.fuse = "Abs(.)";
  EXPECT_EQ(error_of(text), "pattern 'p': fuse: only with match");
}

Graph random_graph(Rng& rng) {
  GraphBuilder b("random");
  std::vector<ValueId> values = {b.input("x", kType), b.input("y", kType), b.input("z", kType)};
  const std::vector<std::string> unary = {"Relu", "Abs", "Sigmoid"};
  for (std::uint64_t i = 0, count = 2 + rng.below(7); i < count; ++i) {
    const ValueId last = values.back();
    const ValueId other = values[rng.below(values.size())];
    values.push_back(rng.below(2) == 0
                         ? b.node("", unary[rng.below(3)], {last})
                         : b.node("", rng.below(2) == 0 ? "Add" : "Mul", {last, other}));
  }
  b.output(values.back());
  return b.build();
}

// A rule stands for the patterns that its links spell out one inside the other.
TEST(ChainMatcherProperty, FindsWhatTheSpelledOutPatternsFind) {
  const auto abs = [](const std::string& s, int) { return "Abs(" + s + ")"; };
  const auto add = [](const std::string& s, int i) {
    return "Add(" + s + ",Y" + std::to_string(i) + ")";
  };
  const auto swish = [](const std::string& s, int i) {
    const std::string name = "c" + std::to_string(i);
    return "Mul(" + name + "=" + s + ",Sigmoid(" + name + "))";
  };
  std::vector<Pattern> spelled = {parse_pattern(rule("Relu(X)", ""))};
  const std::vector<std::function<std::string(const std::string&, int)>> links = {abs, add, swish};
  for (const auto& first : links) {
    spelled.push_back(parse_pattern(rule(first("Relu(X)", 0), "")));
    for (const auto& second : links) {
      spelled.push_back(parse_pattern(rule(second(first("Relu(X)", 0), 1), "")));
    }
  }
  const Pattern fused = parse_pattern(rule("Relu(X)", "2: Abs(.); Add(.,Y); Mul(.,Sigmoid(.))"));
  Rng rng(7);
  std::size_t longer = 0;
  for (int i = 0; i < 3000; ++i) {
    const Graph graph = random_graph(rng);
    const NodeSets found = node_sets(graph, {fused});
    ASSERT_EQ(found, node_sets(graph, spelled)) << graph.to_text();
    longer += static_cast<std::size_t>(std::count_if(
        found.begin(), found.end(), [](const auto& nodes) { return nodes.size() > 1; }));
  }
  EXPECT_GT(longer, 500U);
}

}  // namespace
}  // namespace inlay
