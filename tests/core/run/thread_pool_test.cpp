#include "core/run/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "core/base/error.h"

#ifndef INLAY_STD_THREAD_SCHEDULER
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#endif

namespace inlay {
namespace {

// Calls function(i) for each index through the C-shaped interface.
template <typename Function>
void for_each_index(const ParallelFor& parallel_for, std::int64_t count, const Function& function) {
  parallel_for(
      count, [](void* argument, std::int64_t i) { (*static_cast<const Function*>(argument))(i); },
      const_cast<Function*>(&function));
}

TEST(ThreadPool, CallsTheBodyOncePerIndex) {
  ThreadPool pool(4);
  const ParallelFor parallel_for = pool.parallel_for();
  for (const std::int64_t count : {0, 1, 2, 3, 1000}) {
    std::vector<std::atomic<int>> calls(static_cast<std::size_t>(count));
    for_each_index(parallel_for, count,
                   [&](std::int64_t i) { ++calls[static_cast<std::size_t>(i)]; });
    for (const auto& c : calls) EXPECT_EQ(c, 1);
  }
}

// Which threads they are may change meanwhile: oneTBB lets one go and wakes another.
TEST(ThreadPool, UsesNoMoreThreadsAtOnceThanItsCap) {
  ThreadPool pool(3);
  std::atomic<int> working = 0;
  std::atomic<int> most = 0;
  for_each_index(pool.parallel_for(), 300, [&](std::int64_t) {
    const int now = ++working;
    int seen = most;
    while (seen < now && !most.compare_exchange_weak(seen, now)) {
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    --working;
  });
  EXPECT_GE(most, 1);
  EXPECT_LE(most, 3);
  EXPECT_EQ(pool.threads(), 3);
}

TEST(ThreadPool, OfOneThreadWorksOnTheCaller) {
  ThreadPool pool(1);
  for_each_index(pool.parallel_for(), 50, [caller = std::this_thread::get_id()](std::int64_t) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
  });
}

TEST(ThreadPool, CanBeUsedFromInsideItself) {
  ThreadPool pool(3);
  const ParallelFor parallel_for = pool.parallel_for();
  std::atomic<int> calls = 0;
  for_each_index(parallel_for, 20, [&](std::int64_t) {
    for_each_index(parallel_for, 20, [&](std::int64_t) { ++calls; });
  });
  EXPECT_EQ(calls, 400);
}

TEST(ThreadPool, ServesSeveralCallersAtOnce) {
  ThreadPool pool(2);
  const ParallelFor parallel_for = pool.parallel_for();
  std::atomic<int> calls = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 50; ++repeat) {
        for_each_index(parallel_for, 20, [&](std::int64_t) { ++calls; });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(calls, 4 * 50 * 20);
}

TEST(ThreadPool, ExecutesAFunction) {
  ThreadPool pool(2);
  int value = 0;
  pool.execute(
      2, [](void* argument) { *static_cast<int*>(argument) = 7; }, &value);
  EXPECT_EQ(value, 7);
}

template <typename Function>
void execute(ThreadPool& pool, int most, const Function& function) {
  pool.execute(
      most, [](void* argument) { (*static_cast<const Function*>(argument))(); },
      const_cast<Function*>(&function));
}

TEST(ThreadPool, CallersTogetherHaveNoMoreThreadsThanItsCap) {
  ThreadPool pool(3);
  const ParallelFor parallel_for = pool.parallel_for();
  std::atomic<int> working = 0;
  std::atomic<int> most = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < 6; ++c) {
    callers.emplace_back([&, c] {
      for (int repeat = 0; repeat < 20; ++repeat) {
        execute(pool, 1 + c % 3, [&] {
          for_each_index(parallel_for, 12, [&](std::int64_t) {
            const int now = ++working;
            int seen = most;
            while (seen < now && !most.compare_exchange_weak(seen, now)) {
            }
            std::this_thread::sleep_for(std::chrono::microseconds(50));
            --working;
          });
        });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_LE(most, 3);
}

TEST(ThreadPool, NarrowCallsRunAtOnceAndAWideOneHasItsTurn) {
  ThreadPool pool(2);
  std::atomic<int> inside = 0;
  std::atomic<bool> met = false;
  std::vector<std::thread> callers;
  for (int c = 0; c < 2; ++c) {
    callers.emplace_back([&] {
      execute(pool, 1, [&] {
        ++inside;
        for (int i = 0; i < 20000 && !met; ++i) {
          if (inside == 2) met = true;
          std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
      });
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_TRUE(met);
  bool has_run = false;
  execute(pool, 5, [&] { has_run = true; });  // more than there are: all of them
  EXPECT_TRUE(has_run);
}

TEST(ThreadPool, ACallFromInsideAnotherRunsOnItsThreads) {
  ThreadPool pool(2);
  int value = 0;
  execute(pool, 2, [&] { execute(pool, 2, [&] { value = 7; }); });
  EXPECT_EQ(value, 7);
}

TEST(ThreadPool, RefusesNoThreads) { EXPECT_THROW(ThreadPool(0), Error); }

TEST(ThreadLimit, OfOneKeepsThePoolsWorkAndOneTbbsOnTheCaller) {
  ThreadPool pool(3);
  ThreadLimit limit(1);
  const ParallelFor parallel_for = pool.parallel_for();
  // As an executor does: inside the pool, then inside the limit.
  for_each_index(parallel_for, 1, [&](std::int64_t) {
    limit.execute([&, caller = std::this_thread::get_id()] {
      std::atomic<int> calls = 0;
      for_each_index(parallel_for, 100, [&](std::int64_t) {
        EXPECT_EQ(std::this_thread::get_id(), caller);
        ++calls;
      });
      EXPECT_EQ(calls, 100);
#ifndef INLAY_STD_THREAD_SCHEDULER
      EXPECT_EQ(tbb::this_task_arena::max_concurrency(), 1);
      tbb::parallel_for(0, 100, [&](int) { EXPECT_EQ(std::this_thread::get_id(), caller); });
#endif
    });
  });
}

TEST(ThreadLimit, EndsWithItsCallAndLetsErrorsThrough) {
  ThreadPool pool(3);
  ThreadLimit limit(1);
  EXPECT_THROW(limit.execute([] { throw Error(Code::kInternal, "inside"); }), Error);
  std::atomic<int> most = 0;
  std::atomic<int> working = 0;
  // All three meet, which takes three threads.
  for_each_index(pool.parallel_for(), 3, [&](std::int64_t) {
    ++working;
    for (int i = 0; i < 10000 && most < 2; ++i) {
      most = std::max(most.load(), working.load());
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    --working;
  });
  EXPECT_GE(most, 2);
}

TEST(ThreadLimit, RefusesNoThreads) { EXPECT_THROW(ThreadLimit(0), Error); }

TEST(AvailableThreads, IsAtLeastOneAndAtMostTheProcessors) {
  EXPECT_GE(available_threads(), 1);
  EXPECT_LE(available_threads(), static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace
}  // namespace inlay
