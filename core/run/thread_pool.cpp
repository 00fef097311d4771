#include "core/run/thread_pool.h"

#include <algorithm>
#include <string>

#include "core/base/error.h"

#ifdef INLAY_STD_THREAD_SCHEDULER
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>
#else
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#endif

namespace inlay {
namespace {

// Of the ThreadLimit that this thread calls within; 0: none.
thread_local int limit = 0;

void check_threads(int threads) {
  if (threads >= 1) return;
  throw Error(Code::kInvalidArgument,
              "threads: expected at least 1, found " + std::to_string(threads));
}

}  // namespace

#ifdef INLAY_STD_THREAD_SCHEDULER

// One job at a time, shared out index by index. A call from inside a job, or while another thread's
// job runs, works inline: there is nobody free to share with.
struct ThreadPool::State {
  struct Job {
    std::int64_t count = 0;
    void (*body)(void*, std::int64_t) = nullptr;
    void* argument = nullptr;
  };

  explicit State(int thread_count) : threads(thread_count) {
    for (int i = 1; i < threads; ++i) workers.emplace_back([this] { work(); });
  }

  ~State() {
    {
      const std::lock_guard lock(mutex);
      is_closing = true;
    }
    wake.notify_all();
    for (std::thread& worker : workers) worker.join();
  }

  void parallel_for(std::int64_t count, void (*body)(void*, std::int64_t), void* argument) {
    std::unique_lock owner(one_job, std::defer_lock);
    if (is_inside || limit == 1 || count <= 1 || workers.empty() || !owner.try_lock()) {
      for (std::int64_t i = 0; i < count; ++i) body(argument, i);
      return;
    }
    {
      const std::lock_guard lock(mutex);
      job = {count, body, argument};
      next = 0;
      busy = static_cast<int>(workers.size());
      ++generation;
    }
    wake.notify_all();
    is_inside = true;
    run_indices();
    is_inside = false;
    std::unique_lock lock(mutex);
    done.wait(lock, [this] { return busy == 0; });
  }

  void run_indices() {
    for (std::int64_t i = next++; i < job.count; i = next++) job.body(job.argument, i);
  }

  void work() {
    is_inside = true;
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex);
    for (;;) {
      wake.wait(lock, [&] { return is_closing || generation != seen; });
      if (is_closing) return;
      seen = generation;
      lock.unlock();
      run_indices();
      lock.lock();
      if (--busy == 0) done.notify_one();
    }
  }

  const int threads;
  static thread_local bool is_inside;
  std::mutex one_job;  // held by the caller whose job runs
  std::mutex mutex;    // guards all below but `next`
  std::condition_variable wake;
  std::condition_variable done;
  Job job;
  std::atomic<std::int64_t> next = 0;
  int busy = 0;
  std::uint64_t generation = 0;
  bool is_closing = false;
  std::vector<std::thread> workers;
};

thread_local bool ThreadPool::State::is_inside = false;

// Above one thread it does not limit: this pool uses all its threads or none.
struct ThreadLimit::State {
  explicit State(int thread_count) : threads(thread_count) {}

  template <typename Function>
  void execute(const Function& function) {
    function();
  }

  const int threads;
};

void ThreadPool::execute(void (*function)(void*), void* argument) { function(argument); }

#else

struct ThreadPool::State {
  explicit State(int thread_count)
      : threads(thread_count),
        control(tbb::global_control::max_allowed_parallelism,
                static_cast<std::size_t>(thread_count)),
        arena(thread_count) {}

  void parallel_for(std::int64_t count, void (*body)(void*, std::int64_t), void* argument) {
    if (count <= 0) return;
    if (limit != 0 && limit < threads) {  // in its arena, not in this pool's
      if (limit == 1) {
        for (std::int64_t i = 0; i < count; ++i) body(argument, i);
      } else {
        tbb::parallel_for(std::int64_t{0}, count, [=](std::int64_t i) { body(argument, i); });
      }
      return;
    }
    execute([=] {
      if (count == 1) {
        body(argument, 0);
        return;
      }
      tbb::parallel_for(std::int64_t{0}, count, [=](std::int64_t i) { body(argument, i); });
    });
  }

  // Isolated, so that a thread that waits in the middle of a kernel cannot take up another caller's
  // run: that one's kernels would overwrite what this one's keep in thread-local storage.
  template <typename Function>
  void execute(const Function& function) {
    arena.execute([&] { tbb::this_task_arena::isolate(function); });
  }

  const int threads;
  tbb::global_control control;
  tbb::task_arena arena;
};

void ThreadPool::execute(void (*function)(void*), void* argument) {
  state_->execute([=] { function(argument); });
}

struct ThreadLimit::State {
  explicit State(int thread_count) : threads(thread_count), arena(thread_count) {}

  template <typename Function>
  void execute(const Function& function) {
    arena.execute(function);
  }

  const int threads;
  tbb::task_arena arena;
};

#endif

ThreadPool::ThreadPool(int threads) {
  check_threads(threads);
  state_ = std::make_unique<State>(threads);
}

ThreadPool::~ThreadPool() = default;

ThreadLimit::ThreadLimit(int threads) {
  check_threads(threads);
  state_ = std::make_unique<State>(threads);
}

ThreadLimit::~ThreadLimit() = default;

void ThreadLimit::execute(void (*function)(void*), void* argument) {
  struct Restore {
    int before = limit;
    ~Restore() { limit = before; }
  } restore;
  limit = restore.before == 0 ? state_->threads : std::min(restore.before, state_->threads);
  state_->execute([=] { function(argument); });
}

int ThreadPool::threads() const { return state_->threads; }

ParallelFor ThreadPool::parallel_for() {
  return [state = state_.get()](std::int64_t count, void (*body)(void*, std::int64_t),
                                void* argument) { state->parallel_for(count, body, argument); };
}

}  // namespace inlay
