// Eight threads run sessions, and open and close them, for a long time: right, and nothing leaks.
//
//   INLAY_SOAK_SECONDS=3600 INLAY_SOAK_PLAN=r.plan INLAY_SOAK_PLUGINS=build/release/plugins
//   session_soak_test
//
// Without a plan it runs one of its own; seconds default to 20.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>

#include "core/base/file.h"
#include "core/plan/plan_text.h"
#include "core/run/random_inputs.h"
#include "core/session/session.h"
#include "tests/core/base/scratch_folder.h"
#include "tests/core/run/plan_builder.h"

namespace inlay {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kThreads = 8;
constexpr int kRunsOfASession = 200;  // then it is opened anew
// What an allocator may keep from one busy moment to the next. A leak of one byte a run would pass
// this in some seconds.
constexpr std::uint64_t kSlackBytes = std::uint64_t{8} << 20;

std::string environment(const char* name, const std::string& fallback) {
  const char* value = ::getenv(name);
  return value == nullptr ? fallback : value;
}

std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t open_files() {
  return static_cast<std::uint64_t>(
      std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

class SessionSoak : public testing::Test {
 protected:
  fs::path own_plan(const Runtime& runtime) const {
    PlanBuilder builder(runtime.plugin_host());
    const int x = builder.input("x", {4, 64});
    const int a = builder.temporary({4, 64});
    const int y = builder.output("y", {4, 64});
    builder.run("Increment", {x}, a);
    builder.run("Scale", {a}, y, Tensor::from<float>({128}, std::vector<float>(128, 2)));
    const Plan plan = builder.plan();
    write_weights(folder_ / "own.weights", plan.constants, builder.weights());
    write_file(folder_ / "own.plan", to_text(plan));
    return folder_ / "own.plan";
  }

  ScratchFolder scratch_;
  fs::path folder_ = scratch_.path();
};

TEST_F(SessionSoak, EightThreadsAreRightAndMemoryAndFilesStayWhatTheyAre) {
  const double seconds = std::stod(environment("INLAY_SOAK_SECONDS", "20"));
  const std::string plugins = environment("INLAY_SOAK_PLUGINS", "");
  const Runtime runtime(
      {.plugins = plugins.empty() ? runner_path() : std::vector<fs::path>{plugins}, .threads = 2});
  const std::string given = environment("INLAY_SOAK_PLAN", "");
  const fs::path path = given.empty() ? own_plan(runtime) : fs::path(given);

  const Plan plan = parse_plan(read_text(path), path.string());
  std::map<std::string, Tensor> inputs;
  const std::vector<Tensor> values = random_inputs(plan, 1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    inputs.emplace(plan.values[static_cast<std::size_t>(plan.inputs[i])].name, values[i]);
  }
  const std::map<std::string, Tensor> expected = Session(runtime, path).run(inputs);

  const Clock::time_point end =
      Clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1e3));
  std::atomic<std::uint64_t> runs = 0;
  std::atomic<std::uint64_t> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      while (Clock::now() < end) {
        const Session session(runtime, path, {.concurrent_runs = 2});
        for (int i = 0; i < kRunsOfASession && Clock::now() < end; ++i) {
          if (session.run(inputs) != expected) ++wrong;
          ++runs;
        }
      }
    });
  }
  // The first tenth warms up; what is resident then is what may be used later.
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds / 10));
  const std::uint64_t warm_bytes = resident_bytes();
  const std::uint64_t warm_files = open_files();
  for (std::thread& thread : threads) thread.join();
  const std::uint64_t end_bytes = resident_bytes();

  std::printf("%llu runs in %.0f s; resident %.1f MiB after a tenth, %.1f MiB at the end\n",
              static_cast<unsigned long long>(runs.load()), seconds,
              static_cast<double>(warm_bytes) / (1 << 20),
              static_cast<double>(end_bytes) / (1 << 20));
  EXPECT_EQ(wrong, 0U);
  EXPECT_GT(runs, 8U * kRunsOfASession);
  EXPECT_LE(end_bytes, warm_bytes + kSlackBytes);
  EXPECT_LE(open_files(), warm_files);
}

}  // namespace
}  // namespace inlay
