// ONNX Runtime's library through its C API, of which this declares what the plugin calls: the API
// is a table of functions that only grows at its end, so each has its place for good.
//
//   const Library library = open_library();                 // once; telemetry off
//   Status status(library, library.api->create_env(kFatal, "inlay", &env));
//
// source  ONNX Runtime's C API, struct OrtApi, version 16
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace inlay::onnxruntime {

inline constexpr const char* kLibraryName = "libonnxruntime.so.1";
inline constexpr const char* kVersion = "1.32.0";

// Objects of the library, each released by the function of its own.
struct OrtStatus;
struct OrtEnv;
struct OrtSession;
struct OrtSessionOptions;
struct OrtMemoryInfo;
struct OrtRunOptions;
struct OrtValue;

// Its enumerations: log level "fatal", allocator "device", memory "default".
inline constexpr int kFatal = 4;
inline constexpr int kDeviceAllocator = 0;
inline constexpr int kDefaultMemory = 0;

// The functions by their places in the table. Each that gives a status gives null where all is
// well.
struct Api {
  const char* (*error_message)(const OrtStatus*);
  OrtStatus* (*create_env)(int log_level, const char* name, OrtEnv** out);
  OrtStatus* (*create_session)(const OrtEnv*, const void* model, std::size_t size_bytes,
                               const OrtSessionOptions*, OrtSession** out);
  OrtStatus* (*run)(OrtSession*, const OrtRunOptions*, const char* const* input_names,
                    const OrtValue* const* inputs, std::size_t input_count,
                    const char* const* output_names, std::size_t output_count, OrtValue** outputs);
  OrtStatus* (*create_options)(OrtSessionOptions** out);
  OrtStatus* (*set_threads)(OrtSessionOptions*, int threads);         // within an operator
  OrtStatus* (*set_branch_threads)(OrtSessionOptions*, int threads);  // between operators
  OrtStatus* (*create_tensor)(const OrtMemoryInfo*, void* data, std::size_t size_bytes,
                              const std::int64_t* dims, std::size_t rank, int dtype,
                              OrtValue** out);
  OrtStatus* (*create_cpu_memory_info)(int allocator, int memory, OrtMemoryInfo** out);
  void (*release_env)(OrtEnv*);
  void (*release_status)(OrtStatus*);
  void (*release_memory_info)(OrtMemoryInfo*);
  void (*release_session)(OrtSession*);
  void (*release_value)(OrtValue*);
  void (*release_options)(OrtSessionOptions*);
  OrtStatus* (*add_config)(OrtSessionOptions*, const char* key, const char* value);
};

// Opens the library along the plugin's run path, once, and checks its version.
// throws  std::runtime_error: where it was looked for, which version was expected and which found
const Api& open_library();

// The message of a status, which this releases; empty if it is null.
std::string take_message(const Api& api, OrtStatus* status);

// Owns an object of the library.
template <typename T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

}  // namespace inlay::onnxruntime
