#include "plugins/onnxruntime/library.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <stdexcept>

namespace inlay::onnxruntime {
namespace {

// What the library exports: gives the table of a version of the API.
struct ApiBase {
  const void* (*get_api)(std::uint32_t version);
  const char* (*version)();
};
using GetApiBase = const ApiBase* (*)();

constexpr std::uint32_t kApiVersion = 16;

// Places in the table, which is an array of pointers to functions.
enum Slot : std::size_t {
  kErrorMessage = 2,
  kCreateEnv = 3,
  kCreateSessionFromArray = 8,
  kRun = 9,
  kCreateSessionOptions = 10,
  kSetIntraOpNumThreads = 24,
  kSetInterOpNumThreads = 25,
  kCreateTensorWithData = 49,
  kCreateCpuMemoryInfo = 69,
  kReleaseEnv = 92,
  kReleaseStatus = 93,
  kReleaseMemoryInfo = 94,
  kReleaseSession = 95,
  kReleaseValue = 96,
  kReleaseSessionOptions = 100,
  kAddSessionConfigEntry = 130,
};

template <typename Function>
void read_slot(const void* table, Slot slot, Function& out) {
  void* function = static_cast<void* const*>(table)[slot];
  if (function == nullptr) {
    throw std::runtime_error(std::string(kLibraryName) + ": function " + std::to_string(slot) +
                             " of its API is missing");
  }
  out = reinterpret_cast<Function>(function);
}

Api read_api(const void* table) {
  Api api{};
  read_slot(table, kErrorMessage, api.error_message);
  read_slot(table, kCreateEnv, api.create_env);
  read_slot(table, kCreateSessionFromArray, api.create_session);
  read_slot(table, kRun, api.run);
  read_slot(table, kCreateSessionOptions, api.create_options);
  read_slot(table, kSetIntraOpNumThreads, api.set_threads);
  read_slot(table, kSetInterOpNumThreads, api.set_branch_threads);
  read_slot(table, kCreateTensorWithData, api.create_tensor);
  read_slot(table, kCreateCpuMemoryInfo, api.create_cpu_memory_info);
  read_slot(table, kReleaseEnv, api.release_env);
  read_slot(table, kReleaseStatus, api.release_status);
  read_slot(table, kReleaseMemoryInfo, api.release_memory_info);
  read_slot(table, kReleaseSession, api.release_session);
  read_slot(table, kReleaseValue, api.release_value);
  read_slot(table, kReleaseSessionOptions, api.release_options);
  read_slot(table, kAddSessionConfigEntry, api.add_config);
  return api;
}

Api load() {
  // Read when the library is loaded; otherwise it writes an identification under HOME.
  setenv("ORT_DISABLE_TELEMETRY", "1", 1);
  void* handle = dlopen(kLibraryName, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    throw std::runtime_error("ONNX Runtime " + std::string(kVersion) + " cannot be opened: " +
                             dlerror() + "; scripts/install-deps fetches it");
  }
  const auto get_base = reinterpret_cast<GetApiBase>(dlsym(handle, "OrtGetApiBase"));
  const ApiBase* base = get_base == nullptr ? nullptr : get_base();
  if (base == nullptr) {
    throw std::runtime_error(std::string(kLibraryName) + " has no OrtGetApiBase");
  }
  if (std::string(base->version()) != kVersion) {
    throw std::runtime_error(std::string(kLibraryName) + ": expected version " + kVersion +
                             ", found " + base->version());
  }
  const void* table = base->get_api(kApiVersion);
  if (table == nullptr) {
    throw std::runtime_error(std::string(kLibraryName) + " has no API version " +
                             std::to_string(kApiVersion));
  }
  return read_api(table);
}

}  // namespace

const Api& open_library() {
  static const Api kApi = load();
  return kApi;
}

std::string take_message(const Api& api, OrtStatus* status) {
  if (status == nullptr) return {};
  const std::string message = api.error_message(status);
  api.release_status(status);
  return message.empty() ? "unknown error" : message;
}

}  // namespace inlay::onnxruntime
