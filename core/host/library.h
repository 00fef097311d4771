// A loaded and initialised plugin library, and the services it gets from the host.
//
//   const auto services = std::make_shared<HostServices>(HostServices{log, options.parallel_for,
//   2}); const auto library = std::make_shared<Library>(record, services); const CallScope
//   scope(*services, thread_cap);                // for the plugin's calls back from this thread
//   library->check("compile", library->call("compile", [&] { return library->table().compile(...);
//   }), error);
#pragma once

#include <exception>
#include <memory>
#include <string>

#include "core/abi/inlay_plugin.h"
#include "core/base/error.h"
#include "core/host/plugin_host.h"

namespace inlay {

struct HostServices {
  Log& log;
  ParallelFor parallel_for;
  int threads;
};

// Says on whose behalf this thread runs a plugin's code, so that a call back finds its host and its
// cap; several hosts may use one library. A plugin's own threads have no scope: for them the cap is
// 1, work runs inline, and messages are dropped.
class CallScope {
 public:
  CallScope(const HostServices& services, int thread_cap);
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

 private:
  const HostServices* previous_services_;
  int previous_cap_;
};

// An error struct ready to be handed over.
inline inlay_error empty_error() {
  inlay_error error{};
  error.struct_size = sizeof(error);
  return error;
}

class Library {
 public:
  // Loads by the record's absolute path with NOW|LOCAL|NODELETE, queries, checks, initialises. The
  // file is never unloaded. throws  Error{kPluginFailed} naming plugin, call and reason
  Library(const PluginRecord& record, std::shared_ptr<const HostServices> services);
  ~Library();  // deinit
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const std::string& name() const { return name_; }
  const HostServices& services() const { return *services_; }

  // The plugin's table as the newest one: what an older plugin lacks is null.
  const inlay_plugin& table() const { return table_; }

  // Runs body(); an exception that left the plugin although the ABI forbids it becomes an Error.
  template <typename Body>
  inlay_status call(const char* what, const Body& body) const;

  // The same for what returns nothing and cannot fail (deinit, destroys): an exception is only
  // logged.
  template <typename Body>
  void call_void(const char* what, const Body& body) const noexcept;

  // throws  Error{kPluginFailed} "plugin 'acme': compile: internal error: <text>" unless status is
  //         INLAY_OK; Error{kNoMemory} if it is INLAY_NO_MEMORY
  void check(const char* what, inlay_status status, const inlay_error& error) const;

  [[noreturn]] void fail(const char* what, const std::string& reason) const;

 private:
  std::string message(const char* what, const std::string& reason) const;
  void read_table(const inlay_plugin* given);
  void initialise();

  std::string name_;
  std::shared_ptr<const HostServices> services_;
  inlay_plugin table_{};
};

template <typename Body>
inlay_status Library::call(const char* what, const Body& body) const {
  try {
    return body();
  } catch (const std::exception& exception) {
    fail(what, std::string("an exception left the plugin: ") + exception.what());
  } catch (...) {
    fail(what, "an exception left the plugin");
  }
}

template <typename Body>
void Library::call_void(const char* what, const Body& body) const noexcept {
  try {
    body();
  } catch (...) {
    services_->log.error("an exception left the plugin", {{"plugin", name_}, {"call", what}});
  }
}

}  // namespace inlay
