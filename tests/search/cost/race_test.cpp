#include "search/cost/race.h"

#include <gtest/gtest.h>

#include "search/cost/price.h"
#include "tests/search/cost/price_fixture.h"

namespace inlay {
namespace {

TEST_F(PriceTest, RaceIsKeptAndReadsBackwardsToo) {
  use({"good"});
  const Candidates candidates = find_candidates(graph_, *host_);
  const auto plan_on = [&](const std::string& plugin) {
    return lower_region(make_region(graph_, candidates.list[candidate_of(candidates, plugin)]),
                        plugin, *host_);
  };
  const Lowered first = plan_on("good");
  const Lowered second = plan_on("reference");
  const RaceResult made = race(first, second, context());
  EXPECT_FALSE(made.from_database);
  EXPECT_GE(made.pairs, 2);
  EXPECT_GT(made.first.ns, 0);
  EXPECT_LE(made.log_ratio_low, made.log_ratio);
  EXPECT_GE(made.log_ratio_high, made.log_ratio);
  const RaceResult again = race(first, second, context());
  EXPECT_TRUE(again.from_database);
  EXPECT_EQ(again.log_ratio, made.log_ratio);
  const RaceResult backwards = race(second, first, context());
  EXPECT_TRUE(backwards.from_database);
  EXPECT_EQ(backwards.log_ratio, -made.log_ratio);
  EXPECT_EQ(backwards.log_ratio_low, -made.log_ratio_high);
  EXPECT_EQ(backwards.first.ns, made.second.ns);
}

}  // namespace
}  // namespace inlay
