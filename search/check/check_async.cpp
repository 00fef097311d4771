#include <dirent.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <map>
#include <thread>

#include "core/run/compare.h"
#include "search/check/agreement.h"
#include "search/check/doing.h"
#include "search/check/families.h"
#include "search/check/program_run.h"
#include "search/check/verdict.h"

namespace inlay::check {
namespace {

constexpr std::int64_t kPatience_ns = 5'000'000'000;

const inlay_stream_table& streams_of(const OpenDevice& device) {
  const inlay_stream_table* streams = device.table().streams;
  if (streams == nullptr) skip("the table has no streams: enqueue is synchronous");
  require(streams->create_stream != nullptr && streams->destroy_stream != nullptr &&
              streams->sync_stream != nullptr && streams->create_event != nullptr &&
              streams->destroy_event != nullptr && streams->record_event != nullptr &&
              streams->query_event != nullptr && streams->wait_event != nullptr &&
              streams->stream_wait_event != nullptr,
          "a stream table has all of its entries, found one that is null");
  return *streams;
}

StreamPtr make_stream(const OpenDevice& device) {
  const inlay_stream_table& streams = streams_of(device);
  ErrorText error;
  inlay_stream* made = nullptr;
  const Answer answer = error.answer(streams.create_stream(device.get(), error.get(), &made));
  require(answer.is_ok() && made != nullptr, "create_stream: expected INLAY_OK, found {}",
          describe(answer));
  return {made, [&streams, &device](inlay_stream* s) { streams.destroy_stream(device.get(), s); }};
}

EventPtr make_event(const OpenDevice& device) {
  const inlay_stream_table& streams = streams_of(device);
  ErrorText error;
  inlay_event* made = nullptr;
  const Answer answer = error.answer(streams.create_event(device.get(), error.get(), &made));
  require(answer.is_ok() && made != nullptr, "create_event: expected INLAY_OK, found {}",
          describe(answer));
  return {made, [&streams, &device](inlay_event* e) { streams.destroy_event(device.get(), e); }};
}

Answer wait_for(const OpenDevice& device, inlay_event* event) {
  ErrorText error;
  return error.answer(streams_of(device).wait_event(event, kPatience_ns, error.get()));
}

int query(const OpenDevice& device, inlay_event* event, Answer* answer = nullptr) {
  ErrorText error;
  std::int32_t done = -1;
  const Answer found = error.answer(streams_of(device).query_event(event, error.get(), &done));
  if (answer != nullptr) *answer = found;
  return done;
}

double seconds_of(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Processor time of each thread of the process, in seconds.
std::map<std::string, double> thread_times() {
  std::map<std::string, double> times;
  DIR* folder = ::opendir("/proc/self/task");
  if (folder == nullptr) return times;
  while (const dirent* entry = ::readdir(folder)) {
    if (entry->d_name[0] == '.') continue;
    // proc(5): nanoseconds on a processor stand first.
    std::ifstream file(fmt::format("/proc/self/task/{}/schedstat", entry->d_name));
    double nanoseconds = 0;
    if (file >> nanoseconds) times[entry->d_name] = nanoseconds * 1e-9;
  }
  ::closedir(folder);
  return times;
}

// Elements of everything that a run reads and writes.
std::int64_t size_of_work(const Region& region) {
  std::int64_t elements = 0;
  for (const RegionValue& value : region.values) elements += element_count(value.type.shape);
  return elements;
}

const Sample& largest_sample(Subject& subject) {
  const std::vector<const Sample*> list = accepted(subject.device(), subject.samples());
  if (list.empty()) fail("every sample is declined; check 26 tells why");
  return **std::max_element(list.begin(), list.end(), [](const Sample* a, const Sample* b) {
    return size_of_work(a->region) < size_of_work(b->region);
  });
}

// A run beside others against the same one alone: the same bits, unless the program says that these
// may differ.
void require_as_alone(const inlay_program_info& info, const std::vector<Tensor>& expected,
                      const std::vector<Tensor>& found) {
  if (info.is_deterministic != 0) {
    require(found == expected, "a run beside others gives other bits than the same run alone");
    return;
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Comparison comparison =
        compare(expected[i], found[i], {.kind = ToleranceClass::kEndToEnd});
    require(comparison.is_equal(), "a run beside others differs from the same run alone: {}",
            describe(comparison));
  }
}

// Runs `count` threads of work on their own instances; the first failure, or "".
template <typename Work>
std::string in_threads(int count, const Work& work) {
  std::vector<std::string> failures(static_cast<std::size_t>(count));
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      try {
        work(i);
      } catch (const std::exception& exception) {
        failures[static_cast<std::size_t>(i)] = exception.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& failure : failures) {
    if (!failure.empty()) return failure;
  }
  return "";
}

}  // namespace

void event_order(Subject& subject) {
  const OpenDevice& device = subject.device();
  const inlay_stream_table& streams = streams_of(device);
  const Sample& sample = largest_sample(subject);
  const std::vector<Tensor> inputs = inputs_for(sample.region, 1);
  const Compiled compiled = compile(device, sample.region);
  const StreamPtr stream = make_stream(device);
  const StreamPtr other = make_stream(device);
  ErrorText error;
  constexpr int kRuns = 8;
  for (int i = 0; i < kRuns; ++i) {
    const EventPtr first = make_event(device);
    const EventPtr second = make_event(device);
    Run run(device, compiled, sample.region);
    run.set_inputs(inputs);
    run.fill_outputs();
    Answer answer = run.enqueue(0, stream.get());
    require(answer.is_ok(), "enqueue on a stream: expected INLAY_OK, found {}", describe(answer));
    answer = error.answer(streams.record_event(first.get(), stream.get(), error.get()));
    require(answer.is_ok(), "record_event: expected INLAY_OK, found {}", describe(answer));
    answer = error.answer(streams.stream_wait_event(other.get(), first.get(), error.get()));
    require(answer.is_ok(), "stream_wait_event: expected INLAY_OK, found {}", describe(answer));
    answer = error.answer(streams.record_event(second.get(), other.get(), error.get()));
    require(answer.is_ok(), "record_event: expected INLAY_OK, found {}", describe(answer));
    // The event behind the other cannot be done before it.
    const bool is_second_done = query(device, second.get()) == 1;
    const bool is_first_done = query(device, first.get()) == 1;
    require(!is_second_done || is_first_done,
            "an event of a stream that waits for another event was done before that one");
    answer = wait_for(device, second.get());
    require(answer.is_ok(), "wait_event: expected INLAY_OK, found {}", describe(answer));
    require(query(device, first.get()) == 1, "an event was pending after one behind it was done");
    require(query(device, second.get()) == 1, "query_event: expected 1 after wait_event, found {}",
            query(device, second.get()));
    require_equal(subject, sample, inputs, run.outputs(), "when its event is done");
  }
  {
    Run run(device, compiled, sample.region);
    run.set_inputs(inputs);
    const Answer answer = run.enqueue(0, stream.get());
    require(answer.is_ok(), "enqueue on a stream: {}", describe(answer));
    EventPtr early = make_event(device);
    streams.record_event(early.get(), stream.get(), error.get());
    early.reset();  // legal before completion
    const Answer synced = error.answer(streams.sync_stream(stream.get(), error.get()));
    require(synced.is_ok(), "sync_stream: expected INLAY_OK, found {}", describe(synced));
  }
}

void error_signals_events(Subject& subject) {
  const OpenDevice& device = subject.device();
  const inlay_stream_table& streams = streams_of(device);
  const Sample& sample = subject.sample();
  const Compiled compiled = compile(device, sample.region);
  const StreamPtr stream = make_stream(device);
  const EventPtr event = make_event(device);
  if (device.table().cancel == nullptr)
    skip("the table has no cancel, by which work could be made to fail");
  // Work that is cancelled before it can be done, behind much that must be done first.
  std::vector<std::unique_ptr<Run>> runs;
  constexpr int kRuns = 50;
  ErrorText error;
  for (int i = 0; i < kRuns; ++i) {
    runs.push_back(std::make_unique<Run>(device, compiled, sample.region));
    runs.back()->set_inputs(inputs_for(sample.region, 1));
    const Answer answer = runs.back()->enqueue(0, stream.get());
    require(answer.is_ok() || answer.status == INLAY_CANCELLED, "enqueue on a stream: found {}",
            describe(answer));
  }
  device.table().cancel(runs.back()->instance());
  const Answer recorded =
      error.answer(streams.record_event(event.get(), stream.get(), error.get()));
  require(is_known_status(recorded.status), "record_event: {}", describe(recorded));
  doing("wait for the event behind cancelled work");
  const Answer answer = wait_for(device, event.get());
  require(
      answer.is_ok() || answer.status == INLAY_CANCELLED,
      "wait_event behind cancelled work: expected INLAY_CANCELLED, or INLAY_OK where it was done "
      "before, found {}",
      describe(answer));
  Answer queried;
  require(query(device, event.get(), &queried) == 1 || !queried.is_ok(),
          "query_event behind cancelled work: still pending after wait_event");
  error.answer(streams.sync_stream(stream.get(), error.get()));
}

void cancel(Subject& subject) {
  const OpenDevice& device = subject.device();
  if (device.table().cancel == nullptr) skip("the table has no cancel");
  const Sample& sample = subject.sample();
  const std::vector<Tensor> inputs = inputs_for(sample.region, 1);
  const Compiled compiled = compile(device, sample.region);
  Run run(device, compiled, sample.region);
  run.set_inputs(inputs);
  device.table().cancel(run.instance());  // nothing runs: nothing happens
  std::atomic<bool> is_over = false;
  std::thread canceller([&] {
    while (!is_over) device.table().cancel(run.instance());
  });
  constexpr int kRuns = 200;
  Answer odd;
  doing("enqueue while another thread cancels");
  for (int i = 0; i < kRuns && odd.is_ok(); ++i) {
    const Answer answer = run.enqueue();
    if (answer.status != INLAY_CANCELLED) odd = answer;
  }
  is_over = true;
  canceller.join();
  require(odd.is_ok(),
          "enqueue while another thread cancels: expected INLAY_OK or "
          "INLAY_CANCELLED, found {}",
          describe(odd));
  run.fill_outputs();
  const Answer answer = run.enqueue();
  require(answer.is_ok(), "enqueue after a cancelled one: expected INLAY_OK, found {}",
          describe(answer));
  require_equal(subject, sample, inputs, run.outputs(), "after cancelled runs");
}

void concurrent_instances(Subject& subject) {
  const OpenDevice& device = subject.device();
  constexpr int kThreads = 4;
  constexpr int kRuns = 25;
  for (const Sample* sample : accepted(device, subject.samples())) {
    const Compiled compiled = compile(device, sample->region);
    // Each thread has inputs of its own, so that what is mixed up shows.
    std::vector<std::vector<Tensor>> inputs;
    std::vector<std::vector<Tensor>> expected;
    for (int i = 0; i < kThreads; ++i) {
      inputs.push_back(inputs_for(sample->region, static_cast<std::uint64_t>(i) + 1));
      expected.push_back(run_once(device, sample->region, inputs.back()));
    }
    require_equal(subject, *sample, inputs[0], expected[0], "alone");
    doing("{} in {} threads", describe(*sample), kThreads);
    const std::string failure = in_threads(kThreads, [&](int i) {
      Run run(device, compiled, sample->region);
      run.set_inputs(inputs[static_cast<std::size_t>(i)]);
      for (int n = 0; n < kRuns; ++n) {
        run.fill_outputs();
        const Answer answer = run.enqueue();
        require(answer.is_ok(), "enqueue: found {}", describe(answer));
        require_as_alone(compiled.info, expected[static_cast<std::size_t>(i)], run.outputs());
      }
    });
    require(failure.empty(), "{}: {} instances of a program at once: {}", describe(*sample),
            kThreads, failure);
  }
}

void races(Subject& subject) {
  const OpenDevice& device = subject.device();
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kRounds = 4;
  constexpr std::size_t kMostSamples = 12;
  std::vector<const Sample*> list = accepted(device, subject.samples());
  list.resize(std::min(list.size(), kMostSamples));
  if (list.empty()) fail("every sample is declined; check 26 tells why");
  const auto inputs_of = [&](std::size_t thread, std::size_t sample) {
    return inputs_for(list[sample]->region, thread + 1);
  };
  std::vector<std::vector<Tensor>> expected;
  for (std::size_t i = 0; i < kThreads; ++i) {
    for (std::size_t n = 0; n < list.size(); ++n) {
      expected.push_back(run_once(device, list[n]->region, inputs_of(i, n)));
    }
  }
  doing("devices, programs and instances made, run and destroyed in {} threads", kThreads);
  const std::string failure = in_threads(static_cast<int>(kThreads), [&](int thread) {
    const auto i = static_cast<std::size_t>(thread);
    const OpenDevice own = subject.plugin().open(0);
    for (std::size_t n = 0; n < kRounds * list.size(); ++n) {
      // Each thread in another order, half of them on the shared device.
      const std::size_t at = (n + i) % list.size();
      const OpenDevice& chosen = i % 2 == 0 ? device : own;
      const Compiled compiled = compile(chosen, list[at]->region);
      require(compiled.program != nullptr, "{}: compile: {}", describe(*list[at]),
              describe(compiled.answer));
      Run run(chosen, compiled, list[at]->region);
      run.set_inputs(inputs_of(i, at));
      run.fill_outputs();
      const Answer answer = run.enqueue();
      require(answer.is_ok(), "{}: enqueue: {}", describe(*list[at]), describe(answer));
      require_as_alone(compiled.info, expected[i * list.size() + at], run.outputs());
    }
  });
  require(failure.empty(), "compile and run in {} threads: {}", kThreads, failure);
}

void thread_cap(Subject& subject) {
  const OpenDevice& device = subject.device();
  const Sample& sample = largest_sample(subject);
  const Compiled compiled = compile(device, sample.region, {.thread_cap = 1});
  require(compiled.program != nullptr, "compile with a cap of 1: found {}",
          describe(compiled.answer));
  constexpr double kWork = 0.2;    // seconds of the processor
  constexpr double kShare = 0.15;  // of the busiest thread, for all others together
  constexpr double kSlack = 0.02;
  const std::vector<Tensor> inputs = inputs_for(sample.region, 1);
  std::map<std::string, double> before;
  double total = 0;
  std::string failure;
  subject.host().with_cap(1, [&] {
    try {
      Run run(device, compiled, sample.region);
      run.set_inputs(inputs);
      run.enqueue();  // what is made at the first run is made
      // Threads that a library starts when it is loaded may look for work a moment.
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      before = thread_times();
      // Until the process has used so much, whoever used it: two threads share it out.
      const double begin = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
      for (; total < kWork; total = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - begin) {
        const Answer answer = run.enqueue();
        require(answer.is_ok(), "enqueue: {}", describe(answer));
      }
    } catch (const std::exception& exception) {
      failure = exception.what();
    }
  });
  require(failure.empty(), "with a cap of 1: {}", failure);
  // The process's time counts threads that have ended, too.
  double busiest = 0;
  for (const auto& [thread, seconds] : thread_times()) {
    const auto earlier = before.find(thread);
    busiest = std::max(busiest, seconds - (earlier == before.end() ? 0 : earlier->second));
  }
  require(total - busiest <= kShare * busiest + kSlack,
          "with a cap of 1, one thread used {:.3f} s of the processor and others {:.3f} s", busiest,
          total - busiest);
}

void no_spinning_idle(Subject& subject) {
  const OpenDevice& device = subject.device();
  const Sample& sample = largest_sample(subject);
  const Compiled compiled = compile(device, sample.region);
  Run run(device, compiled, sample.region);
  run.set_inputs(inputs_for(sample.region, 1));
  subject.host().with_cap(2, [&] {
    for (int i = 0; i < 20; ++i) run.enqueue();
  });
  using std::chrono::milliseconds;
  std::this_thread::sleep_for(milliseconds(200));  // pools may look for work a moment longer
  constexpr milliseconds kIdle{400};
  constexpr double kMost = 0.04;  // seconds: a tenth
  const double begin = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  std::this_thread::sleep_for(kIdle);
  const double spent = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - begin;
  require(spent <= kMost,
          "idle for {} ms after a run: expected at most {} s of the processor, found "
          "{:.3f} s",
          kIdle.count(), kMost, spent);
}

}  // namespace inlay::check
