#include "search/cost/work.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "search/strategies/strategy.h"
#include "tests/search/strategies/random_problem.h"

namespace inlay {
namespace {

// The problem with those conversions only that price() would measure.
RandomProblem with_needed_conversions(RandomProblem problem) {
  for (std::size_t i = 0; i < problem.candidates.list.size(); ++i) {
    if (problem.candidates.list[i].plugin == kViewPlugin) {
      problem.costs.candidates[i].cost = Cost{0, 0, 0, 1};  // as price() has it
    }
  }
  std::map<ConversionKey, ConversionCost> priced;
  for (const ConversionWork& work :
       needed_conversions(problem.graph, problem.candidates, problem.costs.candidates)) {
    const ConversionKey key{to_string(work.type), work.from.text(), work.to.text()};
    EXPECT_NE(work.from, work.to);
    EXPECT_TRUE(priced.emplace(key, problem.costs.conversions.at(key)).second) << "twice";
  }
  problem.costs.conversions = std::move(priced);
  return problem;
}

Graph with_weights(std::int64_t floats) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", {DType::kF32, {floats}});
  const ValueId w = b.constant("w", Tensor::zeros({DType::kF32, {floats}}));
  b.output(b.node("a", "Add", {x, w}));
  return b.build();
}

TEST(BytesBetweenRuns, AreTheModelsWeightsRoundedUpToAPowerOfTwoWithinLimits) {
  constexpr std::int64_t kMiB = std::int64_t{1} << 20;
  EXPECT_EQ(bytes_between_runs(with_weights(1)), 8 * kMiB);
  EXPECT_EQ(bytes_between_runs(with_weights(2 * kMiB)), 8 * kMiB);
  EXPECT_EQ(bytes_between_runs(with_weights(2 * kMiB + 1)), 16 * kMiB);
  EXPECT_EQ(bytes_between_runs(with_weights(7 * kMiB)), 32 * kMiB);
  EXPECT_EQ(bytes_between_runs(with_weights(100 * kMiB)), 64 * kMiB);
}

// A conversion that was not priced is an internal error in total_cost and in the strategies.
TEST(NeededConversions, AreAllThatAnyPlacementAsksFor) {
  Rng rng(50);
  int solved = 0;
  int converting = 0;
  for (int i = 0; i < 1500; ++i) {
    const RandomProblem whole = random_problem(rng);
    const RandomProblem p = with_needed_conversions(whole);
    SearchResult best;
    try {
      best = search_exhaustive(p.graph, p.candidates, p.costs);
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), Code::kUnsupported) << error.what();
      continue;
    }
    ++solved;
    EXPECT_EQ(search_dynamic(p.graph, p.candidates, p.costs, {}).predicted_ns, best.predicted_ns);
    EXPECT_EQ(search_exhaustive(whole.graph, whole.candidates, whole.costs).predicted_ns,
              best.predicted_ns);
    for (const char* plugin : {"alpha", "beta", "reference"}) {
      search_single(p.graph, p.candidates, p.costs, plugin, {});
    }
    CostTable free = p.costs;
    for (auto& [key, conversion] : free.conversions) conversion.cost.ns = 0;
    converting += total_cost(p.graph, p.candidates, free, best.placement) < best.predicted_ns;
  }
  // It must mostly be about problems that have an answer, often one that converts.
  EXPECT_GT(solved, 750);
  EXPECT_GT(converting, 150);
}

TEST(NeededConversions, LeaveOutWhatOnlyUnpricedCandidatesWant) {
  Rng rng(51);
  RandomProblem p = random_problem(rng);
  for (CandidateCost& cost : p.costs.candidates) cost = {};
  EXPECT_TRUE(needed_conversions(p.graph, p.candidates, p.costs.candidates).empty());
}

}  // namespace
}  // namespace inlay
