#include "core/plan/memory_plan.h"

#include <gtest/gtest.h>

#include "core/base/rng.h"

namespace inlay {
namespace {

std::uint64_t aligned(std::uint64_t size) { return (size + 63) / 64 * 64; }

void expect_valid(const std::vector<Lifetime>& lifetimes, const ArenaPlan& plan) {
  ASSERT_EQ(plan.offsets.size(), lifetimes.size());
  for (std::size_t a = 0; a < lifetimes.size(); ++a) {
    EXPECT_EQ(plan.offsets[a] % 64, 0u);
    EXPECT_LE(plan.offsets[a] + lifetimes[a].size_bytes, plan.size_bytes);
    for (std::size_t b = 0; b < a; ++b) {
      const bool live_together =
          lifetimes[a].first <= lifetimes[b].last && lifetimes[b].first <= lifetimes[a].last;
      const bool overlap = plan.offsets[a] < plan.offsets[b] + lifetimes[b].size_bytes &&
                           plan.offsets[b] < plan.offsets[a] + lifetimes[a].size_bytes;
      EXPECT_FALSE(live_together && overlap && lifetimes[a].size_bytes > 0 &&
                   lifetimes[b].size_bytes > 0)
          << a << " and " << b;
    }
  }
}

std::uint64_t brute_force_bound(const std::vector<Lifetime>& lifetimes, int steps) {
  std::uint64_t most = 0;
  for (int s = 0; s <= steps; ++s) {
    std::uint64_t live = 0;
    for (const Lifetime& l : lifetimes) {
      if (l.first <= s && s <= l.last) live += aligned(l.size_bytes);
    }
    most = std::max(most, live);
  }
  return most;
}

TEST(MemoryPlan, NeverOverlapsWhatLivesTogether) {
  Rng rng(1);
  for (int trial = 0; trial < 300; ++trial) {
    const int steps = 1 + static_cast<int>(rng.below(40));
    std::vector<Lifetime> lifetimes(rng.below(60));
    for (Lifetime& l : lifetimes) {
      l.first = static_cast<int>(rng.below(static_cast<std::uint64_t>(steps)));
      l.last = l.first + static_cast<int>(rng.below(static_cast<std::uint64_t>(steps - l.first)));
      l.size_bytes = rng.below(5000);
    }
    const ArenaPlan plan = plan_arena(lifetimes);
    expect_valid(lifetimes, plan);
    EXPECT_EQ(plan.lower_bound_bytes, brute_force_bound(lifetimes, steps));
    EXPECT_GE(plan.size_bytes, plan.lower_bound_bytes);
  }
}

TEST(MemoryPlan, ReachesTheBoundOnAChain) {
  std::vector<Lifetime> lifetimes;
  for (int s = 0; s < 100; ++s) lifetimes.push_back({s, s + 1, 4096});
  const ArenaPlan plan = plan_arena(lifetimes);
  EXPECT_EQ(plan.size_bytes, 2u * 4096);
  EXPECT_EQ(plan.size_bytes, plan.lower_bound_bytes);
}

TEST(MemoryPlan, TakesTheSmallestGapThatFits) {
  // At step 5 the first and the third are dead and leave gaps of 4096 and 1024 bytes.
  const std::vector<Lifetime> lifetimes = {
      {0, 1, 4096}, {0, 9, 2048}, {0, 1, 1024}, {0, 9, 512}, {5, 6, 448}};
  const ArenaPlan plan = plan_arena(lifetimes);
  expect_valid(lifetimes, plan);
  EXPECT_EQ(plan.offsets[4], plan.offsets[2]);
}

TEST(MemoryPlan, OfNothingIsEmpty) {
  const ArenaPlan plan = plan_arena({});
  EXPECT_EQ(plan.size_bytes, 0u);
  EXPECT_EQ(plan.lower_bound_bytes, 0u);
}

TEST(MemoryPlan, PlacesFortyThousandValues) {
  Rng rng(2);
  std::vector<Lifetime> lifetimes;
  for (int s = 0; s < 40000; ++s) {
    lifetimes.push_back({s, s + 1 + static_cast<int>(rng.below(4)), 64 + rng.below(100000)});
  }
  const ArenaPlan plan = plan_arena(lifetimes);
  EXPECT_GE(plan.size_bytes, plan.lower_bound_bytes);
  EXPECT_LE(plan.size_bytes, plan.lower_bound_bytes * 3 / 2);  // greedy by size stays near it
}

}  // namespace
}  // namespace inlay
