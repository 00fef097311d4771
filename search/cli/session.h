// What a command works with: the log, the thread pool and the plugin host, built from its flags and
// handed on.
#pragma once

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "core/base/log.h"
#include "core/host/plugin_host.h"
#include "core/run/isolated_plugins.h"
#include "core/run/thread_pool.h"
#include "graphs/onnx/import.h"
#include "search/cli/command.h"

namespace inlay::cli {

// Events to standard error: warnings and errors always, the rest with --verbose.
std::unique_ptr<Log> make_log(const Common& common);

struct Session {
  // throws  Error{kNotFound} for a --with that is not there or holds no plugin and an --exclude of
  //         no plugin, naming the nearest
  explicit Session(const Common& common);

  std::unique_ptr<Log> log;
  ThreadPool pool;
  IsolatedPlugins isolated;  // of --isolate
  HostOptions host_options;
  PluginHost host;
};

// When it goes: a region that ended its plugin's own process (--isolate) meanwhile is put into
// quarantine, so that the next placement leaves it out.
class QuarantineInUse {
 public:
  QuarantineInUse(const Session& session, std::string database);
  ~QuarantineInUse();
  QuarantineInUse(const QuarantineInUse&) = delete;
  QuarantineInUse& operator=(const QuarantineInUse&) = delete;

 private:
  void record() const;

  const Session& session_;
  std::string database_;
};

// Imports a model with constants folded by the reference plugin.
// throws  Error{kNotFound} if there is no reference plugin; all that import_onnx throws
Imported import_model(const std::filesystem::path& path, const ImportFlags& flags,
                      Session& session);

// The cost database that --db names, or the default one.
// throws  Error{kNotFound} if the folder that --db names is not there: a mistyped path makes none
std::filesystem::path database_path(const std::string& flag);

// The exit status of a program that a signal ended, as shells give it: 130 for SIGINT, 143 for
// SIGTERM.
int interrupted_status();

// Set by SIGINT and SIGTERM once watch_interrupts() was called; long work looks at it between
// measurements.
const std::atomic<bool>& interrupted();
void watch_interrupts();

}  // namespace inlay::cli
