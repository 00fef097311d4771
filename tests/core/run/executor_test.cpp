#include "core/run/executor.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "core/run/thread_pool.h"
#include "tests/core/run/plan_builder.h"

namespace inlay {
namespace {

class ExecutorTest : public testing::Test {
 protected:
  Tensor numbers(Shape shape) const {
    Tensor tensor = Tensor::zeros({DType::kF32, std::move(shape)});
    auto* data = reinterpret_cast<float*>(tensor.mutable_bytes().data());
    std::iota(data, data + tensor.size_bytes() / sizeof(float), 0.0f);
    return tensor;
  }

  std::vector<float> run_one(const PlanBuilder& builder, const Tensor& input) {
    Executor executor(builder.plan(), builder.weights(), host_);
    const std::vector<Tensor> outputs = executor.run(std::vector{input});
    const auto values = outputs.at(0).as<float>();
    return {values.begin(), values.end()};
  }

  Error error_of(const Plan& plan, const Weights& weights) {
    try {
      Executor executor(plan, weights, host_);
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "accepted";
    return {Code::kInternal, ""};
  }

  NullLog log_;
  ThreadPool pool_{2};
  PluginHost host_{log_,
                   {.search_path = runner_path(),
                    .exclude = {},
                    .threads = 2,
                    .parallel_for = pool_.parallel_for()}};
  PlanBuilder builder_{host_};
};

TEST_F(ExecutorTest, RunsStepsThroughTemporariesAndConstants) {
  const int x = builder_.input("x", {100});
  const int a = builder_.temporary({100});
  const int b = builder_.temporary({100});
  const int y = builder_.output("y", {100});
  builder_.run("Increment", {x}, a);
  builder_.run("Scale", {a}, b, numbers({128}));
  builder_.run("Add", {b, builder_.constant(numbers({100}))}, y);
  const std::vector<float> got = run_one(builder_, numbers({100}));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)], (i + 1) * i + i);
}

TEST_F(ExecutorTest, ReadsViewsOfInputsOutputsAndTemporaries) {
  const int x = builder_.input("x", {4, 25});
  const int t = builder_.temporary({100});
  const int y = builder_.output("y", {100});
  const int z = builder_.output("z", {10, 10});
  builder_.run("Increment", {builder_.view(x, {100})}, t);
  builder_.run("Increment", {builder_.view(t, {100})}, y);
  builder_.run("Increment", {builder_.view(y, {10, 10})}, z);
  Executor executor(builder_.plan(), builder_.weights(), host_);
  for (int repeat = 0; repeat < 2; ++repeat) {  // the second run has other pointers
    const std::vector<Tensor> outputs = executor.run(std::vector{numbers({4, 25})});
    EXPECT_EQ(outputs[0].as<float>()[99], 101);
    EXPECT_EQ(outputs[1].as<float>()[99], 102);
  }
}

TEST_F(ExecutorTest, ConvertsLayoutsAndCopies) {
  const int x = builder_.input("x", {2, 5, 3});
  const int blocked = builder_.temporary({2, 5, 3}, "aBc4b");
  const int same = builder_.temporary({2, 5, 3}, "aBc4b");
  const int y = builder_.output("y", {2, 5, 3});
  const int z = builder_.output("z", {2, 5, 3});
  const int given = builder_.output("given", {2, 5, 3});
  builder_.convert(x, blocked);
  builder_.run("Same", {blocked}, same);
  builder_.convert(same, y);
  builder_.copy(y, z);
  builder_.copy(x, given);
  Executor executor(builder_.plan(), builder_.weights(), host_);
  const Tensor input = numbers({2, 5, 3});
  for (const Tensor& output : executor.run(std::vector{input})) EXPECT_EQ(output, input);
}

TEST_F(ExecutorTest, ConvertsDenseTensorsForAPlanOfBlockedEnds) {
  const int x = builder_.input("x", {2, 5}, "aB8b");
  const int y = builder_.output("y", {2, 5}, "aB8b");
  builder_.run("Same", {x}, y);
  Executor executor(builder_.plan(), builder_.weights(), host_);
  const Tensor input = numbers({2, 5});
  EXPECT_EQ(executor.run(std::vector{input})[0], input);
}

TEST_F(ExecutorTest, TakesMemoryOfAnyAlignment) {
  const int x = builder_.input("x", {64});
  const int y = builder_.output("y", {64});
  builder_.run("IsAligned", {x}, y);
  Executor executor(builder_.plan(), builder_.weights(), host_);
  const Tensor input = numbers({64});
  std::vector<std::byte> source(64 * sizeof(float) + 64);
  std::vector<std::byte> target(source.size());
  for (std::size_t shift = 0; shift < 16; ++shift) {
    std::memcpy(source.data() + shift, input.data(), input.size_bytes());
    const std::byte* in = source.data() + shift;
    std::byte* out = target.data() + 16 - shift;
    std::fill(target.begin(), target.end(), std::byte{0xee});
    executor.run_into(std::vector{in}, std::vector{out});
    EXPECT_EQ(std::memcmp(out, input.data(), input.size_bytes()), 0) << shift;
    EXPECT_EQ(out[-1], std::byte{0xee});
    EXPECT_EQ(out[input.size_bytes()], std::byte{0xee});
  }
}

TEST_F(ExecutorTest, SharesTheWorkspaceOfAllSteps) {
  const int x = builder_.input("x", {64});
  const int a = builder_.temporary({64});
  const int b = builder_.temporary({64});
  const int y = builder_.output("y", {64});
  builder_.run("Workspace", {x}, a);
  builder_.run("Workspace", {a}, b);
  builder_.run("Workspace", {b}, y);
  Executor executor(builder_.plan(), builder_.weights(), host_);
  EXPECT_EQ(executor.memory_bytes(), 512u + 65536u);
  EXPECT_EQ(executor.run(std::vector{numbers({64})})[0].as<float>()[63], 66);
}

TEST_F(ExecutorTest, RunsEmptyTensors) {
  const int x = builder_.input("x", {0, 4});
  const int t = builder_.temporary({0, 4});
  const int y = builder_.output("y", {0, 4});
  builder_.run("Increment", {x}, t);
  builder_.copy(t, y);
  Executor executor(builder_.plan(), builder_.weights(), host_);
  EXPECT_EQ(executor.run(std::vector{numbers({0, 4})})[0].size_bytes(), 0u);
  const std::byte* no_input = nullptr;
  std::byte* no_output = nullptr;
  executor.run_into({&no_input, 1}, {&no_output, 1});
}

TEST_F(ExecutorTest, KeepsConstantsThatTheCallerDropped) {
  std::weak_ptr<const std::byte> retained;
  std::weak_ptr<const std::byte> copied;
  std::unique_ptr<Executor> executor;
  {
    const auto shared_bytes = [&](std::weak_ptr<const std::byte>* watch, float first) {
      Tensor tensor = Tensor::zeros({DType::kF32, {128}});
      std::memcpy(tensor.mutable_bytes().data(), &first, sizeof first);
      auto owner = std::make_shared<Tensor>(tensor);
      std::shared_ptr<const std::byte> bytes(owner, owner->data());
      *watch = bytes;
      return Tensor(tensor.type(), bytes);
    };
    PlanBuilder builder(host_);
    const int from = builder.input("x", {128});
    const int between = builder.temporary({128});
    const int to = builder.output("y", {128});
    builder.run("ScaleCopy", {from}, between, shared_bytes(&copied, 3));
    builder.run("Scale", {between}, to, shared_bytes(&retained, 5));
    executor = std::make_unique<Executor>(builder.plan(), builder.weights(), host_);
  }
  EXPECT_FALSE(retained.expired());
  EXPECT_TRUE(copied.expired());
  EXPECT_EQ(executor->run(std::vector{Tensor::from<float>({128}, std::vector<float>(128, 2))})[0]
                .as<float>()[0],
            2 * 3 * 5);
}

TEST_F(ExecutorTest, GivesProgramsThePlansThreadsAndNoMoreThanTheHosts) {
  const int x = builder_.input("x", {1});
  const int y = builder_.output("y", {1});
  builder_.run("Cap", {x}, y);
  Plan plan = builder_.plan();
  for (const auto& [threads, cap] : {std::pair{1, 1}, {2, 2}, {8, 2}}) {
    plan.threads = threads;
    Executor executor(plan, builder_.weights(), host_);
    EXPECT_EQ(executor.run(std::vector{numbers({1})})[0].as<float>()[0], cap);
  }
}

TEST_F(ExecutorTest, GivesARegionNoMoreThreadsThanItIsLimitedTo) {
  const int x = builder_.input("x", {300});
  const int y = builder_.temporary({300});
  const int z = builder_.output("z", {300});
  builder_.run("Cap", {x}, y);
  builder_.run("Increment", {y}, z);
  Plan plan = builder_.plan();
  plan.threads = 2;
  for (const int most : {0, 1, 2, 5}) {
    for (Region& region : plan.regions) region.most_threads = most;
    Executor executor(plan, builder_.weights(), host_);
    EXPECT_EQ(executor.run(std::vector{numbers({300})})[0].as<float>()[299], most == 1 ? 2 : 3);
  }
}

TEST_F(ExecutorTest, RefusesAnotherBuildOrMachine) {
  const int x = builder_.input("x", {1});
  builder_.run("Same", {x}, builder_.output("y", {1}));
  const Plan good = builder_.plan();
  const auto expect_stale = [&](const std::string& what, const auto& change) {
    Plan plan = good;
    change(plan.plugins[0]);
    const Error error = error_of(plan, builder_.weights());
    EXPECT_EQ(error.code(), Code::kStale) << error.what();
    EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
  };
  expect_stale("plugin 'runner': the plan was made for build 'old', found '" +
                   good.plugins[0].build_id + "'",
               [](PlanPlugin& p) { p.build_id = "old"; });
  expect_stale("a machine with 'other', found '" + good.plugins[0].fingerprint,
               [](PlanPlugin& p) { p.fingerprint = "other"; });
  expect_stale("device 'gpu', found '" + good.plugins[0].device,
               [](PlanPlugin& p) { p.device = "gpu"; });
  Plan missing = good;
  missing.plugins[0].name = "nobody";
  EXPECT_EQ(error_of(missing, builder_.weights()).code(), Code::kNotFound);
}

TEST_F(ExecutorTest, NamesTheStepThatIsDeclinedOrFails) {
  const int x = builder_.input("x", {1});
  const int t = builder_.temporary({1});
  builder_.run("Same", {x}, t);
  PlanBuilder failing = builder_;
  builder_.run("Decline", {t}, builder_.output("y", {1}));
  const Error declined = error_of(builder_.plan(), builder_.weights());
  EXPECT_EQ(declined.code(), Code::kUnsupported);
  EXPECT_STREQ(declined.what(), "step 1 (Decline): plugin 'runner' declines: rank 7 is too much");

  failing.run("Fail", {t}, failing.output("y", {1}));
  Executor executor(failing.plan(), failing.weights(), host_);
  for (int repeat = 0; repeat < 2; ++repeat) {  // it can be run again after an error
    try {
      executor.run(std::vector{numbers({1})});
      ADD_FAILURE() << "ran";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kPluginFailed);
      EXPECT_NE(std::string(error.what()).find("step 1 (Fail)"), std::string::npos);
      EXPECT_NE(std::string(error.what()).find("the fan stopped"), std::string::npos);
    }
  }
}

TEST_F(ExecutorTest, RefusesInputsThatDoNotFit) {
  const int x = builder_.input("image", {2, 3});
  builder_.run("Same", {x}, builder_.output("y", {2, 3}));
  Executor executor(builder_.plan(), builder_.weights(), host_);
  try {
    executor.run(std::vector{numbers({3, 2})});
    ADD_FAILURE() << "ran";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kShapeMismatch);
    EXPECT_STREQ(error.what(), "input 'image': expected f32[2x3], found f32[3x2]");
  }
  EXPECT_THROW(executor.run(std::vector<Tensor>{}), Error);
  const std::byte* nothing = nullptr;
  std::byte target[24];
  std::byte* out = target;
  EXPECT_THROW(executor.run_into({&nothing, 1}, {&out, 1}), Error);
}

TEST_F(ExecutorTest, RefusesWeightsOfAnotherPlan) {
  const int x = builder_.input("x", {128});
  builder_.run("Scale", {x}, builder_.output("y", {128}), numbers({128}));
  EXPECT_EQ(error_of(builder_.plan(), {}).code(), Code::kCorrupt);
  EXPECT_EQ(error_of(builder_.plan(), {{numbers({64, 2})}}).code(), Code::kCorrupt);
}

TEST_F(ExecutorTest, TracesStepsOnlyWhenAsked) {
  const int x = builder_.input("x", {1});
  const int t = builder_.temporary({1});
  builder_.run("Slow", {x}, t);
  builder_.run("Same", {t}, builder_.output("y", {1}));
  Executor executor(builder_.plan(), builder_.weights(), host_);
  executor.run(std::vector{numbers({1})});
  EXPECT_EQ(executor.trace()[0].end_ns, 0);
  executor.set_tracing(true);
  executor.run(std::vector{numbers({1})});
  ASSERT_EQ(executor.trace().size(), 2u);
  // The first step sleeps for 20 ms; a sleep is never shorter than asked for.
  EXPECT_GE(executor.trace()[0].end_ns - executor.trace()[0].begin_ns, 20'000'000);
  EXPECT_LE(executor.trace()[0].end_ns, executor.trace()[1].begin_ns);
}

}  // namespace
}  // namespace inlay
