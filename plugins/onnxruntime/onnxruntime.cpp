// Backend on ONNX Runtime's CPU provider, which takes whole regions as ONNX models. It has threads
// of its own: as many as the host allows, the caller among them, and none of them spins between
// runs.

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/sdk/onnx_model.h"
#include "core/sdk/plugin.h"
#include "plugins/onnxruntime/library.h"

namespace inlay::onnxruntime {
namespace {

void check(const Api& api, OrtStatus* status) {
  const std::string message = take_message(api, status);
  if (!message.empty()) throw std::runtime_error("ONNX Runtime: " + message);
}

// The process's one environment, made by the first init and kept: sessions need it while they live.
OrtEnv* environment() {
  static OrtEnv* const kEnvironment = [] {
    const Api& api = open_library();
    OrtEnv* made = nullptr;
    check(api, api.create_env(kFatal, "inlay", &made));
    return made;
  }();
  return kEnvironment;
}

Owned<OrtMemoryInfo> cpu_memory(const Api& api) {
  OrtMemoryInfo* made = nullptr;
  check(api, api.create_cpu_memory_info(kDeviceAllocator, kDefaultMemory, &made));
  return {made, api.release_memory_info};
}

std::vector<std::string> names_of(std::span<const std::int32_t> values) {
  std::vector<std::string> names;
  for (const std::int32_t value : values) names.push_back(sdk::onnx_name(value));
  return names;
}

// One side's tensors: values of the library over memory of the host, made again where that moves.
class Tensors {
 public:
  Tensors(const Api& api, std::size_t count) : api_(api) {
    for (std::size_t i = 0; i < count; ++i) owned_.emplace_back(nullptr, api.release_value);
    values_.assign(count, nullptr);
    data_.assign(count, nullptr);
  }

  void point(std::span<const sdk::TensorView> tensors, const OrtMemoryInfo* memory) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const sdk::TensorView& tensor = tensors[i];
      if (values_[i] != nullptr && data_[i] == tensor.data()) continue;
      OrtValue* made = nullptr;
      check(api_,
            api_.create_tensor(memory, tensor.data(), tensor.size_bytes(), tensor.dims().data(),
                               tensor.dims().size(), tensor.dtype(), &made));
      owned_[i].reset(made);
      values_[i] = made;
      data_[i] = tensor.data();
    }
  }

  OrtValue** values() { return values_.data(); }

 private:
  const Api& api_;
  std::vector<Owned<OrtValue>> owned_;
  std::vector<OrtValue*> values_;
  std::vector<const void*> data_;
};

struct Bindings : sdk::KernelState {
  Bindings(const Api& api, std::size_t input_count, std::size_t output_count)
      : inputs(api, input_count), outputs(api, output_count) {}
  Tensors inputs;
  Tensors outputs;
};

class Model : public sdk::Kernel {
 public:
  Model(const Api& api, Owned<OrtSession> session, const sdk::RegionView& region)
      : api_(api),
        session_(std::move(session)),
        memory_(cpu_memory(api)),
        input_names_(names_of(region.inputs())),
        output_names_(names_of(region.outputs())) {
    for (const std::string& name : input_names_) input_texts_.push_back(name.c_str());
    for (const std::string& name : output_names_) output_texts_.push_back(name.c_str());
  }

  bool retains_constants() const override { return false; }

  std::unique_ptr<sdk::KernelState> make_state() const override {
    return std::make_unique<Bindings>(api_, input_names_.size(), output_names_.size());
  }

  void run(std::span<const sdk::TensorView> inputs, std::span<const sdk::TensorView> outputs,
           const sdk::RunContext& context) const override {
    Bindings& bindings = static_cast<Bindings&>(*context.state);
    bindings.inputs.point(inputs, memory_.get());
    bindings.outputs.point(outputs, memory_.get());
    check(api_, api_.run(session_.get(), nullptr, input_texts_.data(), bindings.inputs.values(),
                         input_texts_.size(), output_texts_.data(), output_texts_.size(),
                         bindings.outputs.values()));
  }

 private:
  const Api& api_;
  Owned<OrtSession> session_;
  Owned<OrtMemoryInfo> memory_;
  std::vector<std::string> input_names_;
  std::vector<std::string> output_names_;
  std::vector<const char*> input_texts_;
  std::vector<const char*> output_texts_;
};

Owned<OrtSessionOptions> options_for(const Api& api, int threads) {
  OrtSessionOptions* made = nullptr;
  check(api, api.create_options(&made));
  Owned<OrtSessionOptions> options{made, api.release_options};
  check(api, api.set_threads(made, threads));
  check(api, api.set_branch_threads(made, 1));
  check(api, api.add_config(made, "session.intra_op.allow_spinning", "0"));
  return options;
}

std::unique_ptr<sdk::Kernel> compile(const sdk::RegionView& region,
                                     const sdk::CompileContext& context) {
  const Api& api = open_library();
  const std::string onnx = sdk::complete_model(region, context.onnx);
  const Owned<OrtSessionOptions> options = options_for(api, context.thread_cap);
  OrtSession* session = nullptr;
  const std::string refusal = take_message(
      api, api.create_session(environment(), onnx.data(), onnx.size(), options.get(), &session));
  // What it cannot read, has no kernel for, or finds wrong.
  if (!refusal.empty()) throw sdk::Decline("ONNX Runtime: " + refusal);
  return std::make_unique<Model>(api, Owned<OrtSession>(session, api.release_session), region);
}

void start(const sdk::Host&) { environment(); }

constexpr sdk::Pattern kPatterns[] = {{.id = "region",
                                       .any = {.opset = 20, .dtypes = "f32 f64 i32 i64 bool u8 i8"},
                                       .tolerance = "region"}};

}  // namespace
}  // namespace inlay::onnxruntime

INLAY_PLUGIN_WITH((inlay::sdk::PluginInfo{.name = "onnxruntime",
                                          .version = "1.0",
                                          .library = "ONNX Runtime 1.32.0",
                                          .threads = "capped",
                                          .opens = "libonnxruntime.so.1",
                                          .xfail = "33: ONNX Runtime's LayerNormalization refuses "
                                                   "rows without elements"}),
                  inlay::onnxruntime::kPatterns, inlay::onnxruntime::compile,
                  (inlay::sdk::Hooks{.init = inlay::onnxruntime::start}));
