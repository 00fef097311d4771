// A process of its own for everything that runs a plugin's code before it is trusted: measuring,
// checking. A crash or a hang there is a result here.
//
//   WorkerClient worker({.search_path = host_options.search_path, .threads = 2});
//   const WorkerResult<Stats> result = worker.measure(plan, weights, {.seed = 1},
//   std::chrono::seconds(20)); if (const Stats* stats = std::get_if<Stats>(&result)) ... else
//   reason = describe_failure(result);
//
// The worker (inlay-worker) is the executor itself, with the same thread pool and the same plugins,
// so that a measurement means what it will mean in use. It is started by the first request and
// again after it died; it ends with this object, and with this process however that ends. Not
// thread-safe: one request at a time.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/plan/plan.h"
#include "core/plan/weights.h"
#include "core/run/compare.h"
#include "core/run/measure.h"
#include "core/run/measure_pair.h"
#include "core/run/random_inputs.h"

namespace inlay {

struct Declined {
  std::string reason;  // the plugin's own
};
struct Failed {
  std::string reason;  // any other error: of the plugin, or a plan that does not fit this machine
  // Of the machine's state (memory or space short, a file gone), not of what was asked for.
  bool is_transient = false;
};
struct Crashed {
  int signal = 0;       // 0 if the process exited instead
  int exit_status = 0;  // then this; a process under a sanitizer exits with 1 or 66
};
struct Hung {  // no answer by the deadline; the process was killed
  double seconds = 0;
  bool was_held_up = false;  // stopped from outside, or denied a processor most of the time
};
// The plugin's library loads, and the device opens.
struct Opened {
  std::string device;
  std::string fingerprint;
  std::string space;
};
// A plan made ready to run in the worker, again and again: see load, attach, run.
struct Loaded {
  int program = -1;
};
struct Attached {
  int instance = -1;
};
struct Ran {};

template <typename T>
using WorkerResult = std::variant<T, Declined, Failed, Crashed, Hung>;

// "declined: …", "crashed: signal 11 (Segmentation fault)", "hung"; "" for a result.
std::string describe_failure(
    const std::variant<std::monostate, Declined, Failed, Crashed, Hung>& failure);
template <typename T>
std::string describe_failure(const WorkerResult<T>& result);

// INLAY_WORKER_PATH, else inlay-worker in the folder of the running program, or near the library that
// holds Inlay.
// throws  Error{kNotFound} naming where it was looked for
std::filesystem::path find_worker();

class Descriptor;  // message.h

struct WorkerOptions {
  std::vector<std::filesystem::path> search_path;  // as HostOptions
  std::vector<std::string> exclude;
  int threads = 1;
  std::vector<std::string> isolate;  // plugins that get a process of their own there too
  std::filesystem::path executable;  // empty: find_worker()
  bool show_output = false;  // pass on what the worker prints; else /dev/null
  // When set by another thread or a signal, the request under way ends within a moment.
  const std::atomic<bool>* cancelled = nullptr;
};

struct MeasureRequest {
  std::uint64_t seed = 1;
  MaxValues max_values;  // of integer inputs
  MeasureOptions options;
};

// A plan and its weights, as arguments.
struct PlanView {
  const Plan& plan;
  const Weights& weights;
};

struct PairRequest {
  std::uint64_t seed = 1;
  MaxValues max_values;
  PairOptions options;
};

struct CheckRequest {
  std::vector<std::uint64_t> seeds = {1};
  MaxValues max_values;
  Tolerance tolerance;  // of all outputs
};

struct OutputComparison {
  std::uint64_t seed = 0;
  int output = 0;  // position among the plan's outputs
  Comparison comparison;
};

class WorkerClient {
 public:
  explicit WorkerClient(WorkerOptions options);
  ~WorkerClient();
  WorkerClient(const WorkerClient&) = delete;
  WorkerClient& operator=(const WorkerClient&) = delete;

  // Requests throw Error{kNotFound} if there is no worker executable, Error{kIo} if it cannot be
  // started or has another build's protocol, and Error{kCancelled}. `deadline` covers everything,
  // starting the process included.

  // Loads the plugin and opens a device of it, which may end the process that does so.
  WorkerResult<Opened> open(const std::string& plugin, std::chrono::milliseconds deadline,
                            int index = 0);

  WorkerResult<Stats> measure(const Plan& plan, const Weights& weights,
                              const MeasureRequest& request, std::chrono::milliseconds deadline);

  // Two plans against each other, in one process, on the same random inputs.
  WorkerResult<PairStats> measure_pair(const PlanView& first, const PlanView& second,
                                       const PairRequest& request,
                                       std::chrono::milliseconds deadline);

  // Runs both plans on the same random inputs, which they must have in common, and compares the
  // outputs. `magnitude`: a plan whose outputs, on the absolute values of the inputs, are the M of
  // compare.h.
  WorkerResult<std::vector<OutputComparison>> check(const PlanView& candidate,
                                                    const PlanView& reference,
                                                    const std::optional<PlanView>& magnitude,
                                                    const CheckRequest& request,
                                                    std::chrono::milliseconds deadline);

  // The plan's outputs for these dense inputs.
  WorkerResult<std::vector<Tensor>> outputs(const Plan& plan, const Weights& weights,
                                            std::span<const Tensor> inputs,
                                            std::chrono::milliseconds deadline);

  // A plan that stays: loaded once, attached to memory for each instance, run any number of times.
  // The numbers hold as long as starts() stays the same and pid() is not -1. `memory` holds the
  // plan's inputs and outputs, as region_memory.h lays them out; `weights` its constants, as
  // to_memory_file does.
  WorkerResult<Loaded> load(const Plan& plan, const Descriptor& weights,
                            std::chrono::milliseconds deadline);
  WorkerResult<Attached> attach(int program, const Descriptor& memory,
                                std::chrono::milliseconds deadline);
  WorkerResult<Ran> run(int instance, std::chrono::milliseconds deadline);
  WorkerResult<Ran> release(const std::vector<int>& programs, const std::vector<int>& instances,
                            std::chrono::milliseconds deadline);

  int pid() const;     // of the running worker; -1 if there is none
  int starts() const;  // how often a worker was started

 private:
  struct State;
  std::unique_ptr<State> state_;
};

template <typename T>
std::string describe_failure(const WorkerResult<T>& result) {
  return std::visit(
      [](const auto& outcome) {
        using Outcome = std::decay_t<decltype(outcome)>;
        if constexpr (std::is_same_v<Outcome, T>) {
          return std::string();
        } else {
          return describe_failure(
              std::variant<std::monostate, Declined, Failed, Crashed, Hung>(outcome));
        }
      },
      result);
}

}  // namespace inlay
