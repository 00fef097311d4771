// The C table around a plugin's one function. A plugin uses only the macros:
//
//   INLAY_PLUGIN((PluginInfo{.name = "acme", .version = "1.0"}), kPatterns, compile)
//
//   // Called at the first init (throw to fail it) and the last deinit; extensions the plugin
//   offers, by name. INLAY_PLUGIN_WITH((PluginInfo{...}), kPatterns, compile, (Hooks{.init =
//   start_library, .deinit = stop_library}))
//
// They stand at namespace scope outside any namespace, once in a library. They give one CPU device,
// index 0, in the space "host"; a plugin with devices of its own writes its table by hand.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/abi/inlay_plugin.h"
#include "core/sdk/cpu_fingerprint.h"
#include "core/sdk/declared.h"
#include "core/sdk/host_table.h"
#include "core/sdk/kernel.h"
#include "core/sdk/manifest.h"
#include "core/sdk/status.h"

namespace inlay::sdk {

// All optional.
struct Hooks {
  void (*init)(const Host& host) = nullptr;  // host.table() stays valid until deinit
  void (*deinit)() = nullptr;
  const void* (*get_extension)(const char* id) = nullptr;
};

struct KernelProgram {
  std::unique_ptr<Kernel> kernel;
  std::size_t input_count;
  std::size_t output_count;
};

// Holds the views, so that a run allocates nothing.
struct KernelInstance {
  const KernelProgram* program;
  void* workspace;
  std::vector<TensorView> inputs;
  std::vector<TensorView> outputs;
  std::unique_ptr<KernelState> state;
};

// The table's functions. Info and hooks are objects of the plugin's own, and so is the state below.
template <const PluginInfo& kInfo, CompileFunction kCompile, const Hooks& kHooks>
struct Glue {
  static inline std::mutex mutex;
  static inline int init_count = 0;
  static inline inlay_host host{};
  static inline char device = 0;  // the one device has no state: its address is the handle

  static inlay_status init(const inlay_host* given, inlay_error* error) noexcept {
    return guarded(error, [&] {
      if (given == nullptr || !INLAY_HAS(given, abi_minor))
        throw InvalidCall("init needs a host table");
      if (given->abi_major != INLAY_ABI_MAJOR) {
        throw InvalidCall("host has ABI major " + std::to_string(given->abi_major) + ", plugin " +
                          std::to_string(INLAY_ABI_MAJOR));
      }
      const std::lock_guard lock(mutex);
      if (init_count == 0) {
        host = complete_host(given);
        if (kHooks.init != nullptr) kHooks.init(Host(&host));
      }
      ++init_count;
    });
  }

  static void deinit() noexcept {
    const std::lock_guard lock(mutex);
    if (init_count == 0 || --init_count > 0) return;
    try {
      if (kHooks.deinit != nullptr) kHooks.deinit();
    } catch (...) {  // nobody is left to tell
    }
  }

  static inlay_status device_info(std::int32_t index, inlay_device_info* out,
                                  inlay_error* error) noexcept {
    return guarded(error, [&] {
      if (index < 0 || out == nullptr) throw InvalidCall("device_info needs an index and a struct");
      if (index > 0) throw Decline("there is one device");
      describe_cpu_device(out);
    });
  }

  static inlay_status create_device(std::int32_t index, std::int32_t option_count,
                                    const inlay_option* const* options, inlay_error* error,
                                    inlay_device** out) noexcept {
    return guarded(error, [&] {
      if (out == nullptr) throw InvalidCall("create_device needs an output");
      if (index != 0) throw InvalidCall("no device " + std::to_string(index) + ": there is one, 0");
      refuse_options(option_count, options);
      *out = reinterpret_cast<inlay_device*>(&device);
    });
  }

  static void destroy_device(inlay_device*) noexcept {}

  static inlay_status compile(inlay_device*, const inlay_compile_request* request,
                              inlay_error* error, inlay_program** out) noexcept {
    return guarded(error, [&] {
      if (out == nullptr || request == nullptr || !INLAY_HAS(request, region) ||
          request->region == nullptr) {
        throw InvalidCall("compile needs a request with a region, and an output");
      }
      if (INLAY_HAS(request, options)) refuse_options(request->option_count, request->options);
      const int cap = INLAY_HAS(request, thread_cap) ? std::max(request->thread_cap, 1) : 1;
      const RegionView region(request->region);
      std::string_view onnx;
      if (INLAY_HAS(request, onnx_size_bytes) && request->onnx_bytes != nullptr) {
        onnx = {static_cast<const char*>(request->onnx_bytes), request->onnx_size_bytes};
      }
      auto program = std::make_unique<KernelProgram>();
      program->kernel = kCompile(region, CompileContext{Host(&host), cap, onnx});
      if (program->kernel == nullptr) throw std::runtime_error("compile made no kernel");
      program->input_count = region.inputs().size();
      program->output_count = region.outputs().size();
      *out = reinterpret_cast<inlay_program*>(program.release());
    });
  }

  static void destroy_program(inlay_program* program) noexcept {
    delete reinterpret_cast<KernelProgram*>(program);
  }

  static inlay_status program_info(inlay_program* program, inlay_program_info* out) noexcept {
    return guarded(nullptr, [&] {
      if (program == nullptr || out == nullptr)
        throw InvalidCall("program_info needs a program and an output");
      const Kernel& kernel = *reinterpret_cast<KernelProgram*>(program)->kernel;
      const std::size_t workspace_bytes = kernel.workspace_bytes();
      const bool retains_constants = kernel.retains_constants();
      if (INLAY_HAS(out, workspace_bytes)) out->workspace_bytes = workspace_bytes;
      if (INLAY_HAS(out, retains_constants)) out->retains_constants = retains_constants ? 1 : 0;
      if (INLAY_HAS(out, is_deterministic)) out->is_deterministic = 1;
    });
  }

  static inlay_status create_instance(inlay_program* program, void* workspace, inlay_error* error,
                                      inlay_instance** out) noexcept {
    return guarded(error, [&] {
      if (program == nullptr || out == nullptr)
        throw InvalidCall("create_instance needs a program and an output");
      const auto* made = reinterpret_cast<const KernelProgram*>(program);
      if (workspace == nullptr && made->kernel->workspace_bytes() > 0) {
        throw InvalidCall("the program needs " + std::to_string(made->kernel->workspace_bytes()) +
                          " bytes of workspace");
      }
      auto instance = std::make_unique<KernelInstance>(
          KernelInstance{made, workspace, std::vector<TensorView>(made->input_count),
                         std::vector<TensorView>(made->output_count), made->kernel->make_state()});
      *out = reinterpret_cast<inlay_instance*>(instance.release());
    });
  }

  static void destroy_instance(inlay_instance* instance) noexcept {
    delete reinterpret_cast<KernelInstance*>(instance);
  }

  static inlay_status enqueue(inlay_instance* given, inlay_stream* stream, std::int32_t input_count,
                              const inlay_tensor* const* inputs, std::int32_t output_count,
                              const inlay_tensor* const* outputs, std::int32_t wait_count,
                              inlay_event* const*, std::uint32_t flags, inlay_run_report*,
                              inlay_error* error) noexcept {
    return guarded(error, [&] {
      if (given == nullptr) throw InvalidCall("enqueue needs an instance");
      auto& instance = *reinterpret_cast<KernelInstance*>(given);
      if (stream != nullptr || wait_count != 0)
        throw InvalidCall("this device has no streams and no events");
      if (flags != 0) throw InvalidCall("this device has a wall clock: it knows no run flags");
      if (static_cast<std::size_t>(input_count) != instance.inputs.size() ||
          static_cast<std::size_t>(output_count) != instance.outputs.size()) {
        throw InvalidCall("the program has " + std::to_string(instance.inputs.size()) +
                          " inputs and " + std::to_string(instance.outputs.size()) +
                          " outputs, got " + std::to_string(input_count) + " and " +
                          std::to_string(output_count));
      }
      for (std::size_t i = 0; i < instance.inputs.size(); ++i)
        instance.inputs[i] = TensorView(inputs[i]);
      for (std::size_t i = 0; i < instance.outputs.size(); ++i)
        instance.outputs[i] = TensorView(outputs[i]);
      instance.program->kernel->run(
          instance.inputs, instance.outputs,
          RunContext{Host(&host), instance.workspace, instance.state.get()});
    });
  }

  static const void* get_extension(const char* id) noexcept {
    try {
      return id != nullptr && kHooks.get_extension != nullptr ? kHooks.get_extension(id) : nullptr;
    } catch (...) {
      return nullptr;
    }
  }

  static const inlay_plugin* query(std::uint32_t host_major) noexcept {
    static constexpr inlay_plugin kTable = make_table();
    return host_major == INLAY_ABI_MAJOR ? &kTable : nullptr;
  }

 private:
  static constexpr inlay_plugin make_table() {
    inlay_plugin table{};
    table.struct_size = sizeof(inlay_plugin);
    table.abi_major = INLAY_ABI_MAJOR;
    table.abi_minor = INLAY_ABI_MINOR;
    table.name = kInfo.name;
    table.version = kInfo.version;
    table.init = init;
    table.deinit = deinit;
    table.device_info = device_info;
    table.create_device = create_device;
    table.destroy_device = destroy_device;
    table.compile = compile;
    table.destroy_program = destroy_program;
    table.program_info = program_info;
    table.create_instance = create_instance;
    table.destroy_instance = destroy_instance;
    table.enqueue = enqueue;
    table.get_extension = get_extension;
    return table;
  }
};

}  // namespace inlay::sdk

#define INLAY_PLUGIN_WITH(info, patterns, compile_function, hooks)                               \
  namespace {                                                                                    \
  constexpr ::inlay::sdk::PluginInfo kInlayInfo = info;                                          \
  constexpr ::inlay::sdk::Hooks kInlayHooks = hooks;                                             \
  INLAY_MANIFEST_SECTION constexpr auto kInlayManifest =                                         \
      ::inlay::sdk::manifest_text<::inlay::sdk::manifest_size(kInlayInfo, patterns)>(kInlayInfo, \
                                                                                     patterns);  \
  std::unique_ptr<::inlay::sdk::Kernel> inlay_compile_declared(                                  \
      const ::inlay::sdk::RegionView& region, const ::inlay::sdk::CompileContext& context) {     \
    ::inlay::sdk::require_declared(patterns, region);                                            \
    return compile_function(region, context);                                                    \
  }                                                                                              \
  }                                                                                              \
  extern "C" __attribute__((visibility("default"))) const inlay_plugin* inlay_plugin_query(      \
      std::uint32_t major, std::uint32_t) {                                                      \
    return ::inlay::sdk::Glue<kInlayInfo, inlay_compile_declared, kInlayHooks>::query(major);    \
  }                                                                                              \
  static_assert(true)

#define INLAY_PLUGIN(info, patterns, compile_function) \
  INLAY_PLUGIN_WITH(info, patterns, compile_function, ::inlay::sdk::Hooks{})
