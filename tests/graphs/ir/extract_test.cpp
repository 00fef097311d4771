#include "graphs/ir/extract.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/graphs/ir/random_graph.h"

namespace inlay {
namespace {

using Reach = std::vector<std::vector<bool>>;

// reach[a][b]: a path of at least one edge leads from a to b.
Reach reachability(const Graph& graph) {
  const auto n = static_cast<std::size_t>(graph.node_count());
  Reach reach(n, std::vector<bool>(n, false));
  for (std::size_t a = n; a-- > 0;) {
    for (const ValueId value : graph.node(NodeId{static_cast<int>(a)}).outputs) {
      for (const NodeId to : graph.consumers(value)) {
        const auto b = static_cast<std::size_t>(to.index);
        reach[a][b] = true;
        for (std::size_t c = 0; c < n; ++c) {
          if (reach[b][c]) reach[a][c] = true;
        }
      }
    }
  }
  return reach;
}

TEST(FindEscape, AgreesWithBruteForceOnRandomSets) {
  Rng rng(7);
  int convex_sets = 0;
  int other_sets = 0;
  for (int round = 0; round < 400; ++round) {
    const Graph graph = random_graph(rng, 14);
    const auto n = static_cast<std::size_t>(graph.node_count());
    const Reach reach = reachability(graph);
    std::vector<bool> in_set(n, false);
    std::vector<NodeId> nodes;
    const std::size_t wanted = 2 + rng.below(5);
    while (nodes.size() < wanted) {
      const std::size_t i = rng.below(n);
      if (!in_set[i]) nodes.push_back(NodeId{static_cast<int>(i)});
      in_set[i] = true;
    }
    const auto lies_between = [&](std::size_t x) {
      bool from = false;
      bool to = false;
      for (std::size_t i = 0; i < n; ++i) {
        from = from || (in_set[i] && reach[i][x]);
        to = to || (in_set[i] && reach[x][i]);
      }
      return !in_set[x] && from && to;
    };
    bool is_convex_by_definition = true;
    for (std::size_t x = 0; x < n; ++x) {
      is_convex_by_definition = is_convex_by_definition && !lies_between(x);
    }
    (is_convex_by_definition ? convex_sets : other_sets) += 1;
    const auto escape = find_escape(graph, nodes);
    ASSERT_EQ(!escape.has_value(), is_convex_by_definition) << graph.to_text();
    EXPECT_EQ(is_convex(graph, nodes), is_convex_by_definition);
    if (escape) {
      EXPECT_TRUE(lies_between(static_cast<std::size_t>(escape->index)));
    }
  }
  EXPECT_GT(convex_sets, 20);  // the sample has both kinds
  EXPECT_GT(other_sets, 20);
}

Graph diamond() {
  GraphBuilder b("diamond");
  const ValueId x = b.input("x", {DType::kF32, {2}});
  const ValueId top = b.node("top", "Relu", {x});
  const ValueId left = b.node("left", "Exp", {top});
  const ValueId right = b.node("right", "Neg", {top});
  b.output(b.node("bottom", "Add", {left, right}));
  return b.build();
}

TEST(FindEscape, NamesTheNodeBetween) {
  const Graph graph = diamond();
  const std::vector<NodeId> nodes = {{0}, {1}, {3}};
  EXPECT_EQ(find_escape(graph, nodes), graph.find_node("right"));
}

TEST(QuotientCycles, FindsGroupsThatNeedEachOther) {
  const Graph graph = diamond();
  const std::vector<int> crossed = {0, 1, 0, 1};  // top+right, left+bottom: 0 feeds 1 only
  EXPECT_TRUE(quotient_cycles(graph, crossed).empty());
  const std::vector<int> cyclic = {0, 1, 2, 0};
  EXPECT_EQ(quotient_cycles(graph, cyclic), (std::vector<std::vector<int>>{{0, 1, 2}}));
  EXPECT_FALSE(quotient_order(graph, cyclic).has_value());
}

TEST(QuotientOrder, ExistsExactlyWithoutCyclesAndRespectsEveryEdge) {
  Rng rng(11);
  int orders = 0;
  for (int round = 0; round < 200; ++round) {
    const Graph graph = random_graph(rng, 12);
    // Runs of neighbouring indices, and now and then one node moved: both outcomes occur.
    std::vector<int> group_of(static_cast<std::size_t>(graph.node_count()));
    const int groups = (graph.node_count() + 2) / 3;
    for (std::size_t i = 0; i < group_of.size(); ++i) group_of[i] = static_cast<int>(i) / 3;
    if (rng.below(2) == 0)
      group_of[rng.below(group_of.size())] =
          static_cast<int>(rng.below(static_cast<std::uint64_t>(groups)));
    const auto order = quotient_order(graph, group_of);
    EXPECT_EQ(order.has_value(), quotient_cycles(graph, group_of).empty());
    if (!order) continue;
    ++orders;
    std::vector<std::size_t> position(order->size());
    for (std::size_t i = 0; i < order->size(); ++i) {
      position[static_cast<std::size_t>((*order)[i])] = i;
    }
    for (int i = 0; i < graph.value_count(); ++i) {
      const NodeId producer = graph.value(ValueId{i}).producer;
      if (producer == kNoNode) continue;
      for (const NodeId reader : graph.consumers(ValueId{i})) {
        EXPECT_LE(
            position[static_cast<std::size_t>(group_of[static_cast<std::size_t>(producer.index)])],
            position[static_cast<std::size_t>(group_of[static_cast<std::size_t>(reader.index)])]);
      }
    }
  }
  EXPECT_GT(orders, 20);
  EXPECT_LT(orders, 200);
}

TEST(PostDominators, LeadFromBothArmsOfADiamondToItsEnd) {
  const Graph graph = diamond();
  const NodeId bottom = *graph.find_node("bottom");
  EXPECT_EQ(post_dominators(graph), (std::vector<NodeId>{bottom, bottom, bottom, kNoNode}));
}

}  // namespace
}  // namespace inlay
