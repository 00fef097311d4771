#include "core/run/measure.h"

#include <gtest/gtest.h>

#include "core/base/rng.h"
#include "tests/core/run/plan_builder.h"

namespace inlay {
namespace {

class MeasureTest : public testing::Test {
 protected:
  Stats measure_op(const std::string& op, const MeasureOptions& options) {
    PlanBuilder builder(host_);
    const int x = builder.input("x", {64});
    builder.run(op, {x}, builder.output("y", {64}));
    Executor executor(builder.plan(), builder.weights(), host_);
    Caches caches(host_.parallel_for());
    return measure(executor, std::vector{Tensor::zeros({DType::kF32, {64}})}, options, caches);
  }

  NullLog log_;
  PluginHost host_{log_,
                   {.search_path = runner_path(), .exclude = {}, .threads = 1, .parallel_for = {}}};
};

TEST_F(MeasureTest, SeesTheTimeAStepTakes) {
  // The operator sleeps for 20 ms, and a sleep is never shorter than asked for.
  const Stats stats =
      measure_op("Slow", {.min_samples = 3, .max_seconds = 10, .target_relative_ci = 10});
  EXPECT_GE(stats.low_ns, 20e6);
  EXPECT_LE(stats.low_ns, stats.median_ns);
  EXPECT_LE(stats.median_ns, stats.high_ns);
  EXPECT_EQ(stats.samples, 3);
}

TEST_F(MeasureTest, TakesOneSampleOfWhatIsTooSlow) {
  EXPECT_EQ(measure_op("Slow", {.max_seconds = 10, .give_up_ns = 1e6}).samples, 1);
}

TEST_F(MeasureTest, TakesFewSamplesOfWhatIsAlwaysSlowerThanItsRival) {
  const MeasureOptions options{.min_samples = 20, .max_seconds = 10, .rival_ns = 1e6};
  EXPECT_LT(measure_op("Slow", options).samples, 6);
  EXPECT_GE(measure_op("Increment", options).samples, 20);
}

TEST_F(MeasureTest, StopsOnceTheIntervalIsNarrowEnoughInNanoseconds) {
  const MeasureOptions options{
      .min_samples = 7, .max_seconds = 10, .target_relative_ci = 0, .target_ci_ns = 1e12};
  EXPECT_EQ(measure_op("Increment", options).samples, 7);
}

TEST_F(MeasureTest, StopsWhenTheTimeIsSpent) {
  EXPECT_EQ(measure_op("Slow", {.min_samples = 1000, .max_seconds = 0}).samples, 1);
}

TEST_F(MeasureTest, TakesAtLeastTheSamplesAskedFor) {
  EXPECT_GE(
      measure_op("Increment", {.min_samples = 50, .max_seconds = 10, .target_relative_ci = 10})
          .samples,
      50);
}

TEST(Stats, BoundTheMedianByOrderStatistics) {
  std::vector<double> samples;
  for (int i = 20; i >= 1; --i) samples.push_back(i);
  // Binomial(20, 1/2): at most 5 below with 2.07 %, at most 6 with 5.77 %.
  EXPECT_EQ(stats_of(&samples), (Stats{10.5, 6, 15, 20}));
}

TEST(Stats, AreTheExtremesOfFewSamples) {
  std::vector<double> samples = {3, 1, 2};
  EXPECT_EQ(stats_of(&samples), (Stats{2, 1, 3, 3}));
}

TEST(Stats, CoverTheMedianAsOftenAsTheyClaim) {
  Rng rng(1);
  for (const int n : {6, 15, 100, 1200}) {
    int covered = 0;
    constexpr int kTrials = 400;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<double> samples;
      for (int i = 0; i < n; ++i) samples.push_back(std::exp(rng.normal()));  // median 1
      const Stats stats = stats_of(&samples);
      covered += stats.low_ns <= 1 && 1 <= stats.high_ns ? 1 : 0;
    }
    EXPECT_GE(covered, kTrials * 92 / 100) << n;  // 95 % less about three standard errors
  }
}

}  // namespace
}  // namespace inlay
