#include "core/session/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/plan/plan_text.h"
#include "core/run/isolated_plugins.h"
#include "core/run/thread_pool.h"
#include "core/session/constant_cache.h"
#include "core/session/executor_pool.h"

namespace inlay {
namespace {

int thread_count(int wanted) {
  if (wanted < 0) {
    throw Error(Code::kInvalidArgument,
                fmt::format("threads: expected 0 (all) or more, found {}", wanted));
  }
  return wanted > 0 ? wanted : available_threads();
}

HostOptions make_host_options(const RuntimeOptions& options, ThreadPool& pool) {
  HostOptions host;
  host.search_path = options.plugins.empty() ? default_search_path() : options.plugins;
  host.exclude = options.exclude;
  host.isolate = options.isolate;
  host.open_isolated = IsolatedPlugins().opener({.threads = pool.threads()});
  host.threads = pool.threads();
  host.parallel_for = pool.parallel_for();
  host.execute_on = pool.execute_on();
  return host;
}

// Where what is wanted is found among the given; -1 if nowhere.
template <typename Memory>
int find_memory(std::span<const Memory> given, const std::string& name) {
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

std::string names_of(const std::vector<TensorInfo>& tensors) {
  std::string text;
  for (const TensorInfo& tensor : tensors) text += fmt::format(" '{}'", tensor.name);
  return text;
}

template <typename Memory>
void check_memory(const Memory& given, const TensorInfo& wanted, const char* what) {
  const TensorType& type = wanted.type;
  const std::size_t expected_bytes = dense_bytes(type);
  const bool is_right = given.dtype == type.dtype && given.size_bytes == expected_bytes &&
                        (!given.shape || std::equal(given.shape->begin(), given.shape->end(),
                                                    type.shape.begin(), type.shape.end()));
  if (!is_right) {
    const std::string found =
        given.shape ? to_string(TensorType{given.dtype, {given.shape->begin(), given.shape->end()}})
                    : std::string(name_of(given.dtype));
    throw Error(Code::kShapeMismatch,
                fmt::format("{} '{}': expected {} in {} bytes, found {} in {} bytes", what,
                            wanted.name, to_string(type), expected_bytes, found, given.size_bytes));
  }
  if (given.data == nullptr && expected_bytes > 0) {
    throw Error(Code::kInvalidArgument, fmt::format("{} '{}': null pointer", what, wanted.name));
  }
}

// The pointers in the plan's order.
template <typename Memory, typename Pointer>
void put_in_order(std::span<const Memory> given, const std::vector<TensorInfo>& wanted,
                  const char* what, std::vector<Pointer>* pointers) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const int found = find_memory(given, wanted[i].name);
    if (found < 0) {
      throw Error(Code::kInvalidArgument, fmt::format("{} '{}' is missing; the model has{}", what,
                                                      wanted[i].name, names_of(wanted)));
    }
    const Memory& memory = given[static_cast<std::size_t>(found)];
    check_memory(memory, wanted[i], what);
    (*pointers)[i] = static_cast<Pointer>(memory.data);
  }
  if (given.size() == wanted.size()) return;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const auto is_it = [&](const TensorInfo& info) { return info.name == given[i].name; };
    if (std::none_of(wanted.begin(), wanted.end(), is_it)) {
      throw Error(Code::kInvalidArgument, fmt::format("{} '{}' is unknown; the model has{}", what,
                                                      given[i].name, names_of(wanted)));
    }
    if (find_memory(given, std::string(given[i].name)) != static_cast<int>(i)) {
      throw Error(Code::kInvalidArgument,
                  fmt::format("{} '{}' is given twice", what, given[i].name));
    }
  }
}

std::vector<TensorInfo> infos_of(const Plan& plan, const std::vector<int>& values) {
  std::vector<TensorInfo> infos;
  for (const int index : values) {
    const PlanValue& value = plan.values[static_cast<std::size_t>(index)];
    if (value.layout != Layout::dense(value.layout.rank())) {
      throw Error(Code::kUnsupported,
                  fmt::format("'{}' has layout {}: the plan is of a region, not of a model",
                              value.name, value.layout.text()));
    }
    infos.push_back({value.name, value.type});
  }
  return infos;
}

}  // namespace

struct Runtime::State {
  explicit State(RuntimeOptions options)
      : log(options.log ? std::move(options.log) : std::make_shared<NullLog>()),
        pool(thread_count(options.threads)),
        host_options(make_host_options(options, pool)),
        host(*log, host_options) {}

  std::shared_ptr<Log> log;
  ThreadPool pool;
  HostOptions host_options;
  PluginHost host;
  ConstantCache constants;
  std::mutex mutex;                                    // of `loaded`
  std::map<Hash, std::weak_ptr<ExecutorPool>> loaded;  // by the plan's text
};

Runtime::Runtime(RuntimeOptions options) : state_(std::make_shared<State>(std::move(options))) {}

int Runtime::threads() const { return state_->pool.threads(); }
std::uint64_t Runtime::constant_bytes() const { return state_->constants.size_bytes(); }
PluginHost& Runtime::plugin_host() const { return state_->host; }
const HostOptions& Runtime::host_options() const { return state_->host_options; }
Log& Runtime::log() const { return *state_->log; }

struct Session::State {
  // Members go in the reverse order: executors before the plugins that made them.
  std::shared_ptr<Runtime::State> runtime;
  std::shared_ptr<ExecutorPool> executors;
  std::vector<TensorInfo> inputs;
  std::vector<TensorInfo> outputs;

  // `weights` is called only if the plan is not open yet. Plans that differ are loaded one after
  // the other, so that equal constants meet in the cache.
  template <typename OpenWeights>
  void open(const Plan& plan, std::string_view text, SessionOptions options,
            OpenWeights open_weights) {
    if (options.concurrent_runs < 0) {
      throw Error(Code::kInvalidArgument, fmt::format("concurrent_runs: expected 0 or more, "
                                                      "found {}",
                                                      options.concurrent_runs));
    }
    inputs = infos_of(plan, plan.inputs);
    outputs = infos_of(plan, plan.outputs);
    const int limit =
        options.concurrent_runs > 0 ? options.concurrent_runs : runtime->pool.threads();
    const std::lock_guard lock(runtime->mutex);
    std::erase_if(runtime->loaded, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<ExecutorPool>& entry = runtime->loaded[hash_of(std::as_bytes(std::span(text)))];
    executors = entry.lock();
    if (executors != nullptr) {
      executors->raise_limit(limit);
      return;
    }
    const Weights weights = runtime->constants.share(plan.constants, open_weights());
    executors = std::make_shared<ExecutorPool>(plan, weights, runtime->host, limit);
    entry = executors;
  }
};

Session::Session(const Runtime& runtime, const std::filesystem::path& path, SessionOptions options)
    : state_(std::make_shared<State>()) {
  state_->runtime = runtime.state_;
  const std::string text = read_text(path);
  const Plan plan = parse_plan(text, path.string());
  std::filesystem::path weights = path;
  weights.replace_extension(".weights");
  state_->open(plan, text, options, [&] { return open_weights(weights, plan.constants); });
}

Session::Session(const Runtime& runtime, const Plan& plan, Weights weights, SessionOptions options)
    : state_(std::make_shared<State>()) {
  state_->runtime = runtime.state_;
  state_->open(plan, to_text(plan), options, [&] { return std::move(weights); });
}

const std::string& Session::model() const { return state_->executors->plan().model; }
const std::vector<TensorInfo>& Session::inputs() const { return state_->inputs; }
const std::vector<TensorInfo>& Session::outputs() const { return state_->outputs; }
std::uint64_t Session::memory_bytes() const { return state_->executors->memory_bytes(); }
int Session::concurrent_runs() const { return state_->executors->count(); }

void Session::run(std::span<const InputMemory> inputs,
                  std::span<const OutputMemory> outputs) const {
  const ExecutorPool::Lease lease = state_->executors->acquire();
  put_in_order(inputs, state_->inputs, "input", &lease->inputs);
  put_in_order(outputs, state_->outputs, "output", &lease->outputs);
  lease->executor->run_into(lease->inputs, lease->outputs);
}

void Session::run(std::initializer_list<InputMemory> inputs,
                  std::initializer_list<OutputMemory> outputs) const {
  run(std::span<const InputMemory>(inputs.begin(), inputs.size()),
      std::span<const OutputMemory>(outputs.begin(), outputs.size()));
}

std::map<std::string, Tensor> Session::run(const std::map<std::string, Tensor>& inputs) const {
  std::vector<InputMemory> sources;
  for (const auto& [name, tensor] : inputs) {
    sources.emplace_back(name, tensor.dtype(), tensor.data(), tensor.size_bytes(), tensor.shape());
  }
  std::map<std::string, Tensor> results;
  std::vector<OutputMemory> targets;
  for (const TensorInfo& info : state_->outputs) {
    Tensor& tensor = results[info.name] = Tensor::zeros(info.type);
    targets.emplace_back(info.name, info.type.dtype, tensor.mutable_bytes().data(),
                         tensor.size_bytes(), tensor.shape());
  }
  run(sources, targets);
  return results;
}

}  // namespace inlay
