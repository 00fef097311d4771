#include "search/place.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/search/cost/rivals/rival_test.h"

namespace inlay {
namespace {

// Two different Relus. What runs in company in the worker fails only when a whole plan runs.
Graph two_relus() {
  GraphBuilder b("two");
  for (const std::int64_t size : {512, 513}) {
    const std::string name = std::to_string(size);
    const ValueId x = b.input("x" + name, {DType::kF32, {64, size}});
    b.output(b.node("r" + name, "Relu", {x}));
  }
  return b.build();
}

using PlaceTest = RivalTest;

// How many steps of the plan run on the plugin.
std::ptrdiff_t steps_on(const Plan& plan, const std::string& plugin) {
  return std::count_if(plan.steps.begin(), plan.steps.end(), [&](const PlanStep& step) {
    return step.kind == StepKind::kRun &&
           plan.plugins[static_cast<std::size_t>(step.plugin)].name == plugin;
  });
}

// Step by step the plugin is right and fast; two of its kernels at once fail.
TEST_F(PlaceTest, AContenderThatFailsInTheRaceIsOutWithItsReason) {
  use({"loner"});
  for (const std::string& strategy : strategy_names()) {
    SCOPED_TRACE(strategy);
    const Placed placed =
        place(two_relus(), context(), {.strategy = strategy, .filter = {}, .limits = {}});
    EXPECT_LT(steps_on(placed.lowered.plan, "loner"), 2);
    EXPECT_EQ(placed.contenders[placed.winner].why_not_raced, "");
    int failed = 0;
    for (const Contender& contender : placed.contenders) {
      if (steps_on(contender.plan, "loner") < 2) continue;
      EXPECT_FALSE(contender.measured) << contender.name;
      const std::string& why = contender.why_not_raced;
      const bool is_said = why.find("not in company") != std::string::npos;
      const bool is_double = why.starts_with("the same plan as ");
      EXPECT_TRUE(is_said || is_double) << contender.name << ": " << why;
      failed += is_said;
    }
    EXPECT_GE(failed, 1);
  }
}

// With the reference alone there is nobody to race, and its prediction is confirmed all the same.
TEST_F(PlaceTest, ASoleWinnerIsRacedAgainstItself) {
  use({});
  const Placed placed =
      place(two_relus(), context(), {.strategy = "single", .filter = {}, .limits = {}});
  ASSERT_EQ(placed.contenders.size(), 1u);
  EXPECT_TRUE(placed.heats.empty());
  ASSERT_TRUE(placed.contenders[0].measured);
  EXPECT_GT(placed.contenders[0].measured->ns, 0);
  EXPECT_EQ(placed.contenders[0].why_not_raced, "");
}

// A pin of one node to the reference leaves a plugin that cannot stand beside it alone.
TEST_F(PlaceTest, PinsAreNamedAmongTheReasonsWhyAPluginIsNotAlone) {
  use({"good"});
  const Placed placed = place(two_relus(), context(),
                              {.strategy = "single", .filter = {.pins = {{"r512", "good"}}}, .limits = {}});
  const auto reference =
      std::find_if(placed.not_considered.begin(), placed.not_considered.end(),
                   [](const NotConsidered& n) { return n.plugin == "reference"; });
  ASSERT_NE(reference, placed.not_considered.end());
  EXPECT_NE(reference->reason.find("1 of them are pinned to other plugins"), std::string::npos)
      << reference->reason;
}

// Every time shown is of a race that its owner ran in, the winner's of one with its closest rival.
TEST_F(PlaceTest, MediansAreThoseOfTheDecidingRaces) {
  use({"good"});
  const Placed placed = place(two_relus(), context(), PlaceOptions{});
  for (std::size_t i = 0; i < placed.contenders.size(); ++i) {
    const Contender& contender = placed.contenders[i];
    if (!contender.measured || placed.heats.empty()) continue;
    const bool is_of_a_race =
        std::any_of(placed.heats.begin(), placed.heats.end(), [&](const Heat& heat) {
          return (heat.first == i && heat.result.first.ns == contender.measured->ns) ||
                 (heat.second == i && heat.result.second.ns == contender.measured->ns);
        });
    EXPECT_TRUE(is_of_a_race) << contender.name;
  }
}

}  // namespace
}  // namespace inlay
