// Devices, programs and instances, by plugins that do what the pattern's name says
// (mutants/scripted.cpp).
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "core/base/error.h"
#include "core/host/plugin_host.h"
#include "tests/core/host/allocation_count.h"

namespace inlay {
namespace {

namespace fs = std::filesystem;

class RecordingLog : public Log {
 public:
  void write(LogLevel, std::string_view event, const std::vector<LogField>& fields) override {
    const std::lock_guard lock(mutex_);
    std::string line(event);
    for (const auto& [key, text] : fields) line += " " + std::string(key) + "=" + text;
    lines_.push_back(line);
  }
  // The texts of a plugin's own messages, in order.
  std::vector<std::string> messages() const {
    const std::string prefix = "plugin message text=";
    std::vector<std::string> texts;
    for (const std::string& line : lines_) {
      if (line.rfind(prefix, 0) == 0) texts.push_back(line.substr(prefix.size()));
    }
    return texts;
  }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

HostOptions scripted_options(const std::string& plugin) {
  HostOptions options;
  options.search_path = {fs::path(INLAY_BINARY_DIR) / "mutants" / (plugin + ".so"),
                         fs::path(INLAY_PLUGIN_DIR) / (plugin + ".so")};
  std::erase_if(options.search_path, [](const fs::path& path) { return !fs::exists(path); });
  return options;
}

RegionValue value(std::string name, std::string port, Shape shape) {
  const int rank = static_cast<int>(shape.size());
  return {.name = std::move(name),
          .port = std::move(port),
          .type = {DType::kF32, std::move(shape)},
          .layout = Layout::dense(rank),
          .is_constant = false,
          .constant = std::nullopt};
}

// x and a constant W of one element in, y out.
Region region_of(const std::string& pattern, std::int64_t count = 1) {
  Region region;
  region.pattern = pattern;
  region.values = {value("x", "X", {count}), value("w", "W", {1}), value("y", "out", {count})};
  region.values[1].is_constant = true;
  region.values[1].constant = Tensor::from<float>({1}, {42});
  region.nodes = {{.name = "n",
                   .domain = "",
                   .op = "Identity",
                   .inputs = {0, 1},
                   .outputs = {2},
                   .attributes = {{"axis", std::int64_t{3}}}}};
  region.inputs = {0};
  region.outputs = {2};
  return region;
}

struct Bound {
  explicit Bound(const Region& region) : x(region.values[0]), y(region.values.back()) {
    const auto count = static_cast<std::size_t>(element_count(x.type.shape));
    in.assign(count, 7.0f);
    out.assign(count, -1.0f);
  }
  void bind(Instance& instance) {
    const HostTensor input{&x.type, &x.layout, reinterpret_cast<std::byte*>(in.data())};
    const HostTensor output{&y.type, &y.layout, reinterpret_cast<std::byte*>(out.data())};
    instance.bind({&input, 1}, {&output, 1});
  }
  RegionValue x, y;
  std::vector<float> in, out;
};

std::string text_of_error(const auto& action) {
  try {
    action();
  } catch (const Error& error) {
    return std::string(code_name(error.code())) + ": " + error.what();
  }
  return "no error";
}

class DeviceTest : public testing::Test {
 protected:
  // What y[0] is after one run of the pattern.
  float run(const std::string& pattern, int cap = 1) {
    const Region region = region_of(pattern);
    const auto program = device_->compile(region, {.thread_cap = cap}, nullptr);
    const auto instance = program->instantiate(nullptr);
    Bound bound(region);
    bound.bind(*instance);
    instance->run();
    return bound.out[0];
  }

  RecordingLog log_;
  PluginHost host_{log_, scripted_options("scripted")};
  std::shared_ptr<Device> device_ = host_.open_device("scripted");
};

using DeviceOfAPlugin = DeviceTest;

TEST_F(DeviceOfAPlugin, CompilesAndRuns) {
  EXPECT_EQ(run("identity"), 7.0f);
  EXPECT_EQ(run("attribute"), 3.0f);
}

TEST_F(DeviceOfAPlugin, DeclineIsAnAnswerWithItsReason) {
  std::string declined;
  EXPECT_EQ(device_->compile(region_of("decline"), {}, &declined), nullptr);
  EXPECT_EQ(declined, "rank 7 is too much");
  EXPECT_EQ(device_->compile(region_of("decline"), {}, nullptr), nullptr);
}

TEST_F(DeviceOfAPlugin, FailuresNamePluginCallAndText) {
  const auto compile = [&](const char* pattern) {
    return text_of_error([&] { device_->compile(region_of(pattern), {}, nullptr); });
  };
  EXPECT_EQ(compile("fail"),
            "plugin_failed: plugin 'scripted': compile: internal error: table is bent");
  EXPECT_EQ(compile("no_memory"),
            "no_memory: plugin 'scripted': compile: no memory: out of memory");
  EXPECT_EQ(compile("nothing"),
            "plugin_failed: plugin 'scripted': compile: internal error: compile made no kernel");
  EXPECT_EQ(text_of_error([&] { run("run_fails"); }),
            "plugin_failed: plugin 'scripted': enqueue: internal error: the fan stopped");
}

TEST_F(DeviceOfAPlugin, KeepsConstantsAliveAsLongAsTheProgramReadsThem) {
  for (const char* pattern : {"constant", "copied_constant"}) {
    auto region = std::make_unique<Region>(region_of(pattern));
    const std::weak_ptr<int> alive = [&] {
      // The bytes are freed, and overwritten first, with the last owner.
      auto token = std::make_shared<int>(0);
      const Tensor tensor = *region->values[1].constant;
      region->values[1].constant =
          Tensor(tensor.type(),
                 std::shared_ptr<const std::byte>(tensor.data(), [tensor, token](auto*) {}));
      return std::weak_ptr<int>(token);
    }();
    Bound bound(*region);
    auto program = device_->compile(*region, {}, nullptr);
    region.reset();
    EXPECT_EQ(alive.expired(), !program->retains_constants()) << pattern;
    EXPECT_EQ(program->retains_constants(), std::string(pattern) == "constant");
    auto instance = program->instantiate(nullptr);
    program.reset();
    bound.bind(*instance);
    instance->run();
    EXPECT_EQ(bound.out[0], 42.0f) << pattern;
    instance.reset();
    EXPECT_TRUE(alive.expired()) << pattern;
  }
}

TEST_F(DeviceOfAPlugin, ChildrenKeepTheirParents) {
  RecordingLog log;
  const Region region = region_of("identity");
  Bound bound(region);
  auto host = std::make_unique<PluginHost>(log, scripted_options("scripted"));
  std::unique_ptr<Instance> instance =
      host->open_device("scripted")->compile(region, {}, nullptr)->instantiate(nullptr);
  host.reset();
  bound.bind(*instance);
  instance->run();
  EXPECT_EQ(bound.out[0], 7.0f);
  EXPECT_EQ(log.messages(), (std::vector<std::string>{"compiling"}));
  instance.reset();
  EXPECT_EQ(log.messages(), (std::vector<std::string>{"compiling", "kernel destroyed identity"}));
}

TEST(Library, IsInitialisedOnceForSeveralHostsAndEndedWithTheLast) {
  RecordingLog first_log;
  RecordingLog second_log;
  auto first = std::make_unique<PluginHost>(first_log, scripted_options("scripted"));
  auto second = std::make_unique<PluginHost>(second_log, scripted_options("scripted"));
  first->open_device("scripted");
  second->open_device("scripted");
  EXPECT_EQ(first_log.messages(), (std::vector<std::string>{"init"}));
  first.reset();
  EXPECT_EQ(first_log.messages(), (std::vector<std::string>{"init"}));
  // The first host is gone, and the plugin still reaches the one it works for.
  second->open_device("scripted")->compile(region_of("identity"), {}, nullptr);
  second.reset();
  EXPECT_EQ(second_log.messages(),
            (std::vector<std::string>{"compiling", "kernel destroyed identity", "deinit"}));
}

TEST_F(DeviceOfAPlugin, RunSeesTheCapItWasCompiledFor) {
  EXPECT_EQ(run("cap", 1), 1.0f);
  EXPECT_EQ(run("cap", 3), 3.0f);
  EXPECT_EQ(run("cap", 0), 1.0f);
}

TEST(ParallelFor, ReachesTheHostsPoolWithTheRunsCap) {
  std::atomic<int> used{0};
  NullLog log;
  HostOptions options = scripted_options("scripted");
  options.threads = 2;
  options.parallel_for = [&](std::int64_t count, void (*body)(void*, std::int64_t),
                             void* argument) {
    ++used;
    std::thread other([=] {
      for (std::int64_t i = 1; i < count; ++i) body(argument, i);
    });
    body(argument, 0);
    other.join();
  };
  PluginHost host(log, options);
  EXPECT_EQ(host.threads(), 2);
  const Region region = region_of("parallel", 8);
  for (const int cap : {1, 2}) {
    const auto program =
        host.open_device("scripted")->compile(region, {.thread_cap = cap}, nullptr);
    const auto instance = program->instantiate(nullptr);
    Bound bound(region);
    bound.bind(*instance);
    instance->run();
    EXPECT_EQ(bound.out, std::vector<float>(8, static_cast<float>(cap)));
    EXPECT_EQ(used.load(), cap - 1) << "a cap of one needs no pool";
  }
}

TEST_F(DeviceOfAPlugin, WorkspaceIsPassedOnAndDemanded) {
  const Region region = region_of("workspace");
  const auto program = device_->compile(region, {}, nullptr);
  ASSERT_EQ(program->workspace_bytes(), 200u);
  alignas(64) std::byte workspace[256]{};
  const auto instance = program->instantiate(workspace);
  Bound bound(region);
  bound.bind(*instance);
  instance->run();
  EXPECT_EQ(bound.out[0], 0.0f);
  EXPECT_EQ(workspace[199], std::byte{1});
  EXPECT_NE(text_of_error([&] { program->instantiate(nullptr); }).find("200 bytes of workspace"),
            std::string::npos);
}

TEST_F(DeviceOfAPlugin, BindChecksCountTypeAndLayout) {
  const Region region = region_of("identity");
  const auto instance = device_->compile(region, {}, nullptr)->instantiate(nullptr);
  EXPECT_NE(text_of_error([&] { instance->run(); }).find("after bind"), std::string::npos);
  Bound bound(region);
  const HostTensor good{&bound.x.type, &bound.x.layout,
                        reinterpret_cast<std::byte*>(bound.in.data())};
  const TensorType wrong_type{DType::kF32, {2}};
  const HostTensor wrong{&wrong_type, &bound.x.layout, good.data};
  EXPECT_EQ(text_of_error([&] {
              instance->bind({}, {&good, 1});
            }),
            "shape_mismatch: expected 1 inputs, found 0");
  EXPECT_EQ(text_of_error([&] {
              instance->bind({&good, 1}, {&wrong, 1});
            }),
            "shape_mismatch: output 0: expected f32[1] as a, found f32[2] as a");
}

TEST_F(DeviceOfAPlugin, RunAndRebindAllocateNothing) {
  const Region region = region_of("identity");
  const auto instance = device_->compile(region, {}, nullptr)->instantiate(nullptr);
  Bound bound(region);
  bound.bind(*instance);
  float other_in = 8.0f;
  float other_out = 0.0f;
  const long before = allocation_count();
  instance->run();
  instance->rebind_input(0, reinterpret_cast<std::byte*>(&other_in));
  instance->rebind_output(0, reinterpret_cast<std::byte*>(&other_out));
  instance->run();
  EXPECT_EQ(allocation_count() - before, 0);
  EXPECT_EQ(bound.out[0], 7.0f);
  EXPECT_EQ(other_out, 8.0f);
}

TEST(Mutant, ExceptionsThatLeaveThePluginBecomeErrors) {
  RecordingLog log;
  {
    PluginHost host(log, scripted_options("throws"));
    const std::string text =
        text_of_error([&] { host.open_device("mutant")->compile(region_of("copy"), {}, nullptr); });
    EXPECT_EQ(text,
              "plugin_failed: plugin 'mutant': compile: an exception left the plugin: left open");
  }
  EXPECT_EQ(log.lines().back(), "an exception left the plugin plugin=mutant call=destroy_device");
}

TEST(Mutant, TextsWithoutATerminatorEndWithTheirFields) {
  NullLog log;
  PluginHost host(log, scripted_options("no_terminator"));
  const std::shared_ptr<Device> device = host.open_device("mutant");
  EXPECT_EQ(device->name(), std::string(64, 'x'));
  const std::string text = text_of_error([&] { device->compile(region_of("copy"), {}, nullptr); });
  EXPECT_EQ(text, "plugin_failed: plugin 'mutant': compile: internal error: " +
                      std::string(INLAY_ERROR_TEXT_BYTES, 'x'));
}

float run_once(const std::string& plugin, const std::string& name, const Region& region, float x) {
  NullLog log;
  PluginHost host(log, scripted_options(plugin));
  const auto program = host.open_device(name)->compile(region, {}, nullptr);
  if (program == nullptr) throw std::runtime_error("declined");
  const auto instance = program->instantiate(nullptr);
  Bound bound(region);
  bound.in.assign(bound.in.size(), x);
  bound.bind(*instance);
  instance->run();
  return bound.out.back();
}

TEST(Mutant, ANewerMinorWithLargerTablesRuns) {
  EXPECT_EQ(run_once("newer_minor", "mutant", region_of("copy"), 3.0f), 3.0f);
}

TEST(PlainC, PluginRunsAndDeclines) {
  const Region region = region_of("relu", 5);
  EXPECT_EQ(run_once("plain_c", "plain_c", region, 3.0f), 3.0f);
  EXPECT_EQ(run_once("plain_c", "plain_c", region, -3.0f), 0.0f);
  EXPECT_THROW(run_once("plain_c", "plain_c", region_of("other"), 1.0f), std::runtime_error);
}

}  // namespace
}  // namespace inlay
