// A session adds no allocation to the executor's none.
#include <gtest/gtest.h>

#include "core/session/session.h"
#include "tests/core/run/malloc_count.h"
#include "tests/core/run/plan_builder.h"

namespace inlay {
namespace {

TEST(SessionAllocation, WarmRunsAllocateNothing) {
  const Runtime runtime({.plugins = runner_path(), .threads = 1});
  PlanBuilder builder(runtime.plugin_host());
  const int x = builder.input("x", {256});
  const int y = builder.output("y", {256});
  builder.run("Increment", {x}, y);
  const Session session(runtime, builder.plan(), builder.weights());
  const std::vector<float> input(256, 1);
  std::vector<float> output(256);
  session.run({{"x", input}}, {{"y", output}});
  const long before = malloc_count();
  for (int repeat = 0; repeat < 100; ++repeat) session.run({{"x", input}}, {{"y", output}});
  EXPECT_EQ(malloc_count() - before, 0);
  EXPECT_EQ(output[255], 2);
}

}  // namespace
}  // namespace inlay
