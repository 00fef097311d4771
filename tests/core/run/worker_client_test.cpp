#include "core/run/worker_client.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "core/base/error.h"
#include "tests/core/run/plan_builder.h"

namespace inlay {
namespace {

// For answers that must come: long enough for a loaded machine under a sanitizer.
constexpr std::chrono::seconds kPatience{60};

class WorkerClientTest : public testing::Test {
 protected:
  PlanBuilder one_step(const std::string& op) {
    PlanBuilder builder(host_);
    const int x = builder.input("x", {64});
    builder.run(op, {x}, builder.output("y", {64}));
    return builder;
  }
  WorkerResult<Stats> measure(const std::string& op,
                              std::chrono::milliseconds deadline = kPatience) {
    const PlanBuilder builder = one_step(op);
    return worker_.measure(builder.plan(), builder.weights(),
                           {.options = {.min_samples = 5, .max_seconds = 0.05}}, deadline);
  }

  NullLog log_;
  PluginHost host_{log_,
                   {.search_path = runner_path(), .exclude = {}, .threads = 1, .parallel_for = {}}};
  WorkerClient worker_{
      {.search_path = runner_path(), .executable = INLAY_BINARY_DIR "/bin/inlay-worker"}};
};

TEST_F(WorkerClientTest, Measures) {
  const WorkerResult<Stats> result = measure("Slow");
  ASSERT_TRUE(std::holds_alternative<Stats>(result)) << describe_failure(result);
  EXPECT_GE(std::get<Stats>(result).median_ns, 20e6);  // it sleeps for 20 ms
  EXPECT_EQ(describe_failure(result), "");
}

TEST_F(WorkerClientTest, ServesManyRequestsWithOneProcess) {
  EXPECT_EQ(worker_.pid(), -1);
  measure("Increment");
  const int pid = worker_.pid();
  EXPECT_GT(pid, 0);
  measure("Same");
  EXPECT_EQ(worker_.pid(), pid);
  EXPECT_EQ(worker_.starts(), 1);
}

TEST_F(WorkerClientTest, ReportsADeclineWithItsReason) {
  const WorkerResult<Stats> result = measure("Decline");
  ASSERT_TRUE(std::holds_alternative<Declined>(result)) << describe_failure(result);
  EXPECT_NE(std::get<Declined>(result).reason.find("rank 7 is too much"), std::string::npos);
  EXPECT_EQ(worker_.starts(), 1);
  EXPECT_GT(worker_.pid(), 0);
}

TEST_F(WorkerClientTest, ReportsAFailureWithItsReason) {
  const WorkerResult<Stats> result = measure("Fail");
  ASSERT_TRUE(std::holds_alternative<Failed>(result)) << describe_failure(result);
  EXPECT_NE(std::get<Failed>(result).reason.find("the fan stopped"), std::string::npos);
}

TEST_F(WorkerClientTest, SurvivesACrashAndStartsAgain) {
  for (const char* op : {"Crash", "CrashCompile"}) {
    const WorkerResult<Stats> result = measure(op);
    ASSERT_TRUE(std::holds_alternative<Crashed>(result)) << op << describe_failure(result);
    const Crashed& crash = std::get<Crashed>(result);
    EXPECT_TRUE(crash.signal != 0 || crash.exit_status != 0);
    EXPECT_EQ(worker_.pid(), -1);
    EXPECT_TRUE(std::holds_alternative<Stats>(measure("Increment")));
  }
  EXPECT_EQ(worker_.starts(), 3);
}

TEST_F(WorkerClientTest, ReportsAnExitAsACrash) {
  const WorkerResult<Stats> result = measure("Exit");
  ASSERT_TRUE(std::holds_alternative<Crashed>(result)) << describe_failure(result);
  EXPECT_EQ(std::get<Crashed>(result).exit_status, 7);
  EXPECT_EQ(describe_failure(result), "crashed: exit status 7");
}

TEST_F(WorkerClientTest, KillsAWorkerThatHangs) {
  for (const char* op : {"Hang", "HangCompile"}) {
    measure("Increment");
    const int pid = worker_.pid();
    EXPECT_TRUE(std::holds_alternative<Hung>(measure(op, std::chrono::milliseconds(100))));
    EXPECT_EQ(::kill(pid, 0), -1);  // gone, and waited for
    EXPECT_TRUE(std::holds_alternative<Stats>(measure("Increment")));
  }
}

TEST_F(WorkerClientTest, NoticesAWorkerThatWasKilled) {
  measure("Increment");
  ::kill(worker_.pid(), SIGKILL);
  const WorkerResult<Stats> result = measure("Increment");
  ASSERT_TRUE(std::holds_alternative<Crashed>(result)) << describe_failure(result);
  EXPECT_EQ(std::get<Crashed>(result).signal, SIGKILL);
  EXPECT_TRUE(std::holds_alternative<Stats>(measure("Increment")));
}

TEST_F(WorkerClientTest, IsOutOfReachOfTheTerminalsSignals) {
  measure("Increment");
  EXPECT_EQ(::getpgid(worker_.pid()), worker_.pid());  // not this process's group
}

TEST_F(WorkerClientTest, EndsARequestThatIsCancelled) {
  std::atomic<bool> cancelled{false};
  WorkerClient worker({.search_path = runner_path(),
                       .executable = INLAY_BINARY_DIR "/bin/inlay-worker",
                       .cancelled = &cancelled});
  const PlanBuilder hang = one_step("Hang");
  std::thread user([&cancelled] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    cancelled = true;
  });
  try {
    worker.measure(hang.plan(), hang.weights(), {}, std::chrono::hours(1));
    ADD_FAILURE() << "not cancelled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kCancelled);
  }
  user.join();
  EXPECT_EQ(worker.pid(), -1);
}

TEST_F(WorkerClientTest, OpensAPluginOrSaysWhyNot) {
  EXPECT_TRUE(std::holds_alternative<Opened>(worker_.open("runner", kPatience)));
  const WorkerResult<Opened> missing = worker_.open("nosuch", kPatience);
  EXPECT_NE(describe_failure(missing).find("nosuch"), std::string::npos);
}

TEST_F(WorkerClientTest, SaysWhatIsWrongWithAProgramThatIsNoWorker) {
  WorkerClient worker({.search_path = {}, .executable = "/bin/true"});
  try {
    worker.open("runner", kPatience);
    ADD_FAILURE() << "opened";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kIo);
    EXPECT_NE(std::string(error.what()).find("/bin/true"), std::string::npos) << error.what();
  }
}

TEST_F(WorkerClientTest, ReturnsOutputs) {
  PlanBuilder builder(host_);
  const int x = builder.input("x", {128});
  const Tensor weight = Tensor::from<float>({128}, std::vector<float>(128, 3));
  builder.run("Scale", {x}, builder.output("y", {128}), weight);
  const Tensor input = Tensor::from<float>({128}, std::vector<float>(128, 2));
  const auto result =
      worker_.outputs(builder.plan(), builder.weights(), std::vector{input}, kPatience);
  using Outputs = std::vector<Tensor>;
  ASSERT_TRUE(std::holds_alternative<Outputs>(result)) << describe_failure(result);
  EXPECT_EQ(std::get<Outputs>(result),
            Outputs{Tensor::from<float>({128}, std::vector<float>(128, 6))});
  EXPECT_THROW(worker_.outputs(builder.plan(), builder.weights(), {}, kPatience), Error);
}

// What is checked is timed next.
TEST_F(WorkerClientTest, CompilesOnceWhatItRunsAndThenTimes) {
  const Tensor input = Tensor::zeros({DType::kF32, {64}});
  const auto compiled = [&](const PlanBuilder& builder) {
    const auto result =
        worker_.outputs(builder.plan(), builder.weights(), std::vector{input}, kPatience);
    return std::get<std::vector<Tensor>>(result).front().as<float>()[0];
  };
  const PlanBuilder first = one_step("Nth");
  EXPECT_EQ(compiled(first), 1);
  EXPECT_TRUE(std::holds_alternative<Stats>(measure("Nth")));
  EXPECT_TRUE(std::holds_alternative<Stats>(measure("Nth")));  // again: compiled anew
  EXPECT_EQ(compiled(first), 3);
  EXPECT_TRUE(std::holds_alternative<Stats>(measure("Same")));  // another: compiled itself
  EXPECT_EQ(compiled(first), 5);
}

TEST_F(WorkerClientTest, ChecksAPlanAgainstAnother) {
  const PlanBuilder right = one_step("Increment");
  const PlanBuilder wrong = one_step("Wrong");
  const Plan reference = right.plan();
  const auto check = [&](const PlanBuilder& candidate, const Tolerance& tolerance) {
    const Plan plan = candidate.plan();
    return worker_.check({plan, candidate.weights()}, {reference, right.weights()},
                         PlanView{reference, right.weights()},
                         {.seeds = {1, 2}, .tolerance = tolerance}, kPatience);
  };
  using List = std::vector<OutputComparison>;
  const auto good = check(right, parse_tolerance("exact"));
  ASSERT_TRUE(std::holds_alternative<List>(good)) << describe_failure(good);
  ASSERT_EQ(std::get<List>(good).size(), 2u);
  EXPECT_TRUE(std::get<List>(good)[1].comparison.is_equal());
  EXPECT_EQ(std::get<List>(good)[1].seed, 2u);

  const auto bad = check(wrong, parse_tolerance("accum", 2));
  ASSERT_TRUE(std::holds_alternative<List>(bad)) << describe_failure(bad);
  const Comparison& comparison = std::get<List>(bad)[0].comparison;
  EXPECT_EQ(comparison.failures, 64);
  EXPECT_NEAR(comparison.first.got - comparison.first.want, 0.01, 1e-6);  // f32 rounding of both
  // M = |x| + 1 and |want| = |x + 1|; 2 · 2 · 2^-24 · M and an ulp.
  EXPECT_GT(comparison.first.bound, 4 * 0x1p-24);
  EXPECT_LT(comparison.first.bound, 1e-5);
}

TEST_F(WorkerClientTest, RunsASilentWorkerOrAnAudibleOne) {
  WorkerClient audible({.search_path = runner_path(),
                        .executable = INLAY_BINARY_DIR "/bin/inlay-worker",
                        .show_output = true});
  const PlanBuilder builder = one_step("Increment");
  const auto result = audible.measure(builder.plan(), builder.weights(), {}, kPatience);
  EXPECT_TRUE(std::holds_alternative<Stats>(result)) << describe_failure(result);
}

TEST_F(WorkerClientTest, SaysThatTheWorkerIsMissing) {
  WorkerClient missing({.search_path = runner_path(), .executable = "/no/such/worker"});
  const PlanBuilder builder = one_step("Increment");
  EXPECT_THROW(missing.measure(builder.plan(), builder.weights(), {}, kPatience), Error);
  EXPECT_THROW(
      WorkerClient({.search_path = {}}).measure(builder.plan(), builder.weights(), {}, kPatience),
      Error);  // no inlay-worker beside this test
}

// Forks a process that starts a worker, lets it hang in a plugin and is killed.
TEST_F(WorkerClientTest, DiesWithItsParentEvenWhenItHangs) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const PlanBuilder builder = one_step("Hang");
  const Plan plan = builder.plan();
  const PlanBuilder harmless = one_step("Same");
  const pid_t parent = ::fork();
  if (parent == 0) {
    WorkerClient client(
        {.search_path = runner_path(), .executable = INLAY_BINARY_DIR "/bin/inlay-worker"});
    client.measure(harmless.plan(), harmless.weights(), {}, kPatience);
    const int pid = client.pid();
    if (::write(ends[1], &pid, sizeof pid) != sizeof pid) std::_Exit(1);
    client.measure(plan, builder.weights(), {}, kPatience);
    std::_Exit(0);
  }
  int worker = -1;
  ASSERT_EQ(::read(ends[0], &worker, sizeof worker), static_cast<ssize_t>(sizeof worker));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // enough to get to the hang, mostly
  EXPECT_EQ(::kill(worker, 0), 0);
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  // Nobody waits for it here; as a zombie of init, or gone, it has no memory map left.
  const auto is_running = [&] {
    std::ifstream maps("/proc/" + std::to_string(worker) + "/maps");
    return maps.is_open() && maps.peek() != std::ifstream::traits_type::eof();
  };
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (is_running() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_FALSE(is_running());
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace inlay
