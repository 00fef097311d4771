// Runs a plan. The same executor serves `inlay run`, embedding and every measurement.
//
//   Executor executor(plan, weights, host);
//   const std::vector<Tensor> outputs = executor.run(inputs);          // allocates the outputs
//   executor.run_into(input_pointers, output_pointers);                 // allocates nothing
//
// Programs are compiled and constants packed when the executor is made; equal regions with equal
// constants share one program. Everything runs on the host's thread pool
// (HostOptions::execute_on), so that a library's own oneTBB work uses it too. Not thread-safe:
// one run at a time.
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
  // throws  Error{kStale} if a plugin's build or device differs from the plan's (expected and found
  // in the message),
  //         Error{kNotFound} for a missing plugin, Error{kUnsupported} if a plugin declines a
  //         region (with its reason), Error{kPluginFailed} if it fails otherwise, Error{kCorrupt}
  //         if plan and weights do not belong together
  // `plan` must be one that parse_plan accepts. Constants that no program retains are let go: their
  // memory is free once the caller drops `weights`. `host` must outlive the executor.
  Executor(const Plan& plan, const Weights& weights, PluginHost& host);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Another executor of the same plan on the same programs and constants, with an arena and
  // instances of its own: the two may run at once. It may outlive this one. Callable while this one
  // runs.
  std::unique_ptr<Executor> twin() const;

  const Plan& plan() const;

  // Inputs in the plan's order, dense; types are checked. All outputs are returned, or none.
  // throws  Error{kShapeMismatch} naming the input, expected and found; Error{kPluginFailed} naming
  // the step
  std::vector<Tensor> run(std::span<const Tensor> inputs);

  // The same on the caller's memory, one pointer per plan input and output: bytes in the layout
  // that the plan's value has (dense unless the plan is of a single region), as many as
  // Layout::size_bytes says. Inputs and outputs must not overlap. New pointers are rebound without
  // allocation; only a pointer that is not aligned to its element costs a copy, and the first of
  // these at a position allocates that copy's memory. After an error the outputs' contents are
  // unspecified. throws  Error{kInvalidArgument} for a wrong count or a null pointer;
  // Error{kPluginFailed} naming the step
  void run_into(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs);

  // Times of each step of the latest run, steady-clock ns; recorded only after set_tracing(true).
  void set_tracing(bool on);
  std::span<const StepTime> trace() const;

  // Bytes of the arena plus workspaces, allocated when the executor was made.
  std::uint64_t memory_bytes() const;

 private:
  Executor();

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace inlay
