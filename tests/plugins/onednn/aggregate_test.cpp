#include <gtest/gtest.h>

#include "tests/plugins/agreement.h"
#include "tests/plugins/onednn/random_shape.h"

namespace inlay {
namespace {

constexpr std::int64_t kNodes = 11, kEdges = 40;

// Nodes' numbers; the last node is left out, so that some sum is empty.
std::vector<std::int64_t> draw_nodes(Draw& draw, std::int64_t count) {
  std::vector<std::int64_t> nodes;
  for (std::int64_t i = 0; i < count; ++i) nodes.push_back(draw.between(0, kNodes - 2));
  return nodes;
}

// The rows' numbers repeated along the columns, as exporters write them.
Tensor repeated(const std::vector<std::int64_t>& rows, std::int64_t columns) {
  std::vector<std::int64_t> all;
  for (const std::int64_t row : rows) {
    all.insert(all.end(), static_cast<std::size_t>(columns), row);
  }
  return Tensor::from<std::int64_t>({std::ssize(rows), columns}, all);
}

Attributes adding() { return {{"axis", std::int64_t{0}}, {"reduction", std::string("add")}}; }

TEST(OnednnAggregate, AddsRowsToWhereTheyBelong) {
  Agreement agreement("onednn", 2);
  for (const std::int64_t columns : {1, 7, 16}) {
    Draw draw(static_cast<std::uint64_t>(columns));
    RegionCase c("aggregate");
    const int rows = c.constant("I", repeated(draw_nodes(draw, kEdges), columns));
    c.apply("ScatterElements",
            {c.input("D", {kNodes, columns}), rows, c.input("U", {kEdges, columns})},
            {kNodes, columns}, adding());
    EXPECT_EQ(agreement.check(c), "") << columns;
  }
}

TEST(OnednnAggregate, ColumnsMayGoToDifferentRows) {
  Agreement agreement("onednn", 2);
  Draw draw(3);
  RegionCase c("aggregate");
  const int rows =
      c.constant("I", Tensor::from<std::int64_t>({kEdges, 3}, draw_nodes(draw, 3 * kEdges)));
  c.apply("ScatterElements", {c.input("D", {kNodes, 3}), rows, c.input("U", {kEdges, 3})},
          {kNodes, 3}, adding());
  EXPECT_EQ(agreement.check(c), "");
}

TEST(OnednnAggregate, GathersAndWeighsTheMessages) {
  Agreement agreement("onednn", 2);
  for (const bool has_weights : {false, true}) {
    Draw draw(5);
    RegionCase c("aggregate_edges");
    int messages =
        c.apply("Gather",
                {c.input("H", {kNodes, 5}),
                 c.constant("J", Tensor::from<std::int64_t>({kEdges}, draw_nodes(draw, kEdges)))},
                {kEdges, 5}, {{"axis", std::int64_t{0}}});
    if (has_weights) {
      messages = c.apply("Mul", {messages, c.constant("E", {kEdges, 1})}, {kEdges, 5});
    }
    c.apply("ScatterElements",
            {c.input("D", {kNodes, 5}), c.constant("I", repeated(draw_nodes(draw, kEdges), 5)),
             messages},
            {kNodes, 5}, adding());
    EXPECT_EQ(agreement.check(c), "");
  }
}

TEST(OnednnAggregate, StartsWithTheNodesThemselves) {
  Agreement agreement("onednn", 2);
  Draw draw(7);
  RegionCase c("aggregate_graph");
  const int h = c.input("H", {kNodes, 5});
  const int own = c.apply("Mul", {h, c.constant("N", {kNodes, 1})}, {kNodes, 5});
  const int gathered =
      c.apply("Gather",
              {h, c.constant("J", Tensor::from<std::int64_t>({kEdges}, draw_nodes(draw, kEdges)))},
              {kEdges, 5}, {{"axis", std::int64_t{0}}});
  const int messages = c.apply("Mul", {gathered, c.constant("E", {kEdges, 1})}, {kEdges, 5});
  c.apply("ScatterElements",
          {own, c.constant("I", repeated(draw_nodes(draw, kEdges), 5)), messages}, {kNodes, 5},
          adding());
  EXPECT_EQ(agreement.check(c), "");
}

TEST(OnednnAggregate, DeclinesWhatIsNoSum) {
  Agreement agreement("onednn", 1);
  RegionCase c("aggregate");
  c.apply("ScatterElements",
          {c.input("D", {3, 2}), c.constant("I", repeated({0, 2}, 2)), c.input("U", {2, 2})},
          {3, 2}, {{"axis", std::int64_t{0}}, {"reduction", std::string("max")}});
  EXPECT_EQ(agreement.check(c), "declined: ScatterElements: oneDNN can only add");
}

}  // namespace
}  // namespace inlay
