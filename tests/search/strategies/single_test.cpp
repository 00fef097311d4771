#include <gtest/gtest.h>

#include <algorithm>

#include "search/strategies/strategy.h"
#include "tests/search/strategies/random_problem.h"

namespace inlay {
namespace {

const TensorType kType{DType::kF32, {4, 4}};
const Layout kDense = Layout::dense(2);

RandomProblem chain(int nodes) {
  GraphBuilder b("chain");
  ValueId x = b.input("x", kType);
  for (int i = 0; i < nodes; ++i) {
    Node node;
    node.domain = "test";
    node.op = "Opaque";
    node.inputs = {x};
    x = b.node_with_types(node, {kType}, {})[0];
  }
  b.output(x);
  return {b.build(), {}, {}};
}

TEST(SinglePlugin, TheReferenceFillsGapsOnly) {
  RandomProblem p = chain(3);
  for (std::int32_t n = 0; n < 3; ++n) add_candidate(p, {{n}}, "reference", kDense, kDense, 1);
  add_candidate(p, {{0}}, "alpha", kDense, kDense, 5);
  add_candidate(p, {{2}}, "alpha", kDense, kDense, 5);
  add_candidate(p, {{1}}, "beta", kDense, kDense, 0);
  const auto found = search_single(p.graph, p.candidates, p.costs, "alpha", {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->placement.candidates, (std::vector<int>{3, 1, 4}));
  EXPECT_EQ(found->predicted_ns, 11);
  EXPECT_EQ(found->stop, StopReason::kComplete);
}

TEST(SinglePlugin, TheReferenceHelpsWherePluginRegionsDoNotFitTogether) {
  RandomProblem p = chain(3);
  for (std::int32_t n = 0; n < 3; ++n) add_candidate(p, {{n}}, "reference", kDense, kDense, 10);
  add_candidate(p, {{0}, {1}}, "alpha", kDense, kDense, 1);
  add_candidate(p, {{1}, {2}}, "alpha", kDense, kDense, 2);
  const auto found = search_single(p.graph, p.candidates, p.costs, "alpha", {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->predicted_ns, 11);
}

TEST(SinglePlugin, ThereIsNoneIfANodeHasNeitherPluginNorReference) {
  RandomProblem p = chain(2);
  add_candidate(p, {{0}}, "alpha", kDense, kDense, 1);
  add_candidate(p, {{1}}, "beta", kDense, kDense, 1);
  EXPECT_FALSE(search_single(p.graph, p.candidates, p.costs, "alpha", {}));
}

TEST(SinglePlugin, FreeViewsBelongToEveryPlugin) {
  RandomProblem p = chain(2);
  add_candidate(p, {{0}}, "alpha", kDense, kDense, 1);
  add_candidate(p, {{1}}, kViewPlugin, kDense, kDense, 0);
  const auto found = search_single(p.graph, p.candidates, p.costs, "alpha", {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->predicted_ns, 1);
}

}  // namespace
}  // namespace inlay
