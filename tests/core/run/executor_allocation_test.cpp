// Runs allocate nothing, by any door: executor, host, plugin and scheduler together.
#include <gtest/gtest.h>

#include "core/run/executor.h"
#include "core/run/thread_pool.h"
#include "tests/core/run/malloc_count.h"
#include "tests/core/run/plan_builder.h"

namespace inlay {
namespace {

void build(PlanBuilder* builder) {
  const int x = builder->input("x", {4, 64});
  const int a = builder->temporary({4, 64});
  const int blocked = builder->temporary({4, 64}, "aB8b");
  const int dense = builder->temporary({4, 64});
  const int y = builder->output("y", {4, 64});
  const int z = builder->output("z", {256});
  builder->run("Increment", {x}, a);  // parallel
  builder->run("Scale", {a}, dense, Tensor::zeros({DType::kF32, {128}}));
  builder->convert(dense, blocked);
  builder->convert(blocked, y);
  builder->copy(builder->view(y, {256}), z);
}

// Allocations of the last of some runs that use two sets of memory in turn.
long allocations_when_warm(int threads) {
  NullLog log;
  ThreadPool pool(threads);
  PluginHost host(log, {.search_path = runner_path(),
                        .exclude = {},
                        .threads = threads,
                        .parallel_for = pool.parallel_for()});
  PlanBuilder builder(host);
  build(&builder);
  Executor executor(builder.plan(), builder.weights(), host);
  executor.set_tracing(true);
  alignas(64) static std::byte inputs[2][4 * 64 * 4 + 1];
  alignas(64) static std::byte outputs[4][4 * 64 * 4];
  const auto run = [&](std::size_t set) {
    // The second set's input is misaligned: its copy's memory is allocated the first time only.
    const std::byte* const in[] = {inputs[set] + set};
    std::byte* const out[] = {outputs[2 * set], outputs[2 * set + 1]};
    executor.run_into(in, out);
  };
  for (int warm_up = 0; warm_up < 20; ++warm_up) run(static_cast<std::size_t>(warm_up % 2));
  const long before = malloc_count();
  for (int repeat = 0; repeat < 100; ++repeat) run(static_cast<std::size_t>(repeat % 2));
  return malloc_count() - before;
}

TEST(ExecutorAllocation, CountsAllocations) {
  const long before = malloc_count();
  const auto tensor = std::make_unique<Tensor>();
  EXPECT_GT(malloc_count(), before);
}

TEST(ExecutorAllocation, RunsAllocateNothing) { EXPECT_EQ(allocations_when_warm(1), 0); }

// oneTBB may still grow a task pool now and then when threads take tasks from each other; what
// would be an allocation of ours happens in each of the 100 runs.
TEST(ExecutorAllocation, RunsOnSeveralThreadsAllocateNothingOfOurs) {
  EXPECT_LT(allocations_when_warm(2), 100);
}

}  // namespace
}  // namespace inlay
