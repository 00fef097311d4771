#include "core/run/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <optional>

#include "core/base/error.h"
#include "core/run/programs.h"
#include "core/run/thread_pool.h"

namespace inlay {
namespace {

constexpr std::size_t kAlignment = 64;  // what plugins are promised

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct Free {
  void operator()(std::byte* bytes) const { std::free(bytes); }
};
using Memory = std::unique_ptr<std::byte, Free>;

Memory allocate(std::uint64_t size_bytes, const char* what) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
  const std::uint64_t padded = (size_bytes / kAlignment + 1) * kAlignment;
  Memory memory(size_bytes > kMost
                    ? nullptr
                    : static_cast<std::byte*>(std::aligned_alloc(kAlignment, padded)));
  if (memory == nullptr) {
    throw Error(Code::kNoMemory, fmt::format("{}: {} bytes not available", what, size_bytes));
  }
  return memory;
}

void check_weights(const Plan& plan, const Weights& weights) {
  if (weights.tensors.size() != plan.constants.size()) {
    throw Error(Code::kCorrupt, fmt::format("the plan has {} constants, the weights {}",
                                            plan.constants.size(), weights.tensors.size()));
  }
  for (std::size_t c = 0; c < plan.constants.size(); ++c) {
    if (weights.tensors[c].type() != plan.constants[c].type) {
      throw Error(Code::kCorrupt,
                  fmt::format("constant '{}': the plan expects {}, the weights hold {}",
                              plan.constants[c].name, to_string(plan.constants[c].type),
                              to_string(weights.tensors[c].type())));
    }
  }
}

// Calls the function on so many threads and lets out what it throws. Allocates nothing.
template <typename Function>
void run_on(const ExecuteOn& execute_on, int threads, const Function& function) {
  struct Call {
    const Function& function;
    std::exception_ptr failure;
  } call{function, nullptr};
  execute_on(
      threads,
      [](void* argument) {
        Call& c = *static_cast<Call*>(argument);
        try {
          c.function();
        } catch (...) {
          c.failure = std::current_exception();
        }
      },
      &call);
  if (call.failure) std::rethrow_exception(call.failure);
}

// Where an instance holds a pointer to one value.
struct Binding {
  int step;
  bool is_output;
  int position;
};

// A plan input or output: the caller's memory, or a copy of it where that is not aligned to the
// element.
struct End {
  int value = -1;
  std::size_t size_bytes = 0;
  std::size_t element_bytes = 1;
  std::vector<int> views;  // other values on the same bytes
  std::vector<Binding> bindings;
  std::byte* bound = nullptr;  // what the instances point to
  Memory staging;
  // Between a dense tensor and the value's layout, for run(); none where the latter is dense.
  std::optional<LayoutConversion> conversion;
};

}  // namespace

struct Executor::State {
  Plan plan;
  ExecuteOn execute_on;
  int threads = 1;
  std::vector<std::shared_ptr<Device>> devices;
  std::shared_ptr<const Programs> programs;  // one for all twins
  std::vector<Tensor> constants;  // as Plan::constants; empty where no value is made of it
  Memory arena;
  Memory workspace;
  std::uint64_t memory_bytes = 0;
  std::vector<std::byte*> pointers;                  // by value
  std::vector<std::unique_ptr<Instance>> instances;  // by step; null for what the host does itself
  std::vector<std::optional<LayoutConversion>> conversions;  // by step
  std::vector<std::size_t> copy_bytes;                       // by step
  std::vector<ThreadLimit*> limits;                          // by step; null: none
  std::map<int, ThreadLimit> made_limits;                    // by threads
  std::vector<End> inputs;
  std::vector<End> outputs;
  bool is_tracing = false;
  std::vector<StepTime> trace;

  const PlanValue& value(int index) const { return plan.values[static_cast<std::size_t>(index)]; }
  std::byte*& pointer(int index) { return pointers[static_cast<std::size_t>(index)]; }
  std::size_t bytes_of(int index) const {
    return value(index).layout.size_bytes(value(index).type);
  }

  void allocate_memory();
  void keep_constants(const Weights& weights);
  void point_values();
  void prepare();
  void make_step(std::size_t s);
  End make_end(int index, bool is_output);
  void rebind(End* end, std::byte* data);
  std::byte* stage(End* end, const std::byte* data);
  void run_step(std::size_t s);
  void run_steps();
};

// One workspace serves all instances, since steps run one after the other.
void Executor::State::allocate_memory() {
  std::size_t most = 0;
  for (const auto& program : programs->list) most = std::max(most, program->workspace_bytes());
  arena = allocate(plan.arena_bytes, "arena");
  workspace = allocate(most, "workspace");
  memory_bytes = plan.arena_bytes + most;
}

void Executor::State::keep_constants(const Weights& weights) {
  constants.resize(plan.constants.size());
  for (const PlanValue& v : plan.values) {
    if (v.storage != Storage::kConstant) continue;
    const auto c = static_cast<std::size_t>(v.constant);
    constants[c] = weights.tensors[c];
  }
}

void Executor::State::point_values() {
  pointers.assign(plan.values.size(), nullptr);
  for (std::size_t v = 0; v < plan.values.size(); ++v) {
    const PlanValue& value = plan.values[v];
    switch (value.storage) {
      case Storage::kTemporary:
        pointers[v] = arena.get() + value.offset_bytes;
        break;
      case Storage::kConstant:
        // Only ever bound as an input, which no plugin writes.
        pointers[v] =
            const_cast<std::byte*>(constants[static_cast<std::size_t>(value.constant)].data());
        break;
      case Storage::kView:
        pointers[v] = pointers[static_cast<std::size_t>(value.view_of)];
        break;
      case Storage::kInput:
      case Storage::kOutput:
        break;  // rebound by every run that brings another pointer
    }
  }
}

void Executor::State::make_step(std::size_t s) {
  const PlanStep& step = plan.steps[s];
  instances.emplace_back();
  conversions.emplace_back();
  copy_bytes.push_back(0);
  limits.push_back(nullptr);
  if (step.kind == StepKind::kConvert) {
    const PlanValue& from = value(step.inputs[0]);
    conversions.back().emplace(from.type, from.layout, value(step.outputs[0]).layout);
    return;
  }
  if (step.kind == StepKind::kCopy) {
    copy_bytes.back() = bytes_of(step.inputs[0]);
    return;
  }
  Program& program = *programs->list[static_cast<std::size_t>(programs->of_step[s])];
  const int most = most_threads(plan.regions[static_cast<std::size_t>(step.region)], threads);
  if (most < threads) limits.back() = &made_limits.try_emplace(most, most).first->second;
  instances.back() = program.instantiate(program.workspace_bytes() > 0 ? workspace.get() : nullptr);
  const auto tensors_of = [&](const std::vector<int>& values) {
    std::vector<HostTensor> tensors;
    for (const int v : values) {
      // Until the first run the caller's tensors point to the arena: somewhere valid.
      tensors.push_back({&value(v).type, &value(v).layout, pointer(v) ? pointer(v) : arena.get()});
    }
    return tensors;
  };
  instances.back()->bind(tensors_of(step.inputs), tensors_of(step.outputs));
}

End Executor::State::make_end(int index, bool is_output) {
  End end;
  end.value = index;
  end.size_bytes = bytes_of(index);
  end.element_bytes = size_of(value(index).type.dtype);
  const auto is_here = [&](int v) {
    return v == index || (value(v).storage == Storage::kView && value(v).view_of == index);
  };
  for (std::size_t v = 0; v < plan.values.size(); ++v) {
    if (static_cast<int>(v) != index && is_here(static_cast<int>(v))) {
      end.views.push_back(static_cast<int>(v));
    }
  }
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    if (instances[s] == nullptr) continue;
    const auto add = [&](const std::vector<int>& operands, bool operand_is_output) {
      for (std::size_t i = 0; i < operands.size(); ++i) {
        if (is_here(operands[i])) {
          end.bindings.push_back({static_cast<int>(s), operand_is_output, static_cast<int>(i)});
        }
      }
    };
    add(plan.steps[s].inputs, false);
    add(plan.steps[s].outputs, true);
  }
  const Layout dense = Layout::dense(value(index).layout.rank());
  if (value(index).layout != dense) {
    const Layout& layout = value(index).layout;
    is_output ? end.conversion.emplace(value(index).type, layout, dense)
              : end.conversion.emplace(value(index).type, dense, layout);
  }
  return end;
}

void Executor::State::rebind(End* end, std::byte* data) {
  if (data == end->bound) return;
  pointer(end->value) = data;
  for (const int view : end->views) pointer(view) = data;
  for (const Binding& b : end->bindings) {
    Instance& instance = *instances[static_cast<std::size_t>(b.step)];
    b.is_output ? instance.rebind_output(b.position, data)
                : instance.rebind_input(b.position, data);
  }
  end->bound = data;
}

// The memory to run on for the caller's `data`.
std::byte* Executor::State::stage(End* end, const std::byte* data) {
  if (end->size_bytes == 0 && data == nullptr) return arena.get();
  if (reinterpret_cast<std::uintptr_t>(data) % end->element_bytes == 0) {
    return const_cast<std::byte*>(data);
  }
  if (end->staging == nullptr) end->staging = allocate(end->size_bytes, "misaligned tensor");
  return end->staging.get();
}

// What each executor has of its own: memory, instances and bindings.
void Executor::State::prepare() {
  allocate_memory();
  point_values();
  for (std::size_t s = 0; s < plan.steps.size(); ++s) make_step(s);
  for (const int input : plan.inputs) inputs.push_back(make_end(input, false));
  for (const int output : plan.outputs) outputs.push_back(make_end(output, true));
  trace.assign(plan.steps.size(), StepTime{});
}

void Executor::State::run_step(std::size_t s) {
  const PlanStep& step = plan.steps[s];
  if (instances[s] != nullptr) {
    limits[s] == nullptr ? instances[s]->run()
                         : limits[s]->execute([this, s] { instances[s]->run(); });
  } else if (conversions[s]) {
    conversions[s]->run(pointer(step.inputs[0]), pointer(step.outputs[0]));
  } else if (copy_bytes[s] > 0) {
    std::memcpy(pointer(step.outputs[0]), pointer(step.inputs[0]), copy_bytes[s]);
  }
}

void Executor::State::run_steps() {
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const std::int64_t begin_ns = is_tracing ? now_ns() : 0;
    try {
      run_step(s);
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("{}: {}", name_of_step(plan, s), error.what()));
    }
    if (is_tracing) trace[s] = {begin_ns, now_ns()};
  }
}

Executor::Executor(const Plan& plan, const Weights& weights, PluginHost& host)
    : state_(std::make_unique<State>()) {
  check_weights(plan, weights);
  State& state = *state_;
  state.plan = plan;
  state.execute_on = host.execute_on();
  state.devices = open_devices(plan, host);
  state.threads = std::min(plan.threads, host.threads());
  // Packing constants may be parallel work as well.
  run_on(state.execute_on, state.threads, [&] {
    state.programs = std::make_shared<const Programs>(
        compile_programs(plan, weights, state.devices, state.threads));
  });
  state.keep_constants(weights);
  state.prepare();
}

Executor::Executor() : state_(std::make_unique<State>()) {}

std::unique_ptr<Executor> Executor::twin() const {
  std::unique_ptr<Executor> twin(new Executor);
  State& state = *twin->state_;
  state.plan = state_->plan;
  state.execute_on = state_->execute_on;
  state.devices = state_->devices;
  state.threads = state_->threads;
  state.programs = state_->programs;
  state.constants = state_->constants;
  state.prepare();
  return twin;
}

// Instances go before programs, programs before devices.
Executor::~Executor() {
  state_->instances.clear();
  state_->programs.reset();
}

const Plan& Executor::plan() const { return state_->plan; }

std::vector<Tensor> Executor::run(std::span<const Tensor> inputs) {
  State& state = *state_;
  if (inputs.size() != state.inputs.size()) {
    throw Error(Code::kInvalidArgument,
                fmt::format("expected {} inputs, found {}", state.inputs.size(), inputs.size()));
  }
  std::vector<const std::byte*> input_pointers;
  std::vector<std::byte*> output_pointers;
  std::vector<Memory> converted;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const End& end = state.inputs[i];
    const PlanValue& value = state.value(end.value);
    if (inputs[i].type() != value.type) {
      throw Error(Code::kShapeMismatch,
                  fmt::format("input '{}': expected {}, found {}", value.name,
                              to_string(value.type), to_string(inputs[i].type())));
    }
    input_pointers.push_back(inputs[i].data());
    if (!end.conversion) continue;
    converted.push_back(allocate(end.size_bytes, "input"));
    end.conversion->run(inputs[i].data(), converted.back().get());
    input_pointers.back() = converted.back().get();
  }
  std::vector<Tensor> outputs;
  for (const End& end : state.outputs) {
    outputs.push_back(Tensor::zeros(state.value(end.value).type));
    output_pointers.push_back(outputs.back().mutable_bytes().data());
    if (!end.conversion) continue;
    converted.push_back(allocate(end.size_bytes, "output"));
    output_pointers.back() = converted.back().get();
  }
  run_into(input_pointers, output_pointers);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const End& end = state.outputs[i];
    if (end.conversion) end.conversion->run(output_pointers[i], outputs[i].mutable_bytes().data());
  }
  return outputs;
}

void Executor::run_into(std::span<const std::byte* const> inputs,
                        std::span<std::byte* const> outputs) {
  State& state = *state_;
  if (inputs.size() != state.inputs.size() || outputs.size() != state.outputs.size()) {
    throw Error(
        Code::kInvalidArgument,
        fmt::format("expected {} inputs and {} outputs, found {} and {}", state.inputs.size(),
                    state.outputs.size(), inputs.size(), outputs.size()));
  }
  const auto check = [&](const End& end, const std::byte* data) {
    if (data == nullptr && end.size_bytes > 0) {
      throw Error(Code::kInvalidArgument,
                  fmt::format("'{}': null pointer", state.value(end.value).name));
    }
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) check(state.inputs[i], inputs[i]);
  for (std::size_t i = 0; i < outputs.size(); ++i) check(state.outputs[i], outputs[i]);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::byte* data = state.stage(&state.inputs[i], inputs[i]);
    if (data != inputs[i] && inputs[i] != nullptr) {
      std::memcpy(data, inputs[i], state.inputs[i].size_bytes);
    }
    state.rebind(&state.inputs[i], data);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    state.rebind(&state.outputs[i], state.stage(&state.outputs[i], outputs[i]));
  }
  run_on(state.execute_on, state.threads, [&] { state.run_steps(); });
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const End& end = state.outputs[i];
    if (end.bound != outputs[i] && end.size_bytes > 0) {
      std::memcpy(outputs[i], end.bound, end.size_bytes);
    }
  }
}

void Executor::set_tracing(bool on) { state_->is_tracing = on; }

std::span<const StepTime> Executor::trace() const { return state_->trace; }

std::uint64_t Executor::memory_bytes() const { return state_->memory_bytes; }

}  // namespace inlay
