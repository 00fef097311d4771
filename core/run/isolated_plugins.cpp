#include "core/run/isolated_plugins.h"

#include <fmt/format.h>

#include <cassert>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/plan/weights.h"
#include "core/run/message.h"
#include "core/run/shared_memory.h"

namespace inlay {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

// A plugin's process, shared by all that it runs. Programs and instances hold numbers that the
// process gave them and that die with it: `life` counts the processes.
class PluginProcess {
 public:
  PluginProcess(const PluginRecord& plugin, const IsolateOptions& options,
                std::shared_ptr<IsolatedPlugins::Deaths> deaths)
      : record(plugin),
        patience_(options.patience),
        client_({.search_path = {plugin.path},
                 .threads = options.threads,
                 .executable = options.executable}),
        deaths_(std::move(deaths)) {}

  const PluginRecord record;
  std::mutex mutex;  // held by whoever calls what follows

  int life() const { return client_.pid() < 0 ? -1 : client_.starts(); }
  std::chrono::milliseconds patience() const { return patience_; }
  WorkerClient& client() { return client_; }

  // throws  Error{kPluginFailed} "plugin 'acme', in a process of its own: …", or {kNoMemory}
  //   region  of what was asked for; null: of nothing in particular
  template <typename T>
  T take(WorkerResult<T>&& result, const Region* region = nullptr) {
    if (T* value = std::get_if<T>(&result)) return std::move(*value);
    fail(result, region);
  }

  template <typename T>
  [[noreturn]] void fail(const WorkerResult<T>& result, const Region* region) {
    const auto* crash = std::get_if<Crashed>(&result);
    const auto* hang = std::get_if<Hung>(&result);
    if (crash != nullptr || hang != nullptr) {
      IsolatedPlugins::Death death{.how = {},
                                   .plugin = record.manifest.name,
                                   .build_id = record.build_id,
                                   .region = {},
                                   .what = {}};
      if (crash != nullptr) death.how = *crash;
      if (hang != nullptr) death.how = *hang;
      if (region != nullptr) {
        death.region = region_hash(*region, /*with_constants=*/false).hex();
        death.what = summary(*region);
      }
      const std::lock_guard lock(deaths_->mutex);
      deaths_->latest = std::move(death);
    }
    throw Error(Code::kPluginFailed,
                fmt::format("plugin '{}', in a process of its own: {}{}", record.manifest.name,
                            describe_failure(result),
                            crash || hang ? "; the next run starts it again" : ""));
  }

  // What is gone here goes there with the next request, since a destructor has nobody to wait for.
  void forget(int life_then, std::optional<int> program, std::optional<int> instance) {
    const std::lock_guard lock(mutex);
    if (life_then != life()) return;
    if (program) dead_programs_.push_back(*program);
    if (instance) dead_instances_.push_back(*instance);
  }

  void bury() {
    if (dead_programs_.empty() && dead_instances_.empty()) return;
    const std::vector<int> programs = std::exchange(dead_programs_, {});
    const std::vector<int> instances = std::exchange(dead_instances_, {});
    if (life() >= 0) take(client_.release(programs, instances, patience_));
  }

 private:
  std::chrono::milliseconds patience_;
  WorkerClient client_;
  std::shared_ptr<IsolatedPlugins::Deaths> deaths_;
  std::vector<int> dead_programs_;
  std::vector<int> dead_instances_;
};

// The region as a plan of one step, its inputs and outputs in the region's layouts.
std::pair<Plan, Weights> plan_of(const Region& region, const PluginRecord& record,
                                 const Opened& device, int thread_cap) {
  Plan plan;
  plan.model = summary(region);
  plan.model_hash = region_hash(region, /*with_constants=*/true).hex();
  plan.threads = thread_cap;
  plan.plugins = {{.name = record.manifest.name,
                   .version = record.manifest.version,
                   .build_id = record.build_id,
                   .device = device.device,
                   .fingerprint = device.fingerprint}};
  PlanStep step;
  step.plugin = 0;
  step.region = 0;
  const auto add = [&](int index, Storage storage, const std::string& name) {
    const RegionValue& value = region.values[at(index)];
    plan.values.push_back({.name = name, .type = value.type, .layout = value.layout});
    plan.values.back().storage = storage;
    return static_cast<int>(plan.values.size()) - 1;
  };
  for (std::size_t i = 0; i < region.inputs.size(); ++i) {
    step.inputs.push_back(add(region.inputs[i], Storage::kInput, fmt::format("in{}", i)));
  }
  for (std::size_t o = 0; o < region.outputs.size(); ++o) {
    step.outputs.push_back(add(region.outputs[o], Storage::kOutput, fmt::format("out{}", o)));
  }
  plan.inputs = step.inputs;
  plan.outputs = step.outputs;
  Region stored = region;
  WeightsBuilder weights;
  for (const RegionNode& node : region.nodes) step.nodes.push_back(node.name);
  for (RegionValue& value : stored.values) {
    if (!value.is_constant || element_count(value.type.shape) <= kMaxInlineElements) continue;
    step.constants.push_back(weights.add("constant", *value.constant));
    value.constant.reset();
  }
  plan.regions.push_back(std::move(stored));
  plan.steps.push_back(std::move(step));
  plan.constants = weights.constants();
  return {std::move(plan), weights.weights()};
}

// A compiled region: what it takes to have it compiled again, and its number there.
struct IsolatedRegion {
  std::shared_ptr<PluginProcess> process;
  Plan plan;
  Descriptor weights;
  int life = -1;
  int program = -1;

  ~IsolatedRegion() {
    if (life >= 0) process->forget(life, program, std::nullopt);
  }

  WorkerResult<Loaded> load() {
    process->bury();
    WorkerResult<Loaded> result = process->client().load(plan, weights, process->patience());
    if (const Loaded* loaded = std::get_if<Loaded>(&result)) {
      program = loaded->program;
      life = process->life();
    }
    return result;
  }

  void be_loaded() {
    if (life != process->life()) process->take(load(), &plan.regions[0]);
  }
};

class IsolatedInstance : public Instance {
 public:
  explicit IsolatedInstance(std::shared_ptr<IsolatedRegion> region)
      : region_(std::move(region)),
        slots_(instance_slots(region_->plan)),
        memory_(slots_.size_bytes),
        inputs_(region_->plan.inputs.size()),
        outputs_(region_->plan.outputs.size()) {
    const std::lock_guard lock(region_->process->mutex);
    be_attached();
  }

  ~IsolatedInstance() override {
    if (life_ >= 0) region_->process->forget(life_, std::nullopt, instance_);
  }

  void bind(std::span<const HostTensor> inputs, std::span<const HostTensor> outputs) override {
    check_ports("input", region_->plan.inputs, inputs);
    check_ports("output", region_->plan.outputs, outputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) inputs_[i] = inputs[i].data;
    for (std::size_t o = 0; o < outputs.size(); ++o) outputs_[o] = outputs[o].data;
    is_bound_ = true;
  }

  void rebind_input(int position, std::byte* data) override { inputs_[at(position)] = data; }
  void rebind_output(int position, std::byte* data) override { outputs_[at(position)] = data; }

  void run() override {
    if (!is_bound_) throw Error(Code::kInvalidArgument, "an instance runs after bind");
    PluginProcess& process = *region_->process;
    const std::lock_guard lock(process.mutex);
    be_attached();
    const Plan& plan = region_->plan;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      copy(memory_.data() + slots_.inputs[i], inputs_[i], size_of_value(plan, plan.inputs[i]));
    }
    process.take(process.client().run(instance_, process.patience()), &plan.regions[0]);
    for (std::size_t o = 0; o < outputs_.size(); ++o) {
      copy(outputs_[o], memory_.data() + slots_.outputs[o], size_of_value(plan, plan.outputs[o]));
    }
  }

 private:
  static void copy(std::byte* target, const std::byte* source, std::size_t size_bytes) {
    if (size_bytes > 0) std::memcpy(target, source, size_bytes);
  }

  void check_ports(const char* side, const std::vector<int>& expected,
                   std::span<const HostTensor> found) const {
    bool is_right = found.size() == expected.size();
    for (std::size_t i = 0; is_right && i < expected.size(); ++i) {
      const PlanValue& value = region_->plan.values[at(expected[i])];
      is_right = *found[i].type == value.type && *found[i].layout == value.layout;
    }
    if (is_right) return;
    throw Error(Code::kShapeMismatch, fmt::format("expected the {} {}s of the region, found others",
                                                  expected.size(), side));
  }

  void be_attached() {
    PluginProcess& process = *region_->process;
    if (life_ >= 0 && life_ == process.life()) return;
    region_->be_loaded();
    process.bury();
    instance_ =
        process.take(process.client().attach(region_->program, memory_.file(), process.patience()))
            .instance;
    life_ = process.life();
  }

  std::shared_ptr<IsolatedRegion> region_;
  InstanceSlots slots_;
  SharedMemory memory_;
  std::vector<std::byte*> inputs_;
  std::vector<std::byte*> outputs_;
  bool is_bound_ = false;
  int life_ = -1;
  int instance_ = -1;
};

class IsolatedProgram : public Program {
 public:
  explicit IsolatedProgram(std::shared_ptr<IsolatedRegion> region) : region_(std::move(region)) {}

  // The process there has its own.
  std::size_t workspace_bytes() const override { return 0; }
  bool retains_constants() const override { return false; }
  std::unique_ptr<Instance> instantiate(std::byte*) override {
    return std::make_unique<IsolatedInstance>(region_);
  }

 private:
  std::shared_ptr<IsolatedRegion> region_;
};

class IsolatedDevice : public Device {
 public:
  IsolatedDevice(std::shared_ptr<PluginProcess> process, Opened opened)
      : process_(std::move(process)), opened_(std::move(opened)) {}

  const std::string& plugin() const override { return process_->record.manifest.name; }
  const std::string& name() const override { return opened_.device; }
  const std::string& fingerprint() const override { return opened_.fingerprint; }
  const std::string& space() const override { return opened_.space; }

  std::unique_ptr<Program> compile(const Region& region, const CompileOptions& options,
                                   std::string* declined) override {
    auto [plan, weights] = plan_of(region, process_->record, opened_, options.thread_cap);
    auto made = std::make_shared<IsolatedRegion>();
    made->process = process_;
    made->plan = std::move(plan);
    made->weights = to_memory_file(weights.tensors);
    const std::lock_guard lock(process_->mutex);
    const WorkerResult<Loaded> result = made->load();
    if (const Declined* no = std::get_if<Declined>(&result)) {
      if (declined != nullptr) *declined = no->reason;
      return nullptr;
    }
    if (!std::holds_alternative<Loaded>(result)) process_->fail(result, &region);
    return std::make_unique<IsolatedProgram>(std::move(made));
  }

 private:
  std::shared_ptr<PluginProcess> process_;
  Opened opened_;
};

}  // namespace

OpenIsolated IsolatedPlugins::opener(const IsolateOptions& options) {
  return [options, deaths = deaths_](const PluginRecord& plugin, int index) {
    auto process = std::make_shared<PluginProcess>(plugin, options, deaths);
    const std::lock_guard lock(process->mutex);
    Opened opened =
        process->take(process->client().open(plugin.manifest.name, options.patience, index));
    return std::make_shared<IsolatedDevice>(process, std::move(opened));
  };
}

void IsolatedPlugins::forget_death() {
  const std::lock_guard lock(deaths_->mutex);
  deaths_->latest.reset();
}

std::optional<IsolatedPlugins::Death> IsolatedPlugins::last_death() const {
  const std::lock_guard lock(deaths_->mutex);
  return deaths_->latest;
}

}  // namespace inlay
