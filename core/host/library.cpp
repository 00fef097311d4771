#include "core/host/library.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/dll/shared_library.hpp>
#include <chrono>
#include <cstring>
#include <system_error>

namespace inlay {
namespace {

thread_local const HostServices* current_services = nullptr;
thread_local int current_cap = 1;

void log_event(void*, std::int32_t level, const char* text) {
  if (current_services == nullptr || text == nullptr) return;
  const auto clamped = static_cast<LogLevel>(std::clamp<std::int32_t>(level, 0, 3));
  current_services->log.write(clamped, "plugin message", {{"text", text}});
}

// Gives the pool's threads the scope of the thread that asked.
struct ScopedBody {
  const HostServices* services;
  int cap;
  void (*body)(void*, std::int64_t);
  void* argument;
};

void run_scoped(void* argument, std::int64_t index) {
  const auto& scoped = *static_cast<const ScopedBody*>(argument);
  const CallScope scope(*scoped.services, scoped.cap);
  scoped.body(scoped.argument, index);
}

void parallel_for(void*, std::int64_t count, void (*body)(void*, std::int64_t), void* argument) {
  if (count > 1 && current_cap > 1 && current_services != nullptr &&
      current_services->parallel_for) {
    ScopedBody scoped{current_services, current_cap, body, argument};
    current_services->parallel_for(count, run_scoped, &scoped);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) body(argument, i);
}

std::int32_t thread_cap(void*) { return current_cap; }

std::int64_t now_ns(void*) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

const void* get_extension(void*, const char*) { return nullptr; }

// One for all hosts and for ever: the first host to initialise a plugin may be gone before the
// plugin is.
constexpr inlay_host kHostTable{sizeof(inlay_host), INLAY_ABI_MAJOR, INLAY_ABI_MINOR, nullptr,
                                log_event,          parallel_for,    thread_cap,      now_ns,
                                get_extension};

const char* status_name(inlay_status status) {
  switch (status) {
    case INLAY_DECLINED:
      return "declined";
    case INLAY_INVALID:
      return "invalid call";
    case INLAY_NO_MEMORY:
      return "no memory";
    case INLAY_STALE_ARTIFACT:
      return "stale artifact";
    case INLAY_DEVICE_LOST:
      return "device lost";
    case INLAY_CANCELLED:
      return "cancelled";
    case INLAY_INTERNAL:
      return "internal error";
    default:
      return "unknown status";
  }
}

}  // namespace

CallScope::CallScope(const HostServices& services, int thread_cap)
    : previous_services_(current_services), previous_cap_(current_cap) {
  current_services = &services;
  current_cap = std::max(thread_cap, 1);
}

CallScope::~CallScope() {
  current_services = previous_services_;
  current_cap = previous_cap_;
}

Library::Library(const PluginRecord& record, std::shared_ptr<const HostServices> services)
    : name_(record.manifest.name), services_(std::move(services)) {
  namespace dll = boost::dll;
  // Boost has no name for NODELETE but passes every bit on. Without it the library could go while
  // one of its threads or thread-local destructors still runs.
  const auto mode = static_cast<dll::load_mode::type>(RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  const CallScope scope(*services_, services_->threads);
  try {
    dll::shared_library file(record.path, mode);
    if (!file.has("inlay_plugin_query")) fail("load", "no export inlay_plugin_query");
    const auto query =
        file.get<const inlay_plugin*(std::uint32_t, std::uint32_t)>("inlay_plugin_query");
    const inlay_plugin* given = nullptr;
    call("inlay_plugin_query", [&] {
      given = query(INLAY_ABI_MAJOR, INLAY_ABI_MINOR);
      return INLAY_OK;
    });
    read_table(given);
  } catch (const std::system_error& error) {
    fail("load", error.what());
  }
  initialise();
}

Library::~Library() {
  if (table_.deinit == nullptr) return;
  const CallScope scope(*services_, services_->threads);
  call_void("deinit", [&] { table_.deinit(); });
}

void Library::read_table(const inlay_plugin* given) {
  constexpr const char* kQuery = "inlay_plugin_query";
  if (given == nullptr) {
    fail(kQuery, fmt::format("no table for ABI major {}", INLAY_ABI_MAJOR));
  }
  if (!INLAY_HAS(given, abi_minor)) {
    fail(kQuery, fmt::format("expected a table of at least {} bytes, found {}",
                             offsetof(inlay_plugin, name), given->struct_size));
  }
  if (given->abi_major != INLAY_ABI_MAJOR) {
    fail(kQuery, fmt::format("expected ABI major {}, found {}", INLAY_ABI_MAJOR, given->abi_major));
  }
  std::memcpy(&table_, given, std::min<std::size_t>(given->struct_size, sizeof(table_)));
  const std::pair<const char*, bool> entries[] = {
      {"name", table_.name != nullptr},
      {"version", table_.version != nullptr},
      {"init", table_.init != nullptr},
      {"device_info", table_.device_info != nullptr},
      {"create_device", table_.create_device != nullptr},
      {"destroy_device", table_.destroy_device != nullptr},
      {"compile", table_.compile != nullptr},
      {"destroy_program", table_.destroy_program != nullptr},
      {"program_info", table_.program_info != nullptr},
      {"create_instance", table_.create_instance != nullptr},
      {"destroy_instance", table_.destroy_instance != nullptr},
      {"enqueue", table_.enqueue != nullptr}};
  for (const auto& [entry, is_there] : entries) {
    if (!is_there) {
      fail(kQuery, fmt::format("expected the required entry {}, found none in a table of {} bytes",
                               entry, given->struct_size));
    }
  }
  if (name_ != table_.name) {
    fail(kQuery, fmt::format("expected the manifest's name '{}', found '{}'", name_, table_.name));
  }
}

void Library::initialise() {
  inlay_error error = empty_error();
  check("init", call("init", [&] { return table_.init(&kHostTable, &error); }), error);
}

void Library::check(const char* what, inlay_status status, const inlay_error& error) const {
  if (status == INLAY_OK) return;
  // The plugin may have forgotten the terminator.
  const std::string_view text(error.text, strnlen(error.text, sizeof(error.text)));
  const std::string reason =
      fmt::format("{}: {}", status_name(status), text.empty() ? "no reason given" : text);
  // "The call may be repeated": not a failure of the plugin.
  if (status == INLAY_NO_MEMORY) throw Error(Code::kNoMemory, message(what, reason));
  fail(what, reason);
}

void Library::fail(const char* what, const std::string& reason) const {
  throw Error(Code::kPluginFailed, message(what, reason));
}

std::string Library::message(const char* what, const std::string& reason) const {
  return fmt::format("plugin '{}': {}: {}", name_, what, reason);
}

}  // namespace inlay
