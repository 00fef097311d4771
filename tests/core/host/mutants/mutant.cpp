// One good plugin, and by INLAY_MUTANT one fault built into it: what a host must refuse or survive.
#include <cstring>
#include <stdexcept>

#include "core/sdk/plugin.h"

using namespace inlay::sdk;

namespace {

enum class Fault {
  kWrongMajor,  // the table's major is not what the manifest says
  kNullQuery,
  kNoManifest,
  kMissingEntry,  // enqueue is null
  kShortTable,    // an older plugin that ends before a required entry
  kFailsInit,
  kThrows,        // C++ exceptions out of compile and destroy_device
  kNewerMinor,    // a larger table, and larger structs filled in by it
  kOtherName,     // the table's name is not the manifest's
  kNoTerminator,  // error text and device name filled to the last byte
};
constexpr Fault kFault = Fault::INLAY_MUTANT;

struct Copy : Kernel {
  void run(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
           const RunContext&) const override {
    std::memcpy(outputs[0].data(), inputs[0].data(), inputs[0].size_bytes());
  }
};

std::unique_ptr<Kernel> compile(const RegionView&, const CompileContext&) {
  return std::make_unique<Copy>();
}

constexpr Pattern kPatterns[] = {{.id = "copy", .ops = "Identity"}};

constexpr PluginInfo kInfo{.name = "mutant", .version = "1.0"};
constexpr Hooks kHooks{};
using Good = Glue<kInfo, compile, kHooks>;

#ifndef INLAY_MUTANT_WITHOUT_MANIFEST
INLAY_MANIFEST_SECTION constexpr auto kManifest =
    manifest_text<manifest_size(kInfo, kPatterns)>(kInfo, kPatterns);
#endif

// The table of a later minor: entries this header does not know follow.
struct NewerTable {
  inlay_plugin known;
  inlay_status (*later_entry)(inlay_device*);
};

template <std::size_t kSize>
void fill_up(char (&field)[kSize]) {
  std::memset(field, 'x', kSize);
}

inlay_status fill_info(std::int32_t index, inlay_device_info* out, inlay_error* error) {
  const inlay_status status = Good::device_info(index, out, error);
  if (status == INLAY_OK) fill_up(out->name);
  return status;
}

NewerTable make_table() {
  NewerTable table{*Good::query(INLAY_ABI_MAJOR), nullptr};
  inlay_plugin& known = table.known;
  if (kFault == Fault::kWrongMajor) known.abi_major = INLAY_ABI_MAJOR + 1;
  if (kFault == Fault::kMissingEntry) known.enqueue = nullptr;
  if (kFault == Fault::kShortTable) known.struct_size = offsetof(inlay_plugin, create_instance);
  if (kFault == Fault::kOtherName) known.name = "somebody_else";
  if (kFault == Fault::kFailsInit) {
    known.init = [](const inlay_host*, inlay_error* error) -> inlay_status {
      return fail(error, INLAY_INTERNAL, "the licence is missing");
    };
    known.deinit = [] { std::terminate(); };  // must not be called after an init that failed
  }
  if (kFault == Fault::kThrows) {
    known.compile = [](inlay_device*, const inlay_compile_request*, inlay_error*,
                       inlay_program**) -> inlay_status { throw std::runtime_error("left open"); };
    known.destroy_device = [](inlay_device*) { throw std::runtime_error("late"); };
  }
  if (kFault == Fault::kNewerMinor) {
    known.struct_size = sizeof(NewerTable);
    known.abi_minor = INLAY_ABI_MINOR + 7;
    table.later_entry = [](inlay_device*) -> inlay_status { return INLAY_INTERNAL; };
  }
  if (kFault == Fault::kNoTerminator) {
    known.device_info = fill_info;
    known.compile = [](inlay_device*, const inlay_compile_request*, inlay_error* error,
                       inlay_program**) -> inlay_status {
      fill_up(error->text);
      return INLAY_INTERNAL;
    };
  }
  return table;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const inlay_plugin* inlay_plugin_query(
    std::uint32_t, std::uint32_t) {
  static const NewerTable table = make_table();
  return kFault == Fault::kNullQuery ? nullptr : &table.known;
}
