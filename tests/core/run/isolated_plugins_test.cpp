#include "core/run/isolated_plugins.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "core/base/error.h"
#include "core/run/executor.h"
#include "tests/core/run/plan_builder.h"

namespace inlay {
namespace {

constexpr std::chrono::milliseconds kShort{1500};  // before what hangs on purpose is given up

class IsolatedPluginsTest : public testing::Test {
 protected:
  HostOptions options(std::chrono::milliseconds patience = std::chrono::seconds(60)) {
    HostOptions options;
    options.search_path = runner_path();
    options.threads = 2;
    options.isolate = {"runner"};
    options.open_isolated = isolated_.opener(
        {.threads = 2, .executable = INLAY_BINARY_DIR "/bin/inlay-worker", .patience = patience});
    return options;
  }
  static Tensor row(std::vector<float> values) {
    const auto n = static_cast<std::int64_t>(values.size());
    return Tensor::from<float>({n}, std::move(values));
  }
  static float first(const std::vector<Tensor>& outputs) {
    return *reinterpret_cast<const float*>(outputs.at(0).data());
  }
  // x → `op` → y, four elements each.
  static std::unique_ptr<Executor> executor_of(const std::string& op, PluginHost& host) {
    PlanBuilder builder(host);
    const int x = builder.input("x", {4});
    builder.run(op, {x}, builder.output("y", {4}));
    return std::make_unique<Executor>(builder.plan(), builder.weights(), host);
  }
  static std::string error_of(Executor& executor, const Tensor& input) {
    try {
      executor.run({&input, 1});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kPluginFailed);
      return error.what();
    }
    return "";
  }
  static void expect_in(const std::string& text, const std::string& fragment) {
    EXPECT_NE(text.find(fragment), std::string::npos) << text;
  }

  NullLog log_;
  IsolatedPlugins isolated_;
};

TEST_F(IsolatedPluginsTest, RunsElsewhereWithTheSameResults) {
  PluginHost host(log_, options());
  const std::vector<Tensor> in = {row({1, 2, 3, 4})};
  EXPECT_EQ(executor_of("Increment", host)->run(in).at(0), row({2, 3, 4, 5}));
  const float pid = first(executor_of("Pid", host)->run(in));
  EXPECT_NE(pid, static_cast<float>(::getpid()));
  // The library is not in this process.
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    EXPECT_EQ(line.find("runner.so"), std::string::npos) << line;
  }
}

TEST_F(IsolatedPluginsTest, ConstantsInstancesAndTwinsWork) {
  PluginHost host(log_, options());
  PlanBuilder builder(host);
  Tensor weight = Tensor::zeros({DType::kF32, {128}});
  auto* w = reinterpret_cast<float*>(weight.mutable_bytes().data());
  for (int i = 0; i < 128; ++i) w[i] = static_cast<float>(i);
  const int x = builder.input("x", {128});
  const int middle = builder.temporary({128});
  builder.run("Scale", {x}, middle, weight);
  builder.run("Increment", {middle}, builder.output("y", {128}));
  Executor executor(builder.plan(), builder.weights(), host);
  const auto twin = executor.twin();
  const Tensor ones = Tensor::from<float>({128}, std::vector<float>(128, 1.0f));
  for (Executor* each : {&executor, twin.get()}) {
    const std::vector<Tensor> out = each->run({&ones, 1});
    const auto* y = reinterpret_cast<const float*>(out.at(0).data());
    for (int i = 0; i < 128; ++i) EXPECT_EQ(y[i], static_cast<float>(i + 1));
  }
}

TEST_F(IsolatedPluginsTest, ACrashIsOneErrorAndTheNextRunStartsAgain) {
  PluginHost host(log_, options());
  const auto executor = executor_of("CrashBelowZero", host);
  const auto other = executor_of("Increment", host);
  const std::vector<Tensor> good = {row({1, 2, 3, 4})};
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(executor->run(good).at(0), row({2, 3, 4, 5}));
    EXPECT_EQ(other->run(good).at(0), row({2, 3, 4, 5}));
    const std::string error = error_of(*executor, row({-1, 0, 0, 0}));
    expect_in(error, "plugin 'runner', in a process of its own: crashed: ");
    expect_in(error, "the next run starts it again");
    ASSERT_TRUE(isolated_.last_death().has_value());
    EXPECT_TRUE(std::holds_alternative<Crashed>(isolated_.last_death()->how));
    EXPECT_EQ(isolated_.last_death()->plugin, "runner");
    EXPECT_EQ(isolated_.last_death()->build_id, host.find("runner")->build_id);
    EXPECT_NE(isolated_.last_death()->region, "");
    expect_in(isolated_.last_death()->what, "CrashBelowZero");
  }
  EXPECT_EQ(other->run(good).at(0), row({2, 3, 4, 5}));  // its process went with the other's
}

TEST_F(IsolatedPluginsTest, AHangIsOneErrorAndTheNextRunStartsAgain) {
  PluginHost host(log_, options(kShort));
  const auto executor = executor_of("HangBelowZero", host);
  const std::vector<Tensor> good = {row({1, 2, 3, 4})};
  expect_in(error_of(*executor, row({-1, 0, 0, 0})), "hung");
  ASSERT_TRUE(isolated_.last_death().has_value());
  EXPECT_TRUE(std::holds_alternative<Hung>(isolated_.last_death()->how));
  // Starting again may take longer than the patience of this test on a loaded machine.
  for (int attempt = 0; attempt < 20; ++attempt) {
    const std::string error = error_of(*executor, good[0]);
    if (error.empty()) return;
    expect_in(error, "hung");
  }
  FAIL() << "it never came back";
}

TEST_F(IsolatedPluginsTest, WhatCannotBeCompiledIsTold) {
  PluginHost host(log_, options());
  const auto error_of_compile = [&](const std::string& op) -> std::string {
    try {
      executor_of(op, host);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  expect_in(error_of_compile("Decline"), "rank 7 is too much");
  expect_in(error_of_compile("CrashCompile"), "crashed: ");
  const auto executor = executor_of("Increment", host);  // the host goes on
  const auto failing = executor_of("Fail", host);
  expect_in(error_of(*failing, row({1, 2, 3, 4})), "the fan stopped");
  EXPECT_EQ(first(executor->run(std::vector<Tensor>{row({1, 2, 3, 4})})), 2);
}

TEST_F(IsolatedPluginsTest, SeveralThreadsTakeTurns) {
  PluginHost host(log_, options());
  const auto first_executor = executor_of("Increment", host);
  const auto second_executor = first_executor->twin();
  const auto work = [](Executor& executor, float start) {
    for (int i = 0; i < 50; ++i) {
      const float x = start + static_cast<float>(i);
      const std::vector<Tensor> out = executor.run(std::vector<Tensor>{row({x, x, x, x})});
      EXPECT_EQ(first(out), x + 1);
    }
  };
  std::thread other([&] { work(*second_executor, 1000); });
  work(*first_executor, 0);
  other.join();
}

TEST_F(IsolatedPluginsTest, AWorkerTellsTheDeathOfItsPluginsProcessAsACrashAndLivesOn) {
  PluginHost host(log_, options());
  WorkerClient worker({.search_path = runner_path(),
                       .isolate = {"runner"},
                       .executable = INLAY_BINARY_DIR "/bin/inlay-worker"});
  PlanBuilder builder(host);
  const int x = builder.input("x", {4});
  builder.run("CrashBelowZero", {x}, builder.output("y", {4}));
  const auto outputs = [&](const Tensor& input) {
    return worker.outputs(builder.plan(), builder.weights(), {&input, 1}, std::chrono::seconds(60));
  };
  EXPECT_TRUE(std::holds_alternative<std::vector<Tensor>>(outputs(row({1, 2, 3, 4}))));
  const int pid = worker.pid();
  EXPECT_TRUE(std::holds_alternative<Crashed>(outputs(row({-1, 2, 3, 4}))));
  EXPECT_TRUE(std::holds_alternative<std::vector<Tensor>>(outputs(row({1, 2, 3, 4}))));
  EXPECT_EQ(worker.pid(), pid);
}

TEST_F(IsolatedPluginsTest, AHostThatCannotIsolateSaysSo) {
  HostOptions plain = options();
  plain.open_isolated = nullptr;
  PluginHost host(log_, plain);
  try {
    host.open_device("runner");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace inlay
