#include "core/run/thread_pool.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/error.h"

#ifdef INLAY_STD_THREAD_SCHEDULER
#include <atomic>
#include <thread>
#else
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#endif

namespace inlay {
namespace {

// Of the ThreadLimit that this thread calls within; 0: none.
thread_local int limit = 0;

// Whether this thread works on what some execute() was given.
thread_local bool is_inside = false;

struct Inside {
  bool before = is_inside;
  Inside() { is_inside = true; }
  ~Inside() { is_inside = before; }
};

void check_threads(int threads) {
  if (threads >= 1) return;
  throw Error(Code::kInvalidArgument,
              "threads: expected at least 1, found " + std::to_string(threads));
}

// Threads that nobody has taken. First come, first served, so that who wants many is not passed
// over.
class Permits {
 public:
  explicit Permits(int count) : free_(count) {}

  void take(int count) {
    std::unique_lock lock(mutex_);
    const std::uint64_t mine = last_ticket_++;
    changed_.wait(lock, [&] { return serving_ == mine && free_ >= count; });
    free_ -= count;
    ++serving_;
    changed_.notify_all();
  }

  void give_back(int count) {
    const std::lock_guard lock(mutex_);
    free_ += count;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int free_;
  std::uint64_t last_ticket_ = 0;
  std::uint64_t serving_ = 0;
};

// Calls the function on so many of the pool's threads, once they are free.
template <typename State, typename Function>
void take_and_execute(State& state, int most, const Function& function) {
  struct Taken {
    Permits& permits;
    int count;
    Taken(Permits& from, int wanted) : permits(from), count(wanted) { permits.take(count); }
    ~Taken() { permits.give_back(count); }
  } taken(state.permits, most);
  state.execute(most, [&] {
    const Inside inside;
    function();
  });
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

  explicit State(int thread_count) : threads(thread_count), permits(thread_count) {
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
    if (is_in_job || limit == 1 || count <= 1 || workers.empty() || !owner.try_lock()) {
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
    is_in_job = true;
    run_indices();
    is_in_job = false;
    std::unique_lock lock(mutex);
    done.wait(lock, [this] { return busy == 0; });
  }

  // Who has not all threads has one: the workers cannot be shared out.
  template <typename Function>
  void execute(int most, const Function& function) {
    struct Restore {
      int before = limit;
      ~Restore() { limit = before; }
    } restore;
    if (most < threads) limit = 1;
    function();
  }

  void run_indices() {
    for (std::int64_t i = next++; i < job.count; i = next++) job.body(job.argument, i);
  }

  void work() {
    is_in_job = true;
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
  Permits permits;
  static thread_local bool is_in_job;
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

thread_local bool ThreadPool::State::is_in_job = false;

// Above one thread it does not limit: this pool uses all its threads or none.
struct ThreadLimit::State {
  explicit State(int thread_count) : threads(thread_count) {}

  template <typename Function>
  void execute(const Function& function) {
    function();
  }

  const int threads;
};

#else

// Every call has an arena of its own while it lasts. In one that callers share, a thread that waits
// in the middle of a kernel could take up another caller's run, whose kernels would overwrite what
// this one's keep in thread-local storage; and where isolation forbids that, oneTBB's notes to idle
// threads about work that has been done meanwhile stay in memory for ever.
struct ThreadPool::State {
  explicit State(int thread_count)
      : threads(thread_count),
        permits(thread_count),
        control(tbb::global_control::max_allowed_parallelism,
                static_cast<std::size_t>(thread_count)) {}

  void parallel_for(std::int64_t count, void (*body)(void*, std::int64_t), void* argument) {
    if (count <= 0) return;
    const auto call = [=] {
      if (count == 1 || limit == 1) {
        for (std::int64_t i = 0; i < count; ++i) body(argument, i);
        return;
      }
      tbb::parallel_for(std::int64_t{0}, count, [=](std::int64_t i) {
        const Inside inside;
        body(argument, i);
      });
    };
    // Above 0 is a thread that oneTBB lent to somebody who is inside: a library's task that calls.
    if (is_inside || tbb::this_task_arena::current_thread_index() > 0) return call();
    take_and_execute(*this, threads, call);
  }

  template <typename Function>
  void execute(int most, const Function& function) {
    std::unique_ptr<tbb::task_arena> arena = free_arena(most);
    struct Return {
      State& state;
      int most;
      std::unique_ptr<tbb::task_arena>& arena;
      ~Return() {
        const std::lock_guard lock(state.mutex);
        state.arenas[most].push_back(std::move(arena));
      }
    } put_back{*this, most, arena};
    arena->execute(function);
  }

  std::unique_ptr<tbb::task_arena> free_arena(int most) {
    const std::lock_guard lock(mutex);
    std::vector<std::unique_ptr<tbb::task_arena>>& free = arenas[most];
    if (free.empty()) return std::make_unique<tbb::task_arena>(most);
    std::unique_ptr<tbb::task_arena> arena = std::move(free.back());
    free.pop_back();
    return arena;
  }

  const int threads;
  Permits permits;
  tbb::global_control control;
  std::mutex mutex;
  std::map<int, std::vector<std::unique_ptr<tbb::task_arena>>> arenas;  // free ones, by threads
};

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

int ThreadPool::threads() const { return state_->threads; }

ParallelFor ThreadPool::parallel_for() {
  return [state = state_.get()](std::int64_t count, void (*body)(void*, std::int64_t),
                                void* argument) { state->parallel_for(count, body, argument); };
}

void ThreadPool::execute(int most, void (*function)(void*), void* argument) {
  if (is_inside) return function(argument);
  take_and_execute(*state_, std::clamp(most, 1, state_->threads), [=] { function(argument); });
}

ExecuteOn ThreadPool::execute_on() {
  return [this](int most, void (*function)(void*), void* argument) {
    execute(most, function, argument);
  };
}

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

}  // namespace inlay
