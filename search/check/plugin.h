// A plugin's C table as a check sees it: called directly, so that what the host's own wrappers
// (core/host) would refuse or repair is seen as it is.
//
//   TestHost host(2);
//   Plugin plugin("/tmp/acme.so");              // loaded and queried, not initialised
//   plugin.init(host.table());
//   const OpenDevice device = plugin.open(0);
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/abi/inlay_plugin.h"
#include "core/run/thread_pool.h"

namespace inlay::check {

std::string name_of_status(inlay_status status);  // "INLAY_DECLINED", "status 77"
bool is_known_status(inlay_status status);

// What a call returned.
struct Answer {
  inlay_status status = INLAY_OK;
  std::string text;
  bool is_ok() const { return status == INLAY_OK; }
};
std::string describe(const Answer& answer);  // "INLAY_DECLINED 'no kernel for rank 7'"

// An error struct to hand over, and the answer that came back in it.
class ErrorText {
 public:
  ErrorText();
  inlay_error* get() { return &error_; }
  // throws  Failure where the text is not terminated
  Answer answer(inlay_status status) const;

 private:
  inlay_error error_{};
};

// The services of a host, on the process's thread pool.
class TestHost {
 public:
  explicit TestHost(int threads);
  const inlay_host* table() const { return &table_; }
  ThreadPool& pool() { return pool_; }

  // Runs body() as the executor runs a plugin's work: with the cap, on as many of the pool's
  // threads.
  void with_cap(int cap, const std::function<void()>& body);

  // Spans that the plugin reported through inlay.trace/1 (core/abi/inlay_trace.h).
  struct Span {
    std::string name;
    std::int32_t clock;
    std::int64_t begin_ns;
    std::int64_t end_ns;
  };
  std::vector<Span> spans() const;
  bool was_trace_asked() const { return was_trace_asked_; }
  void add_span(Span span);
  void note_trace() { was_trace_asked_ = true; }
  // Calls of parallel_for, log and so on, so far.
  std::int64_t calls() const { return calls_; }
  void note_call() { ++calls_; }

 private:
  ThreadPool pool_;
  inlay_host table_{};
  mutable std::mutex mutex_;  // of spans_
  std::vector<Span> spans_;
  std::atomic<bool> was_trace_asked_ = false;
  std::atomic<std::int64_t> calls_ = 0;
};

// Destroys what a plugin made, by the entry it has for that.
template <typename Handle>
using HandlePtr = std::unique_ptr<Handle, std::function<void(Handle*)>>;
using DevicePtr = HandlePtr<inlay_device>;
using ProgramPtr = HandlePtr<inlay_program>;
using InstancePtr = HandlePtr<inlay_instance>;
using StreamPtr = HandlePtr<inlay_stream>;
using EventPtr = HandlePtr<inlay_event>;

struct OpenDevice;

class Plugin {
 public:
  // Loads as the host does, NOW|LOCAL|NODELETE.
  // throws  Failure if it does not load, has no query, or gives no table
  explicit Plugin(const std::filesystem::path& path);
  ~Plugin();  // deinit as often as init succeeded
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  const std::filesystem::path& path() const { return path_; }
  inlay_plugin_query_fn query() const { return query_; }
  const inlay_plugin* given() const { return given_; }
  // As the newest table: what an older plugin lacks is null.
  const inlay_plugin& table() const { return table_; }

  Answer try_init(const inlay_host* host);
  void init(const inlay_host* host);  // throws  Failure unless it is OK
  void deinit();

  int device_count() const;
  inlay_device_info info(int device) const;  // throws  Failure
  OpenDevice open(int device) const;         // throws  Failure

 private:
  std::filesystem::path path_;
  inlay_plugin_query_fn query_ = nullptr;
  const inlay_plugin* given_ = nullptr;
  inlay_plugin table_{};
  int init_count_ = 0;
};

// A device, and what the plugin says about it. The plugin outlives it.
struct OpenDevice {
  const Plugin* plugin = nullptr;
  inlay_device_info info{};
  DevicePtr handle;

  const inlay_plugin& table() const { return plugin->table(); }
  inlay_device* get() const { return handle.get(); }
  std::string space() const { return info.space; }
  bool is_simulated() const { return info.clock == INLAY_CLOCK_SIMULATED; }
};

// As the newest struct; what an older one lacks is zero.
inlay_plugin complete_table(const inlay_plugin* given);

}  // namespace inlay::check
