// The executors of one loaded plan: twins on the same programs and constants, handed out one to a
// run. Private to core/session.
//
//   ExecutorPool pool(plan, weights, host, 2);
//   const ExecutorPool::Lease lease = pool.acquire();    // waits while both are taken
//   lease->executor->run_into(inputs, outputs);
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "core/run/executor.h"

namespace inlay {

class ExecutorPool {
 public:
  // An executor with the pointers of a run, so that a run allocates nothing.
  struct Slot {
    std::unique_ptr<Executor> executor;
    std::vector<const std::byte*> inputs;
    std::vector<std::byte*> outputs;
  };

  struct GiveBack {
    ExecutorPool* pool;
    void operator()(Slot* slot) const { pool->release(slot); }
  };
  using Lease = std::unique_ptr<Slot, GiveBack>;

  // throws  what Executor does
  ExecutorPool(const Plan& plan, const Weights& weights, PluginHost& host, int limit);

  // throws  Error{kNoMemory, kPluginFailed} if a further executor is needed and cannot be made
  Lease acquire();

  void raise_limit(int limit);
  const Plan& plan() const { return first_->executor->plan(); }
  std::uint64_t memory_bytes() const { return first_->executor->memory_bytes(); }
  int count() const;  // of executors

 private:
  void release(Slot* slot);

  mutable std::mutex mutex_;
  std::condition_variable is_free_;
  int limit_;
  int making_ = 0;  // executors being made, counted against the limit
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot*> free_;
  const Slot* first_;  // twins are made of it
};

}  // namespace inlay
