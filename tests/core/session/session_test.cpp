#include "core/session/session.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "core/base/file.h"
#include "core/plan/plan_text.h"
#include "tests/core/base/scratch_folder.h"
#include "tests/core/run/plan_builder.h"

namespace inlay {
namespace {

namespace fs = std::filesystem;

class SessionTest : public testing::Test {
 protected:
  // y = (x + 1) * scale and z = y + bias: constants of both kinds, those of programs and of values.
  Plan make_plan(const std::string& model, Weights* weights) const {
    PlanBuilder builder(runtime_.plugin_host());
    const int x = builder.input("x", {4, 64});
    const int a = builder.temporary({4, 64});
    const int y = builder.output("y", {4, 64});
    const int z = builder.output("z", {4, 64});
    std::vector<float> scale(128, 2);
    std::vector<float> bias(256, 100);
    builder.run("Increment", {x}, a);
    builder.run("Scale", {a}, y, Tensor::from<float>({128}, scale));
    builder.run("Add", {y, builder.constant(Tensor::from<float>({4, 64}, bias))}, z);
    Plan plan = builder.plan();
    plan.model = model;
    *weights = builder.weights();
    return plan;
  }

  fs::path write_plan(const std::string& name) const {
    Weights weights;
    const Plan plan = make_plan(name, &weights);
    write_weights(folder_ / (name + ".weights"), plan.constants, weights);
    write_file(folder_ / (name + ".plan"), to_text(plan));
    return folder_ / (name + ".plan");
  }

  template <typename Function>
  static Error error_of(const Function& function) {
    try {
      function();
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "accepted";
    return {Code::kInternal, ""};
  }

  static void expect_error(const Error& error, Code code, const std::string& fragment) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(fragment), std::string::npos) << error.what();
  }

  ScratchFolder scratch_;
  fs::path folder_ = scratch_.path();
  Runtime runtime_{{.plugins = runner_path(), .threads = 2}};
};

// Runs with inputs of the thread's own and counts the wrong results.
int count_wrong(const Session& session, int thread, int runs) {
  int wrong = 0;
  for (int i = 0; i < runs; ++i) {
    const auto first = static_cast<float>(thread * 1000 + i);
    std::vector<float> x(256);
    std::vector<float> y(256);
    std::vector<float> z(256);
    std::iota(x.begin(), x.end(), first);
    session.run({{"x", x}}, {{"z", z}, {"y", y}});
    for (std::size_t k = 0; k < x.size(); ++k) {
      const float expected = (first + static_cast<float>(k) + 1) * 2;
      if (y[k] != expected || z[k] != expected + 100) ++wrong;
    }
  }
  return wrong;
}

template <typename SessionOf>
void run_from_eight_threads(const SessionOf& session_of) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] { wrong += count_wrong(session_of(t), t, 200); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(SessionTest, DescribesItsTensors) {
  const Session session(runtime_, write_plan("m"));
  EXPECT_EQ(session.model(), "m");
  ASSERT_EQ(session.inputs().size(), 1u);
  EXPECT_EQ(session.inputs()[0].name, "x");
  EXPECT_EQ(session.inputs()[0].type, (TensorType{DType::kF32, {4, 64}}));
  ASSERT_EQ(session.outputs().size(), 2u);
  EXPECT_EQ(session.outputs()[1].name, "z");
}

TEST_F(SessionTest, RunsNamedTensors) {
  const Session session(runtime_, write_plan("m"));
  const auto outputs =
      session.run({{"x", Tensor::from<float>({4, 64}, std::vector<float>(256, 3))}});
  EXPECT_EQ(outputs.at("y").as<float>()[7], 8);
  EXPECT_EQ(outputs.at("z").as<float>()[255], 108);
}

// A run that fails after its first step: what that step wrote can only be in the caller's memory
// if it was written there at once.
TEST_F(SessionTest, WritesIntoTheCallersMemoryWhileRunning) {
  PlanBuilder builder(runtime_.plugin_host());
  const int x = builder.input("x", {2});
  const int y = builder.output("y", {2});
  const int z = builder.output("z", {2});
  builder.run("Increment", {x}, y);
  builder.run("Fail", {y}, z);
  const Session session(runtime_, builder.plan(), builder.weights());
  const std::vector<float> in{1, 2};
  std::vector<float> mid(2);
  std::vector<float> out(2);
  expect_error(error_of([&] {
                 session.run({{"x", in}}, {{"y", mid}, {"z", out}});
               }),
               Code::kPluginFailed, "the fan stopped");
  EXPECT_EQ(mid, (std::vector<float>{2, 3}));
}

TEST_F(SessionTest, EightThreadsOnOneSessionGetTheirOwnResults) {
  const Session session(runtime_, write_plan("m"), {.concurrent_runs = 4});
  run_from_eight_threads([&](int) -> const Session& { return session; });
  EXPECT_LE(session.concurrent_runs(), 4);
}

TEST_F(SessionTest, OneExecutorServesEightThreadsInTurn) {
  const Session session(runtime_, write_plan("m"), {.concurrent_runs = 1});
  run_from_eight_threads([&](int) -> const Session& { return session; });
  EXPECT_EQ(session.concurrent_runs(), 1);
}

TEST_F(SessionTest, EightThreadsOnSessionsThatShareWeightsGetTheirOwnResults) {
  const fs::path plan = write_plan("m");
  const fs::path other = write_plan("other");
  const std::vector<Session> sessions{Session(runtime_, plan), Session(runtime_, plan),
                                      Session(runtime_, other)};
  run_from_eight_threads(
      [&](int t) -> const Session& { return sessions[static_cast<std::size_t>(t) % 3]; });
}

TEST_F(SessionTest, EightThreadsOpenAndRunSessionsAtOnce) {
  const fs::path plan = write_plan("m");
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) wrong += count_wrong(Session(runtime_, plan), t, 3);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(SessionTest, EqualConstantsOfSessionsAreHeldOnce) {
  const Session first(runtime_, write_plan("m"));
  const std::uint64_t bytes = runtime_.constant_bytes();
  EXPECT_EQ(bytes, 128 * 4u + 256 * 4u);
  const Session again(runtime_, folder_ / "m.plan");
  const Session other(runtime_, write_plan("other"));
  EXPECT_EQ(runtime_.constant_bytes(), bytes);
}

TEST_F(SessionTest, ConstantsGoWithTheLastSession) {
  {
    const Session session(runtime_, write_plan("m"));
    EXPECT_GT(runtime_.constant_bytes(), 0u);
  }
  EXPECT_EQ(runtime_.constant_bytes(), 0u);
}

TEST_F(SessionTest, OutlivesTheRuntimeItCameFrom) {
  const fs::path plan = write_plan("m");
  std::optional<Session> session;
  {
    const Runtime runtime({.plugins = runner_path(), .threads = 1});
    session.emplace(runtime, plan);
  }
  EXPECT_EQ(count_wrong(*session, 1, 2), 0);
}

TEST_F(SessionTest, MissingFilesAreNamed) {
  expect_error(error_of([&] { Session(runtime_, folder_ / "no.plan"); }), Code::kNotFound,
               "no.plan");
  const fs::path plan = write_plan("m");
  fs::remove(folder_ / "m.weights");
  expect_error(error_of([&] { Session(runtime_, plan); }), Code::kNotFound, "m.weights");
}

TEST_F(SessionTest, ADamagedPlanIsRefused) {
  write_file(folder_ / "bad.plan", "{}");
  EXPECT_EQ(error_of([&] { Session(runtime_, folder_ / "bad.plan"); }).code(), Code::kCorrupt);
}

TEST_F(SessionTest, AMissingPluginIsNamed) {
  const fs::path plan = write_plan("m");
  const Runtime without({.plugins = {folder_}, .threads = 1});
  expect_error(error_of([&] { Session(without, plan); }), Code::kNotFound, "plugin 'runner'");
  const Runtime excluded({.plugins = runner_path(), .exclude = {"runner"}, .threads = 1});
  expect_error(error_of([&] { Session(excluded, plan); }), Code::kNotFound, "excluded by the user");
}

TEST_F(SessionTest, WrongTensorsAreNamedWithWhatWasExpected) {
  const Session session(runtime_, write_plan("m"));
  const std::vector<float> x(256);
  const std::vector<double> doubles(128);  // as many bytes
  const std::vector<float> few(8);
  std::vector<float> y(256);
  std::vector<float> z(256);
  const auto run = [&](std::vector<InputMemory> in, std::vector<OutputMemory> out) {
    return error_of([&] { session.run(in, out); });
  };
  const std::vector<OutputMemory> out{{"y", y}, {"z", z}};
  expect_error(run({}, out), Code::kInvalidArgument, "input 'x' is missing");
  expect_error(run({{"w", x}}, out), Code::kInvalidArgument, "input 'x' is missing");
  expect_error(run({{"x", x}, {"w", x}}, out), Code::kInvalidArgument,
               "input 'w' is unknown; the model has 'x'");
  expect_error(run({{"x", x}, {"x", x}}, out), Code::kInvalidArgument, "'x' is given twice");
  expect_error(run({{"x", doubles}}, out), Code::kShapeMismatch, "expected f32[4x64]");
  expect_error(run({{"x", few}}, out), Code::kShapeMismatch, "in 32 bytes");
  const std::vector<std::int64_t> shape{64, 4};
  expect_error(run({{"x", x, shape}}, out), Code::kShapeMismatch, "found f32[64x4]");
  expect_error(run({{"x", DType::kF32, nullptr, 1024}}, out), Code::kInvalidArgument,
               "input 'x': null pointer");
  expect_error(run({{"x", x}}, {{"y", y}}), Code::kInvalidArgument, "output 'z' is missing");
  expect_error(error_of([&] {
                 session.run({{"x", Tensor::from<float>({2}, {1, 2})}});
               }),
               Code::kShapeMismatch, "found f32[2]");
  // And none of it left the session unusable.
  EXPECT_EQ(count_wrong(session, 0, 1), 0);
}

TEST_F(SessionTest, NegativeOptionsAreRefused) {
  const fs::path plan = write_plan("m");
  EXPECT_EQ(error_of([&] { Session(runtime_, plan, {.concurrent_runs = -1}); }).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(error_of([] { Runtime({.threads = -2}); }).code(), Code::kInvalidArgument);
}

TEST_F(SessionTest, APlanOfARegionIsRefused) {
  PlanBuilder builder(runtime_.plugin_host());
  const int x = builder.input("x", {8, 8}, "aB4b");
  const int y = builder.output("y", {8, 8});
  builder.convert(x, y);
  expect_error(error_of([&] { Session(runtime_, builder.plan(), builder.weights()); }),
               Code::kUnsupported, "'x' has layout aB4b");
}

TEST_F(SessionTest, AnIsolatedPluginComputesTheSameInAProcessOfItsOwn) {
  ASSERT_EQ(::setenv("INLAY_WORKER_PATH", INLAY_BINARY_DIR "/bin/inlay-worker", 1), 0);
  const Runtime isolated({.plugins = runner_path(), .isolate = {"runner"}, .threads = 2});
  const fs::path plan = write_plan("isolated");
  std::vector<float> x(256), y(256), z(256), y_here(256), z_here(256);
  std::iota(x.begin(), x.end(), 0.0f);
  Session(isolated, plan).run({{"x", x}}, {{"y", y}, {"z", z}});
  Session(runtime_, plan).run({{"x", x}}, {{"y", y_here}, {"z", z_here}});
  EXPECT_EQ(y, y_here);
  EXPECT_EQ(z, z_here);
  EXPECT_EQ(y[3], 8);  // (3 + 1) * 2
  ASSERT_EQ(::unsetenv("INLAY_WORKER_PATH"), 0);
}

}  // namespace
}  // namespace inlay
