// Runs plans inside another program. An installation has this header as <inlay/session.h>.
//
//   inlay::Runtime runtime({.threads = 2});                    // plugins, threads, shared weights
//   inlay::Session session(runtime, "resnet50.plan");          // and resnet50.weights beside it
//   std::vector<float> x(3 * 224 * 224), y(1000);
//   session.run({{"x", x}}, {{"y", y}});                       // in place: nothing is copied
//
// Everything that sessions share hangs on a Runtime: a program makes one and keeps it. Sessions of
// one plan share all but the memory of a run; sessions of different plans share constants of equal
// content. Both classes are cheap handles: copies mean the same thing, and the last one frees it.
#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/tensor.h"

namespace inlay {

class PluginHost;
class ThreadPool;
struct HostOptions;
struct Plan;
struct Weights;

struct RuntimeOptions {
  // Folders of plugins, or single plugins. Empty: INLAY_PLUGIN_PATH, else the ones near the
  // program.
  std::vector<std::filesystem::path> plugins;
  std::vector<std::string> exclude;  // plugin names
  // Plugin names: these run in processes of their own (inlay-worker, which is to lie beside the
  // program, or in bin/ of the installation that libinlay.so is in, or at INLAY_WORKER_PATH). One
  // that crashes or hangs there is an Error of that run; the next starts it again.
  std::vector<std::string> isolate;
  // The most threads of all runs together, vendor libraries' included. 0: all this process may use.
  // The cap is the process's: with two Runtimes the smaller one holds.
  int threads = 0;
  std::shared_ptr<Log> log;  // null: silence
};

class Runtime {
 public:
  // throws  Error{kInvalidArgument} for a negative number of threads
  explicit Runtime(RuntimeOptions options = {});

  int threads() const;
  // Bytes of the constants that sessions hold on to, each content counted once.
  std::uint64_t constant_bytes() const;

  // For layers that place models before they run them.
  PluginHost& plugin_host() const;
  const HostOptions& host_options() const;
  Log& log() const;

 private:
  friend class Session;
  struct State;
  std::shared_ptr<State> state_;
};

struct SessionOptions {
  // Runs that may go on at once, each with memory of its own (memory_bytes); further callers wait.
  // 0: as many as the runtime has threads. Of sessions that share a plan the largest number holds.
  int concurrent_runs = 0;
};

struct TensorInfo {
  std::string name;
  TensorType type;
};

// Named memory of the caller: dense, row-major, of the session's element type and size. Without a
// shape only the number of elements is checked. Memory aligned to its element is used in place,
// other memory is copied.
template <typename Void>
struct NamedMemory {
  static constexpr bool kIsConst = std::is_const_v<Void>;

  NamedMemory(std::string_view of_name, DType of_dtype, Void* memory, std::size_t bytes,
              std::optional<std::span<const std::int64_t>> of_shape = std::nullopt)
      : name(of_name), dtype(of_dtype), data(memory), size_bytes(bytes), shape(of_shape) {}

  // A vector, array or span. It must live until the run has ended.
  template <std::ranges::contiguous_range Range>
  requires(kIsConst ||
           !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<Range>>>)
      NamedMemory(std::string_view of_name, Range&& values,
                  std::optional<std::span<const std::int64_t>> of_shape = std::nullopt)
      : NamedMemory(
            of_name, dtype_of<std::ranges::range_value_t<Range>>(), std::ranges::data(values),
            std::ranges::size(values) * sizeof(std::ranges::range_value_t<Range>), of_shape) {}

  std::string_view name;
  DType dtype;
  Void* data;
  std::size_t size_bytes;
  std::optional<std::span<const std::int64_t>> shape;
};
using InputMemory = NamedMemory<const void>;
using OutputMemory = NamedMemory<void>;

// [any-thread] All functions may be called from several threads at once, on one session or many.
// A run takes one of the session's executors and gives it back; one is made when all are taken, up
// to SessionOptions::concurrent_runs.
class Session {
 public:
  // Opens NAME.plan and NAME.weights beside it. A plan that is open already on this runtime is not
  // loaded again.
  // throws  Error{kNotFound} for a missing file or plugin (with the reason if it was refused),
  //         Error{kCorrupt} for a damaged one, Error{kStale} if the plan was made for another
  //         plugin build or machine, Error{kUnsupported} if a plugin declines,
  //         Error{kInvalidArgument} for a negative option
  Session(const Runtime& runtime, const std::filesystem::path& plan, SessionOptions options = {});
  Session(const Runtime& runtime, const Plan& plan, Weights weights, SessionOptions options = {});

  const std::string& model() const;
  const std::vector<TensorInfo>& inputs() const;
  const std::vector<TensorInfo>& outputs() const;

  // Runs on the caller's memory: every input and output of the plan once, in any order. Inputs and
  // outputs must not overlap. After an error the outputs' contents are unspecified. Allocates
  // nothing once as many runs as ever went on at once.
  // throws  Error{kInvalidArgument} for an unknown, repeated, missing or null tensor,
  //         Error{kShapeMismatch} naming the tensor, expected and found; Error{kPluginFailed}
  void run(std::span<const InputMemory> inputs, std::span<const OutputMemory> outputs) const;
  void run(std::initializer_list<InputMemory> inputs,
           std::initializer_list<OutputMemory> outputs) const;

  // The same with tensors; the outputs are new.
  std::map<std::string, Tensor> run(const std::map<std::string, Tensor>& inputs) const;

  // Bytes that one run at a time needs besides constants and programs; allocated once per
  // concurrent run.
  std::uint64_t memory_bytes() const;
  // Runs that have gone on at once so far, at most.
  int concurrent_runs() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace inlay
