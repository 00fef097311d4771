#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/rng.h"
#include "graphs/ir/graph.h"
#include "graphs/pattern/pattern.h"
#include "tests/graphs/pattern/brute_force_match.h"

namespace inlay {
namespace {

// A few operators only, so that patterns meet them: Add and Mul commute, Sub and Div do not.
const std::vector<std::string> kUnary = {"Relu", "Tanh"};
const std::vector<std::string> kBinary = {"Add", "Mul", "Sub", "Div"};

Graph random_graph(Rng& rng) {
  GraphBuilder b("random");
  const TensorType type{DType::kF32, {2, 3}};
  std::vector<ValueId> values = {b.input("x", type), b.input("y", type)};
  const std::uint64_t count = 2 + rng.below(6);
  // Recent values are preferred: chains are what patterns match.
  const auto pick = [&] {
    return rng.below(3) == 0
               ? values[rng.below(values.size())]
               : values[values.size() - 1 - rng.below(std::min<std::size_t>(2, values.size()))];
  };
  for (std::uint64_t i = 0; i < count; ++i) {
    const ValueId a = pick();
    if (rng.below(2) == 0) {
      values.push_back(b.node("", kUnary[rng.below(kUnary.size())], {a}));
    } else {
      values.push_back(b.node("", kBinary[rng.below(kBinary.size())], {a, pick()}));
    }
  }
  b.output(values.back());
  if (rng.below(3) == 0) b.output(values[2 + rng.below(count)]);
  return b.build();
}

// Match text of up to four nodes with optional nodes, alternatives and repeated variables.
std::string random_match(Rng& rng, int depth, int& budget, bool is_root) {
  --budget;
  const bool is_unary = rng.below(2) == 0;
  const std::vector<std::string>& ops = is_unary ? kUnary : kBinary;
  std::string text = ops[rng.below(ops.size())];
  if (rng.below(4) == 0) text = "[" + text + "|" + ops[rng.below(ops.size())] + "]";
  if (!is_root && rng.below(4) == 0) text += "?";
  text += "(";
  for (int i = 0; i < (is_unary ? 1 : 2); ++i) {
    if (i > 0) text += ",";
    if (depth < 2 && budget > 0 && rng.below(2) == 0) {
      text += random_match(rng, depth + 1, budget, false);
    } else {
      text += static_cast<char>('A' + rng.below(3));
      if (rng.below(6) == 0) text += "?";
    }
  }
  return text + ")";
}

TEST(MatcherProperty, FindsExactlyWhatTheDefinitionSays) {
  Rng rng(30);
  std::size_t matched = 0;
  for (int i = 0; i < 4000; ++i) {
    const Graph graph = random_graph(rng);
    int budget = 4;
    PatternText text;
    text.id = "p";
    text.match = random_match(rng, 0, budget, true);
    const Pattern pattern = parse_pattern(text);
    std::set<std::vector<NodeId>> found;
    for (const Match& match : match_patterns(graph, {pattern}).matches) {
      std::vector<NodeId> nodes = match.nodes;
      std::sort(nodes.begin(), nodes.end());
      ASSERT_TRUE(found.insert(nodes).second) << "twice: " << text.match << "\n" << graph.to_text();
    }
    ASSERT_EQ(found, brute_force_matches(graph, pattern)) << text.match << "\n" << graph.to_text();
    matched += found.size();
  }
  // Enough of the random pairs must have something to find, or the comparison says little.
  EXPECT_GT(matched, 1500U);
}

TEST(MatcherProperty, NodesOfAMatchStandInTopologicalOrderWithTheRootLast) {
  Rng rng(31);
  for (int i = 0; i < 500; ++i) {
    const Graph graph = random_graph(rng);
    PatternText text;
    text.id = "p";
    text.match = "[Add|Mul]([Relu|Tanh]?(A),[Relu|Tanh|Add|Sub]?(B,C?))";
    for (const Match& match : match_patterns(graph, {parse_pattern(text)}).matches) {
      for (std::size_t n = 0; n < match.nodes.size(); ++n) {
        for (const ValueId input : graph.node(match.nodes[n]).inputs) {
          const NodeId producer = graph.value(input).producer;
          const auto at = std::find(match.nodes.begin(), match.nodes.end(), producer);
          EXPECT_TRUE(at == match.nodes.end() ||
                      at < match.nodes.begin() + static_cast<std::ptrdiff_t>(n));
        }
      }
      const std::string& root = graph.node(match.nodes.back()).op;
      EXPECT_TRUE(root == "Add" || root == "Mul");
    }
  }
}

}  // namespace
}  // namespace inlay
