// Finds plugins, refuses bad ones with a reason, loads the rest, and wraps their C tables in owning
// C++ objects.
//
//   PluginHost host(log, HostOptions{.search_path = default_search_path(), .threads = 2});
//   for (const PluginRecord& record : host.plugins()) ...        // manifest data; nothing run yet
//   std::shared_ptr<Device> device = host.open_device("onednn");   // loads, creates device 0
//   std::unique_ptr<Program> program = device->compile(region, {.thread_cap = 2}, why_declined);
//   std::unique_ptr<Instance> instance = program->instantiate(workspace);
//   instance->run(inputs, outputs);
//
// Libraries are loaded by absolute canonical path with NOW|LOCAL|NODELETE and never unloaded.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/abi/inlay_plugin.h"
#include "core/base/log.h"
#include "core/host/manifest.h"
#include "core/plan/region.h"

namespace inlay {

// One plugin file that was found. `refused` says why it will not be used; then only path is
// certain.
struct PluginRecord {
  std::filesystem::path path;
  Manifest manifest;
  std::string build_id;  // GNU build id, hex; content hash where the file has none
  std::optional<std::string> refused;
  // Refused because the user wants it so: excluded, or another of its name comes earlier on the path.
  bool is_by_choice = false;
};

class Device;

// Runs body(argument, i) for i in [0, count) on the process's pool; core/run gives the oneTBB one.
// Default: inline.
using ParallelFor =
    std::function<void(std::int64_t count, void (*body)(void*, std::int64_t), void* argument)>;

// Calls function(argument) on up to `most` of the process's threads, of which nobody else has any
// meanwhile; core/run gives it. Default: calls it.
using ExecuteOn = std::function<void(int most, void (*function)(void*), void* argument)>;

// Opens device `index` of a plugin whose code is to run in a process of its own; core/run gives it
// (isolated_device.h).
using OpenIsolated =
    std::function<std::shared_ptr<Device>(const PluginRecord& plugin, int index)>;

struct HostOptions {
  std::vector<std::filesystem::path> search_path;  // folders, or single plugin files
  std::vector<std::string> exclude;                // plugin names
  // What else speaks against a plugin, going by its manifest; null or an empty answer: nothing. The
  // host cannot read patterns: who places gives it pattern_fault (search/candidates).
  std::function<std::string(const Manifest&)> find_fault;
  int threads = 1;
  ParallelFor parallel_for;
  ExecuteOn execute_on;
  // Names of plugins that this process never loads: open_isolated opens their devices.
  std::vector<std::string> isolate;
  OpenIsolated open_isolated;
};

// INLAY_PLUGIN_PATH (colon-separated), else the plugins near the running program and near the
// library that holds Inlay: seen from their folders ../plugins (a build), plugins (a bundle) and
// ../lib/inlay/plugins (an installation). Never the working directory.
std::vector<std::filesystem::path> default_search_path();

// A tensor handed to a run: the caller owns the memory; `type` and `layout` must outlive the call.
struct HostTensor {
  const TensorType* type;
  const Layout* layout;
  std::byte* data;
};

class Instance {
 public:
  virtual ~Instance() = default;
  // Tensors in the region's order. One caller at a time. Allocates nothing: bind() prepared the C
  // views.
  // throws  Error{kPluginFailed} with plugin name and its text; Error{kNoMemory} if it said so
  virtual void run() = 0;
  // Sets the memory that run() will use; may be called again, any time between runs.
  virtual void bind(std::span<const HostTensor> inputs, std::span<const HostTensor> outputs) = 0;
  // Changes only the pointer of one input or output that bind() set; allocates nothing.
  virtual void rebind_input(int position, std::byte* data) = 0;
  virtual void rebind_output(int position, std::byte* data) = 0;
};

class Program {
 public:
  virtual ~Program() = default;
  virtual std::size_t workspace_bytes() const = 0;
  virtual bool retains_constants() const = 0;
  // `workspace`: workspace_bytes() bytes, 64-byte aligned, outliving the instance; null if 0.
  virtual std::unique_ptr<Instance> instantiate(std::byte* workspace) = 0;
};

struct CompileOptions {
  int thread_cap = 1;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const std::string& plugin() const = 0;
  virtual const std::string& name() const = 0;  // "cpu"
  virtual const std::string& fingerprint() const = 0;
  virtual const std::string& space() const = 0;  // "host"
  // Compiles a region whose constants all carry bytes; they are kept alive as long as the program
  // needs them. Null if the plugin declined; the reason is in *declined.
  // throws  Error{kNoMemory} if the plugin said so, Error{kPluginFailed} on any other failure
  virtual std::unique_ptr<Program> compile(const Region& region, const CompileOptions& options,
                                           std::string* declined) = 0;
};

class PluginHost {
 public:
  // Reads the manifests of all plugins on the path; loads none. Two files of one name: the first on
  // the path wins, the other is refused as shadowed.
  PluginHost(Log& log, HostOptions options);
  ~PluginHost();
  PluginHost(const PluginHost&) = delete;
  PluginHost& operator=(const PluginHost&) = delete;

  const std::vector<PluginRecord>& plugins() const;       // in path order, refused ones included
  const PluginRecord* find(std::string_view name) const;  // usable ones only
  bool is_isolated(std::string_view name) const;  // HostOptions::isolate has it
  int threads() const;
  const ParallelFor& parallel_for() const;  // HostOptions' one, or inline; never empty
  const ExecuteOn& execute_on() const;      // likewise

  // May be called from several threads.
  // Loads the plugin if need be and creates its device `index`; the same device object for the same
  // arguments.
  // throws  Error{kNotFound} if there is no usable plugin of that name (with its refusal if it was
  //         refused), Error{kPluginFailed} if it cannot be loaded, has another major version or
  //         fails to initialise; Error{kInvalidArgument} if it is to be isolated and HostOptions
  //         cannot
  std::shared_ptr<Device> open_device(std::string_view plugin, int index = 0);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace inlay
