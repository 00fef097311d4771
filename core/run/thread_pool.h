// The process's one thread budget: oneTBB behind one function, so that plugins, executor and tests
// share one pool. Built on std::thread instead when INLAY_STD_THREAD_SCHEDULER is defined (thread
// sanitizer cannot see oneTBB's synchronisation).
//
//   ThreadPool pool(2);
//   PluginHost host(log, {.search_path = ..., .threads = 2, .parallel_for = pool.parallel_for(),
//                         .execute_on = pool.execute_on()});
#pragma once

#include <memory>

#include "core/host/plugin_host.h"

namespace inlay {

class ThreadPool {
 public:
  // threads  at least 1; the cap holds for all oneTBB work of the process, vendor libraries'
  // included
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;
  ParallelFor parallel_for();

  // Calls function(argument) on up to `most` of the pool's threads, the caller's included, once so
  // many are free: other callers wait or use the others. What it calls (parallel_for, a library on
  // oneTBB) shares its work out among these. From inside a call: on what that one has.
  void execute(int most, void (*function)(void*), void* argument);
  ExecuteOn execute_on();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Calls functions so that no more than so many threads work on what they do: those of a library on
// oneTBB included, and of parallel_for. One call at a time.
class ThreadLimit {
 public:
  // threads  at least 1; above the pool's it limits nothing
  explicit ThreadLimit(int threads);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

  template <typename Function>
  void execute(const Function& function) {
    execute([](void* f) { (*static_cast<const Function*>(f))(); },
            const_cast<Function*>(&function));
  }
  void execute(void (*function)(void*), void* argument);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Processors this process may use (affinity and cgroup quota respected).
int available_threads();

}  // namespace inlay
