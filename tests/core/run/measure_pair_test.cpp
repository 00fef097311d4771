#include "core/run/measure_pair.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "core/base/rng.h"

namespace inlay {
namespace {

// Times are invented, so that only pairs and widths end the race.
constexpr double kForever = 1e9;

TEST(MeasurePair, TakesTurnsAndWarmsUpFirst) {
  std::string order;
  const auto run = [&order](char name) {
    return [&order, name] {
      order += name;
      return 100.0;
    };
  };
  const PairStats stats =
      measure_pair(run('a'), run('b'),
                   {.min_pairs = 6, .max_pairs = 4, .max_seconds = kForever, .target_width = 0});
  EXPECT_EQ(stats.pairs, 4);
  EXPECT_EQ(order,
            "abab"
            "abba"
            "abba");
}

TEST(MeasurePair, ExactTimesGiveTheExactRatioAndNoWidth) {
  const PairStats stats = measure_pair([] { return 200.0; }, [] { return 100.0; },
                                       {.min_pairs = 5, .max_seconds = kForever});
  EXPECT_EQ(stats.pairs, 5);
  EXPECT_EQ(stats.first.median_ns, 200);
  EXPECT_EQ(stats.second.median_ns, 100);
  // Sums of five logarithms, and the square root of what is left of their squares.
  EXPECT_NEAR(stats.log_ratio, std::log(2.0), 1e-12);
  EXPECT_NEAR(stats.log_ratio_low, std::log(2.0), 1e-6);
  EXPECT_NEAR(stats.log_ratio_high, std::log(2.0), 1e-6);
}

TEST(MeasurePair, AMachineThatSlowsDownSlowsBothAlike) {
  double pace = 1;
  const auto run = [&pace](double ns) {
    return [&pace, ns] {
      pace *= 1.002;  // more than twice as slow at the end
      return ns * pace;
    };
  };
  const PairStats stats = measure_pair(
      run(100), run(110), {.max_pairs = 200, .max_seconds = kForever, .target_width = 0});
  EXPECT_EQ(stats.pairs, 200);
  // Taking turns, each is ahead as often as the other: what is left is far below the drift.
  EXPECT_NEAR(stats.log_ratio, std::log(100.0 / 110.0), 1e-3);
  EXPECT_LT(stats.log_ratio_high, 0);
}

TEST(MeasurePair, StopsOnceTheIntervalIsNarrowAndNoSooner) {
  Rng rng(1);
  const auto noisy = [&rng] { return 100 * std::exp(0.05 * rng.normal()); };
  const PairOptions wide{.max_seconds = kForever, .target_width = 0.1};
  const PairOptions narrow{.max_seconds = kForever, .target_width = 0.02};
  const PairStats rough = measure_pair(noisy, noisy, wide);
  const PairStats fine = measure_pair(noisy, noisy, narrow);
  EXPECT_LE(rough.log_ratio_high - rough.log_ratio_low, 0.1);
  EXPECT_LE(fine.log_ratio_high - fine.log_ratio_low, 0.02);
  EXPECT_GE(rough.pairs, wide.min_pairs);
  EXPECT_GT(fine.pairs, rough.pairs);
  EXPECT_LT(fine.pairs, narrow.max_pairs);
}

TEST(MeasurePair, SpentTimeStillGivesTwoPairs) {
  const PairStats stats = measure_pair([] { return 1.0; }, [] { return 2.0; }, {.max_seconds = 0});
  EXPECT_EQ(stats.pairs, 2);
}

TEST(MeasurePair, TheIntervalHoldsTheTruthAsOftenAsItClaims) {
  Rng rng(2);
  constexpr int kTrials = 1000;
  for (const int pairs : {2, 3, 5, 12, 100}) {
    int covered = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      const PairStats stats =
          measure_pair([&rng] { return 100 * std::exp(0.1 * rng.normal()); },
                       [&rng] { return 120 * std::exp(0.1 * rng.normal()); },
                       {.max_pairs = pairs, .max_seconds = kForever, .target_width = 0});
      const double truth = std::log(100.0 / 120.0);
      covered += stats.log_ratio_low <= truth && truth <= stats.log_ratio_high ? 1 : 0;
    }
    // 95% less about four standard errors, and the 2% that Student's t is off.
    EXPECT_GE(covered, kTrials * 92 / 100) << pairs;
    EXPECT_LE(covered, kTrials * 98 / 100) << pairs;
  }
}

}  // namespace
}  // namespace inlay
