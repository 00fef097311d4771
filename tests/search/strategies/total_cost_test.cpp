#include <gtest/gtest.h>

#include "core/base/error.h"
#include "search/strategies/strategy.h"
#include "tests/search/strategies/random_problem.h"

namespace inlay {
namespace {

const TensorType kType{DType::kF32, {4, 4}};
const Layout kDense = Layout::dense(2);
const Layout kSwapped = *parse_layout("ba");

// x → n0 → n1, n2; both outputs of the graph.
RandomProblem fork() {
  GraphBuilder b("fork");
  const auto add = [&b](ValueId from) {
    Node node;
    node.domain = "test";
    node.op = "Opaque";
    node.inputs = {from};
    return b.node_with_types(node, {kType}, {})[0];
  };
  const ValueId a = add(b.input("x", kType));
  b.output(add(a));
  b.output(add(a));
  RandomProblem p{b.build(), {}, {}};
  price_conversions(p, {kDense, kSwapped}, 100);
  p.costs.dispatch_ns = 1000;
  return p;
}

TEST(TotalCost, AddsCandidatesAndDispatchPerStep) {
  RandomProblem p = fork();
  add_candidate(p, {{0}}, "alpha", kDense, kDense, 1);
  add_candidate(p, {{1}, {2}}, "alpha", kDense, kDense, 2);
  EXPECT_EQ(total_cost(p.graph, p.candidates, p.costs, {{0, 1}}), 2003);
}

TEST(TotalCost, ViewsAreFree) {
  RandomProblem p = fork();
  add_candidate(p, {{0}}, kViewPlugin, kDense, kDense, 1);
  add_candidate(p, {{1}, {2}}, "alpha", kDense, kDense, 2);
  EXPECT_EQ(total_cost(p.graph, p.candidates, p.costs, {{0, 1}}), 1002);
}

TEST(TotalCost, ChargesOneConversionPerValueAndLayout) {
  RandomProblem p = fork();
  add_candidate(p, {{0}}, "alpha", kDense, kDense, 1);
  add_candidate(p, {{1}}, "alpha", kSwapped, kDense, 2);
  add_candidate(p, {{2}}, "alpha", kSwapped, kDense, 3);
  EXPECT_EQ(total_cost(p.graph, p.candidates, p.costs, {{0, 1, 2}}), 3106);
}

TEST(TotalCost, GraphInputsAndOutputsAreDense) {
  RandomProblem p = fork();
  add_candidate(p, {{0}}, "alpha", kSwapped, kSwapped, 1);
  add_candidate(p, {{1}, {2}}, "alpha", kSwapped, kSwapped, 2);
  // x, and both graph outputs.
  EXPECT_EQ(total_cost(p.graph, p.candidates, p.costs, {{0, 1}}), 2303);
}

TEST(TotalCost, RefusesACandidateWithoutCost) {
  RandomProblem p = fork();
  add_candidate(p, {{0}, {1}, {2}}, "alpha", kDense, kDense, 1);
  p.costs.candidates[0] = {std::nullopt, "crashed"};
  EXPECT_THROW(total_cost(p.graph, p.candidates, p.costs, {{0}}), Error);
}

TEST(MakePlacement, OrdersStepsForExecution) {
  RandomProblem p = fork();
  add_candidate(p, {{1}, {2}}, "alpha", kDense, kDense, 2);
  add_candidate(p, {{0}}, "alpha", kDense, kDense, 1);
  EXPECT_EQ(make_placement(p.graph, p.candidates, {0, 1})->candidates, (std::vector<int>{1, 0}));
}

TEST(MakePlacement, RefusesGapsOverlapsAndCycles) {
  RandomProblem p = fork();
  add_candidate(p, {{0}}, "alpha", kDense, kDense, 1);
  add_candidate(p, {{0}, {1}}, "alpha", kDense, kDense, 1);
  add_candidate(p, {{1}, {2}}, "alpha", kDense, kDense, 1);
  add_candidate(p, {{2}}, "alpha", kDense, kDense, 1);
  EXPECT_FALSE(make_placement(p.graph, p.candidates, {0}));
  EXPECT_FALSE(make_placement(p.graph, p.candidates, {1, 2}));
  EXPECT_TRUE(make_placement(p.graph, p.candidates, {1, 3}));

  GraphBuilder b("chain");
  ValueId x = b.input("x", kType);
  for (int i = 0; i < 3; ++i) {
    Node node;
    node.domain = "test";
    node.op = "Opaque";
    node.inputs = {x};
    x = b.node_with_types(node, {kType}, {})[0];
  }
  b.output(x);
  RandomProblem chain{b.build(), {}, {}};
  add_candidate(chain, {{0}, {2}}, "alpha", kDense, kDense, 1);  // not convex: n1 lies between
  add_candidate(chain, {{1}}, "alpha", kDense, kDense, 1);
  EXPECT_FALSE(make_placement(chain.graph, chain.candidates, {0, 1}));
}

TEST(StopReason, HasAName) {
  EXPECT_STREQ(stop_reason_name(StopReason::kOptimal), "optimal");
  EXPECT_STREQ(stop_reason_name(StopReason::kBeamLimit), "beam_limit");
}

}  // namespace
}  // namespace inlay
