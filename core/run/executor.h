// Runs a plan. The same executor serves `inlay run`, embedding and every measurement.
//
//   Executor executor(plan, weights, host);
//   const std::vector<Tensor> outputs = executor.run(inputs);          // allocates the outputs
//   executor.run_into(input_pointers, output_pointers);                 // allocates nothing
//
// Programs are compiled and constants packed when the executor is made. Not thread-safe: one run at a time.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/host/plugin_host.h"
#include "core/plan/plan.h"
#include "core/plan/weights.h"

namespace inlay {

struct StepTime {
  std::int64_t begin_ns;
  std::int64_t end_ns;
};

class Executor {
 public:
  // throws  Error{kStale} if a plugin's build or device differs from the plan's (expected and found in the message),
  //         Error{kNotFound} for a missing plugin, Error{kPluginFailed} if a program cannot be compiled,
  //         Error{kCorrupt} if plan and weights do not belong together
  Executor(const Plan& plan, const Weights& weights, PluginHost& host);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  const Plan& plan() const;

  // Inputs in the plan's order; types are checked.
  // throws  Error{kShapeMismatch} naming the input, expected and found; Error{kPluginFailed}
  std::vector<Tensor> run(std::span<const Tensor> inputs);

  // The same on the caller's dense memory, one pointer per plan input and output, of the size the plan's types say.
  // After the first call with given pointers nothing is allocated; new pointers are rebound without allocation.
  void run_into(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs);

  // Times of each step of the latest run, steady-clock ns; recorded only after set_tracing(true).
  void set_tracing(bool on);
  std::span<const StepTime> trace() const;

  // Bytes of the arena plus workspaces, allocated when the executor was made.
  std::uint64_t memory_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace inlay
