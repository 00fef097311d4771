#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tests/conformance/sample_plugin.h"

namespace {

// What an event stands for; the stream's thread may outlive the event's handle.
struct EventState {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_done = true;  // nothing recorded yet
  inlay_status status = INLAY_OK;

  void begin() {
    const std::lock_guard lock(mutex);
    is_done = false;
    status = INLAY_OK;
  }
  void complete(inlay_status with) {
    const std::lock_guard lock(mutex);
    is_done = true;
    status = with;
    changed.notify_all();
  }
  bool wait(std::chrono::nanoseconds patience) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, patience, [this] { return is_done; });
  }
};

}  // namespace

struct inlay_event {
  std::shared_ptr<EventState> state = std::make_shared<EventState>();
};

// A thread that does what it is given, one after the other.
struct inlay_stream {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> work;
  bool is_over = false;
  bool is_idle = true;
  inlay_status status = INLAY_OK;  // of the work since the last event; the thread's own
  std::thread thread{[this] { run(); }};

  ~inlay_stream() {
    {
      const std::lock_guard lock(mutex);
      is_over = true;
      changed.notify_all();
    }
    thread.join();
  }

  void push(std::function<void()> job) {
    const std::lock_guard lock(mutex);
    work.push_back(std::move(job));
    changed.notify_all();
  }

  void sync() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return work.empty() && is_idle; });
  }

  void run() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return is_over || !work.empty(); });
      if (work.empty()) return;
      const std::function<void()> job = std::move(work.front());
      work.pop_front();
      is_idle = false;
      lock.unlock();
      job();
      lock.lock();
      is_idle = true;
      changed.notify_all();
    }
  }
};

namespace sample {
namespace {

inlay_status create_stream(inlay_device*, inlay_error* error, inlay_stream** out) {
  if (out == nullptr) return fail(error, INLAY_INVALID, "no output");
  *out = new inlay_stream;
  return INLAY_OK;
}

void destroy_stream(inlay_device*, inlay_stream* stream) { delete stream; }

inlay_status sync_stream(inlay_stream* stream, inlay_error*) {
  stream->sync();
  return INLAY_OK;
}

inlay_status create_event(inlay_device*, inlay_error* error, inlay_event** out) {
  if (out == nullptr) return fail(error, INLAY_INVALID, "no output");
  *out = new inlay_event;
  return INLAY_OK;
}

void destroy_event(inlay_device*, inlay_event* event) { delete event; }

inlay_status record_event(inlay_event* event, inlay_stream* stream, inlay_error*) {
  if (is_broken(48)) return INLAY_OK;  // done at once, whatever is not
  event->state->begin();
  stream->push([stream, state = event->state] {
    if (is_broken(49) && stream->status != INLAY_OK) return;
    state->complete(std::exchange(stream->status, INLAY_OK));
  });
  return INLAY_OK;
}

inlay_status query_event(inlay_event* event, inlay_error* error, std::int32_t* out) {
  const std::lock_guard lock(event->state->mutex);
  *out = event->state->is_done ? 1 : 0;
  return event->state->status == INLAY_OK ? INLAY_OK
                                          : fail(error, event->state->status, "the work failed");
}

inlay_status wait_event(inlay_event* event, std::int64_t timeout_ns, inlay_error* error) {
  if (!event->state->wait(std::chrono::nanoseconds(timeout_ns))) {
    return fail(error, INLAY_INTERNAL, "not within the time given");
  }
  const std::lock_guard lock(event->state->mutex);
  return event->state->status == INLAY_OK ? INLAY_OK
                                          : fail(error, event->state->status, "the work failed");
}

inlay_status stream_wait_event(inlay_stream* stream, inlay_event* event, inlay_error*) {
  stream->push([state = event->state] { state->wait(std::chrono::hours(1)); });
  return INLAY_OK;
}

}  // namespace

void push_work(inlay_stream* stream, inlay_instance* instance, const inlay_tensor& input,
               const inlay_tensor& output) {
  // The structs die with the call, their arrays too; of these the dims alone are read.
  struct Given {
    inlay_tensor tensor;
    std::vector<std::int64_t> dims;
  };
  const auto copied = [](const inlay_tensor& tensor) {
    Given given{tensor, {tensor.dims, tensor.dims + tensor.rank}};
    return std::make_shared<Given>(std::move(given));
  };
  instance->is_cancelled = false;
  stream->push([stream, instance, x = copied(input), y = copied(output)] {
    if (is_broken(48) || is_broken(49)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    x->tensor.dims = x->dims.data();
    y->tensor.dims = y->dims.data();
    const inlay_status status = compute(instance, &x->tensor, &y->tensor, nullptr);
    if (status != INLAY_OK) stream->status = status;
  });
}

const inlay_stream_table kStreams = {sizeof(inlay_stream_table),
                                     create_stream,
                                     destroy_stream,
                                     sync_stream,
                                     create_event,
                                     destroy_event,
                                     record_event,
                                     query_event,
                                     wait_event,
                                     stream_wait_event};

}  // namespace sample
