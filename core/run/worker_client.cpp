#include "core/run/worker_client.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "core/plan/plan_text.h"
#include "core/run/message.h"
#include "core/run/worker_json.h"
#include "core/run/worker_process.h"

namespace inlay {
namespace {

using Clock = std::chrono::steady_clock;

// A worker that waited for a processor for more than this share of the time may have been as sound
// as any.
constexpr double kMostQueued = 0.5;

// For the rest of a reply whose first byte came.
constexpr std::chrono::seconds kReplyPatience{5};

struct Reply {
  Json ok;
  std::vector<Descriptor> files;
};

// A reply's result, read by `reader`; any other outcome as it is.
template <typename T, typename Reader>
WorkerResult<T> read(WorkerResult<Reply>&& result, const Reader& reader) {
  return std::visit(
      [&]<typename Outcome>(Outcome& outcome) -> WorkerResult<T> {
        if constexpr (std::is_same_v<Outcome, Reply>) {
          try {
            return reader(outcome);
          } catch (const Json::exception& e) {
            throw Error(Code::kIo, fmt::format("worker: unexpected reply: {}", e.what()));
          }
        } else {
          return std::move(outcome);
        }
      },
      result);
}

// Waits for the first byte of a reply, looking up now and then whether that was cancelled. What has
// come counts, even if this process was stopped (Ctrl-Z) past the deadline.
Received await_reply(int socket, Deadline deadline, const std::atomic<bool>* cancelled) {
  constexpr std::chrono::milliseconds kLookUp{50};
  constexpr std::chrono::milliseconds kNone{0};
  for (;;) {
    if (cancelled != nullptr && *cancelled) {
      throw Error(Code::kCancelled, "cancelled during a measurement; those before it are kept");
    }
    const auto left =
        std::max(std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()), kNone);
    pollfd poll_fd{socket, POLLIN, 0};
    if (::poll(&poll_fd, 1, static_cast<int>(std::min(left, kLookUp).count())) > 0) {
      return Received::kMessage;
    }
    if (left == kNone) return Received::kTimeout;
  }
}

}  // namespace

struct WorkerClient::State {
  WorkerOptions options;
  std::unique_ptr<WorkerProcess> process;
  int starts = 0;

  WorkerResult<Reply> request(const Json& json, std::vector<Descriptor> files, Deadline deadline);
  // is_judged: whether a hang may be found to be the machine's fault, which costs some reading.
  WorkerResult<Reply> exchange(const Message& message, Deadline deadline, bool is_judged = true);
  WorkerResult<Reply> greet(Deadline deadline);
};

WorkerResult<Reply> WorkerClient::State::request(const Json& json, std::vector<Descriptor> files,
                                                 Deadline deadline) {
  if (process == nullptr) {
    WorkerResult<Reply> greeting = greet(deadline);
    if (!std::holds_alternative<Reply>(greeting)) return greeting;
  }
  return exchange({json.dump(), std::move(files)}, deadline);
}

WorkerResult<Reply> WorkerClient::State::greet(Deadline deadline) {
  process = std::make_unique<WorkerProcess>(
      options.executable.empty() ? find_worker() : options.executable, options.show_output);
  ++starts;
  Json hello = {{"do", "hello"},
                {"protocol", kProtocol},
                {"search_path", Json::array()},
                {"exclude", options.exclude},
                {"isolate", options.isolate},
                {"threads", options.threads}};
  for (const std::filesystem::path& path : options.search_path) {
    hello["search_path"].push_back(path.string());
  }
  // It runs no plugin's code yet: whatever goes wrong now is the program's fault.
  const std::filesystem::path program = process->executable();
  WorkerResult<Reply> greeting = exchange({hello.dump(), {}}, deadline);
  if (!std::holds_alternative<Reply>(greeting)) {
    process.reset();
    throw Error(Code::kIo, fmt::format("{}: does not start as a worker: {}", program.string(),
                                       describe_failure(greeting)));
  }
  return greeting;
}

WorkerResult<Reply> WorkerClient::State::exchange(const Message& message, Deadline deadline,
                                                  bool is_judged) {
  Message reply;
  const Clock::time_point start = Clock::now();
  const QueueTimes queued = is_judged ? process->queue_times() : QueueTimes();
  const auto end = [this] {
    process->kill();
    process.reset();
  };
  Received received = send_message(process->socket(), message, deadline);
  try {
    if (received == Received::kMessage) {
      received = await_reply(process->socket(), deadline, options.cancelled);
    }
  } catch (const Error&) {
    end();
    throw;
  }
  if (received == Received::kMessage) {
    const Deadline least = Clock::now() + kReplyPatience;
    received = receive_message(process->socket(), &reply, std::max(deadline, least));
  }
  if (received == Received::kTimeout) {
    const std::chrono::duration<double> waited = Clock::now() - start;
    const bool was_held_up =
        process->is_stopped() ||
        (is_judged && process->longest_queued_since(queued) > kMostQueued * waited);
    end();
    return Hung{waited.count(), was_held_up};
  }
  if (received == Received::kClosed) {
    const ExitState end = process->wait();
    process.reset();
    return Crashed{end.signal, end.exit_status};
  }
  const Json json = Json::parse(reply.text, nullptr, false);
  if (json.is_object() && json.contains("ok")) return Reply{json["ok"], std::move(reply.files)};
  if (json.is_object() && json.contains("declined")) {
    return Declined{json["declined"].get<std::string>()};
  }
  if (json.is_object() && json.contains("failed")) {
    return Failed{json["failed"].get<std::string>(), json.value("transient", false)};
  }
  // Of a plugin's own process, which the worker outlives.
  if (json.is_object() && json.contains("crashed")) {
    return Crashed{json["crashed"].at(0).get<int>(), json["crashed"].at(1).get<int>()};
  }
  if (json.is_object() && json.contains("hung")) return Hung{bits_value(json["hung"])};
  end();
  throw Error(Code::kIo, "worker: unexpected reply");
}

WorkerClient::WorkerClient(WorkerOptions options) : state_(std::make_unique<State>()) {
  state_->options = std::move(options);
}

WorkerClient::~WorkerClient() = default;

WorkerResult<Opened> WorkerClient::open(const std::string& plugin,
                                        std::chrono::milliseconds deadline, int index) {
  const Json json = {{"do", "open"}, {"plugin", plugin}, {"index", index}};
  return read<Opened>(state_->request(json, {}, Clock::now() + deadline), [](const Reply& reply) {
    return Opened{reply.ok.at("device").get<std::string>(),
                  reply.ok.at("fingerprint").get<std::string>(),
                  reply.ok.at("space").get<std::string>()};
  });
}

WorkerResult<Loaded> WorkerClient::load(const Plan& plan, const Descriptor& weights,
                                        std::chrono::milliseconds deadline) {
  const Json json = {{"do", "load"}, {"plan", to_text(plan)}};
  std::vector<Descriptor> files;
  files.push_back(copy_of(weights));
  return read<Loaded>(state_->request(json, std::move(files), Clock::now() + deadline),
                      [](const Reply& reply) { return Loaded{reply.ok.get<int>()}; });
}

WorkerResult<Attached> WorkerClient::attach(int program, const Descriptor& memory,
                                            std::chrono::milliseconds deadline) {
  const Json json = {{"do", "attach"}, {"program", program}};
  std::vector<Descriptor> files;
  files.push_back(copy_of(memory));
  return read<Attached>(state_->request(json, std::move(files), Clock::now() + deadline),
                        [](const Reply& reply) { return Attached{reply.ok.get<int>()}; });
}

WorkerResult<Ran> WorkerClient::run(int instance, std::chrono::milliseconds deadline) {
  const Json json = {{"do", "run"}, {"instance", instance}};
  // Known to have been attached, so the process is there.
  return read<Ran>(
      state_->exchange({json.dump(), {}}, Clock::now() + deadline, /*is_judged=*/false),
      [](const Reply&) { return Ran{}; });
}

WorkerResult<Ran> WorkerClient::release(const std::vector<int>& programs,
                                        const std::vector<int>& instances,
                                        std::chrono::milliseconds deadline) {
  const Json json = {{"do", "release"}, {"programs", programs}, {"instances", instances}};
  return read<Ran>(state_->request(json, {}, Clock::now() + deadline),
                   [](const Reply&) { return Ran{}; });
}

WorkerResult<Stats> WorkerClient::measure(const Plan& plan, const Weights& weights,
                                          const MeasureRequest& request,
                                          std::chrono::milliseconds deadline) {
  const Json json = {{"do", "measure"},
                     {"plan", to_text(plan)},
                     {"seed", request.seed},
                     {"max_values", to_json(request.max_values)},
                     {"options", to_json(request.options)}};
  std::vector<Descriptor> files;
  files.push_back(to_memory_file(weights.tensors));
  return read<Stats>(state_->request(json, std::move(files), Clock::now() + deadline),
                     [](const Reply& reply) { return stats_from(reply.ok); });
}

WorkerResult<PairStats> WorkerClient::measure_pair(const PlanView& first, const PlanView& second,
                                                   const PairRequest& request,
                                                   std::chrono::milliseconds deadline) {
  const Json json = {{"do", "measure_pair"},
                     {"plans", {to_text(first.plan), to_text(second.plan)}},
                     {"seed", request.seed},
                     {"max_values", to_json(request.max_values)},
                     {"options", to_json(request.options)}};
  std::vector<Descriptor> files;
  files.push_back(to_memory_file(first.weights.tensors));
  files.push_back(to_memory_file(second.weights.tensors));
  return read<PairStats>(state_->request(json, std::move(files), Clock::now() + deadline),
                         [](const Reply& reply) { return pair_stats_from(reply.ok); });
}

WorkerResult<std::vector<OutputComparison>> WorkerClient::check(
    const PlanView& candidate, const PlanView& reference, const std::optional<PlanView>& magnitude,
    const CheckRequest& request, std::chrono::milliseconds deadline) {
  Json json = {{"do", "check"},
               {"plans", {to_text(candidate.plan), to_text(reference.plan)}},
               {"seeds", request.seeds},
               {"max_values", to_json(request.max_values)},
               {"tolerance", to_json(request.tolerance)}};
  std::vector<Descriptor> files;
  files.push_back(to_memory_file(candidate.weights.tensors));
  files.push_back(to_memory_file(reference.weights.tensors));
  if (magnitude) {
    json["plans"].push_back(to_text(magnitude->plan));
    files.push_back(to_memory_file(magnitude->weights.tensors));
  }
  return read<std::vector<OutputComparison>>(
      state_->request(json, std::move(files), Clock::now() + deadline), [](const Reply& reply) {
        std::vector<OutputComparison> list;
        for (const Json& item : reply.ok) {
          list.push_back({item.at(0).get<std::uint64_t>(), item.at(1).get<int>(),
                          comparison_from(item.at(2))});
        }
        return list;
      });
}

WorkerResult<std::vector<Tensor>> WorkerClient::outputs(const Plan& plan, const Weights& weights,
                                                        std::span<const Tensor> inputs,
                                                        std::chrono::milliseconds deadline) {
  if (inputs.size() != plan.inputs.size()) {
    throw Error(Code::kInvalidArgument,
                fmt::format("expected {} inputs, found {}", plan.inputs.size(), inputs.size()));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const PlanValue& value = plan.values[static_cast<std::size_t>(plan.inputs[i])];
    if (inputs[i].type() != value.type) {
      throw Error(Code::kShapeMismatch,
                  fmt::format("input '{}': expected {}, found {}", value.name,
                              to_string(value.type), to_string(inputs[i].type())));
    }
  }
  const Json json = {{"do", "outputs"}, {"plan", to_text(plan)}};
  std::vector<Descriptor> files;
  files.push_back(to_memory_file(weights.tensors));
  files.push_back(to_memory_file(inputs));
  return read<std::vector<Tensor>>(
      state_->request(json, std::move(files), Clock::now() + deadline), [&](const Reply& reply) {
        std::vector<TensorType> types;
        for (const int output : plan.outputs) {
          types.push_back(plan.values[static_cast<std::size_t>(output)].type);
        }
        if (reply.files.size() != 1) throw Error(Code::kIo, "worker: a reply without outputs");
        return from_memory_file(reply.files[0], types);
      });
}

int WorkerClient::pid() const { return state_->process ? state_->process->pid() : -1; }

int WorkerClient::starts() const { return state_->starts; }

std::string describe_failure(
    const std::variant<std::monostate, Declined, Failed, Crashed, Hung>& failure) {
  struct Writer {
    std::string operator()(std::monostate) const { return ""; }
    std::string operator()(const Declined& d) const { return "declined: " + d.reason; }
    std::string operator()(const Failed& f) const { return "failed: " + f.reason; }
    std::string operator()(const Crashed& c) const {
      if (c.signal == 0) return fmt::format("crashed: exit status {}", c.exit_status);
      return fmt::format("crashed: signal {} ({})", c.signal, ::strsignal(c.signal));
    }
    std::string operator()(const Hung& h) const {
      return fmt::format("hung: no answer in {:.0f} s{}", h.seconds,
                         h.was_held_up ? ", most of which it waited for a processor" : "");
    }
  };
  return std::visit(Writer{}, failure);
}

}  // namespace inlay
