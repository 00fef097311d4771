#include "core/run/worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/error.h"
#include "core/plan/plan_text.h"
#include "core/run/executor.h"
#include "core/run/isolated_plugins.h"
#include "core/run/message.h"
#include "core/run/programs.h"
#include "core/run/thread_pool.h"
#include "core/run/worker_json.h"
#include "core/run/worker_programs.h"

namespace inlay {
namespace {

// Ends this process when the other side's is gone, even while a plugin computes or hangs.
// (PR_SET_PDEATHSIG would also fire when only the thread that started the worker ends.)
void end_with(int socket) {
  std::thread([socket] {
    pollfd poll_fd{socket, POLLRDHUP, 0};
    while (::poll(&poll_fd, 1, -1) < 0 ||
           (poll_fd.revents & (POLLRDHUP | POLLHUP | POLLERR)) == 0) {
    }
    ::_exit(0);
  }).detach();
}

// A plugin that was opened before, or it would not be asked for: only its being opened failed, not
// what it was opened for.
class OpeningFailed : public Error {
  using Error::Error;
};

// Whether an error tells of the machine's state rather than of the request.
bool is_transient(Code code) {
  switch (code) {
    case Code::kNoMemory:
    case Code::kIo:
    case Code::kBusy:
    case Code::kNotFound:  // of a plugin's file or one it needs: there when this began
    case Code::kStale:     // replaced meanwhile
    case Code::kCancelled:
      return true;
    default:
      return false;
  }
}

class Worker {
 public:
  Message answer(const Message& request) {
    Message reply;
    Json outcome;
    isolated_.forget_death();
    try {
      const Json json = Json::parse(request.text);
      outcome = {{"ok", act(json, request, &reply)}};
    } catch (const OpeningFailed& error) {
      outcome = {{"failed", error.what()}, {"transient", true}};
    } catch (const Error& error) {
      const char* kind = error.code() == Code::kUnsupported ? "declined" : "failed";
      outcome = {{kind, error.what()}, {"transient", is_transient(error.code())}};
    } catch (const std::bad_alloc&) {
      outcome = {{"failed", "out of memory"}, {"transient", true}};
    } catch (const std::system_error& error) {  // a thread that cannot be started, for one
      outcome = {{"failed", error.what()}, {"transient", true}};
    } catch (const std::exception& error) {
      outcome = {{"failed", error.what()}};
    }
    if (!outcome.contains("ok")) tell_death(&outcome);
    // A plugin's text may be any bytes.
    reply.text = outcome.dump(-1, ' ', false, Json::error_handler_t::replace);
    return reply;
  }

 private:
  // What failed may have failed because a plugin ended its own process.
  void tell_death(Json* outcome) const {
    const std::optional<IsolatedPlugins::Death> death = isolated_.last_death();
    if (!death) return;
    if (const auto* crash = std::get_if<Crashed>(&death->how)) {
      *outcome = {{"crashed", {crash->signal, crash->exit_status}}};
    } else {
      *outcome = {{"hung", bits_json(std::get<Hung>(death->how).seconds)}};
    }
  }

  Json act(const Json& json, const Message& request, Message* reply) {
    const std::string what = json.at("do").get<std::string>();
    if (what == "hello") return hello(json);
    if (!host_) throw Error(Code::kInvalidArgument, "worker: expected hello first");
    if (what == "open") return open(json);
    if (what == "measure") return measure_plan(json, request);
    if (what == "measure_pair") return measure_pair_of_plans(json, request);
    if (what == "check") return check(json, request);
    if (what == "outputs") return outputs(json, request, reply);
    if (what == "load") return load_program(json, request);
    if (what == "attach") return programs_.attach(json.at("program").get<int>(), request.files.at(0));
    if (what == "run") {
      programs_.run(json.at("instance").get<int>());
      return true;
    }
    if (what == "release") {
      programs_.release(json.at("programs").get<std::vector<int>>(),
                        json.at("instances").get<std::vector<int>>());
      return true;
    }
    throw Error(Code::kInvalidArgument, fmt::format("worker: unknown request '{}'", what));
  }

  Json hello(const Json& json) {
    if (json.at("protocol") != kProtocol) {
      throw Error(Code::kStale, fmt::format("worker: expected protocol {}, found {}", kProtocol,
                                            json.at("protocol").dump()));
    }
    HostOptions options;
    for (const Json& path : json.at("search_path")) {
      options.search_path.emplace_back(path.get<std::string>());
    }
    options.exclude = json.at("exclude").get<std::vector<std::string>>();
    options.isolate = json.at("isolate").get<std::vector<std::string>>();
    options.threads = json.at("threads").get<int>();
    options.open_isolated = isolated_.opener({.threads = options.threads});
    pool_.emplace(options.threads);
    options.parallel_for = pool_->parallel_for();
    options.execute_on = pool_->execute_on();
    caches_.emplace(options.parallel_for);
    host_.emplace(log_, std::move(options));
    return true;
  }

  Json open(const Json& json) {
    std::shared_ptr<Device> device;
    opening([&] {
      device = host_->open_device(json.at("plugin").get<std::string>(), json.at("index").get<int>());
    });
    return {{"device", device->name()},
            {"fingerprint", device->fingerprint()},
            {"space", device->space()}};
  }

  Json load_program(const Json& json, const Message& request) {
    Loaded loaded = load(json.at("plan"), request, 0);
    return programs_.add(std::move(loaded.executor));
  }

  template <typename Body>
  static void opening(const Body& body) {
    try {
      body();
    } catch (const Error& error) {
      if (error.code() == Code::kUnsupported) throw;
      throw OpeningFailed(error.code(), error.what());
    }
  }

  struct Loaded {
    Plan plan;
    std::unique_ptr<Executor> executor;
  };

  // Plan `index` of the request, its weights in file `index`.
  Loaded load(const Json& text, const Message& request, std::size_t index) {
    Loaded loaded{parse_plan(text.get_ref<const std::string&>(), "plan"), nullptr};
    std::vector<TensorType> types;
    for (const PlanConstant& constant : loaded.plan.constants) types.push_back(constant.type);
    const Weights weights{from_memory_file(request.files.at(index), types)};
    opening([&] { open_devices(loaded.plan, *host_); });
    loaded.executor = std::make_unique<Executor>(loaded.plan, weights, *host_);
    return loaded;
  }

  // A plan is timed right after its outputs were checked: what was compiled then serves again.
  Loaded take_checked_or_load(const Json& json, const Message& request) {
    const auto& text = json.at("plan").get_ref<const std::string&>();
    if (checked_ && checked_text_ == text) return std::move(*std::exchange(checked_, std::nullopt));
    checked_.reset();  // before the next takes memory
    return load(json.at("plan"), request, 0);
  }

  Json measure_plan(const Json& json, const Message& request) {
    const Loaded loaded = take_checked_or_load(json, request);
    const std::vector<Tensor> inputs = random_inputs(
        loaded.plan, json.at("seed").get<std::uint64_t>(), max_values_from(json.at("max_values")));
    return to_json(
        measure(*loaded.executor, inputs, measure_options_from(json.at("options")), *caches_));
  }

  Json measure_pair_of_plans(const Json& json, const Message& request) {
    const Json& plans = json.at("plans");
    const Loaded first = load(plans.at(0), request, 0);
    const Loaded second = load(plans.at(1), request, 1);
    const std::vector<Tensor> inputs = random_inputs(
        first.plan, json.at("seed").get<std::uint64_t>(), max_values_from(json.at("max_values")));
    return to_json(measure_pair(*first.executor, *second.executor, inputs,
                                pair_options_from(json.at("options"))));
  }

  Json check(const Json& json, const Message& request) {
    const Json& plans = json.at("plans");
    std::vector<Loaded> loaded;
    for (std::size_t p = 0; p < plans.size(); ++p) loaded.push_back(load(plans[p], request, p));
    const Tolerance tolerance = tolerance_from(json.at("tolerance"));
    Json comparisons = Json::array();
    for (const Json& seed : json.at("seeds")) {
      const std::vector<Tensor> inputs = random_inputs(loaded[0].plan, seed.get<std::uint64_t>(),
                                                       max_values_from(json.at("max_values")));
      const std::vector<Tensor> got = loaded[0].executor->run(inputs);
      const std::vector<Tensor> want = loaded[1].executor->run(inputs);
      std::vector<Tensor> magnitudes;
      if (loaded.size() > 2) magnitudes = loaded[2].executor->run(absolute(inputs));
      if (want.size() != got.size() || (!magnitudes.empty() && magnitudes.size() != got.size())) {
        throw Error(Code::kShapeMismatch, "check: the plans have different numbers of outputs");
      }
      for (std::size_t o = 0; o < got.size(); ++o) {
        const Comparison comparison =
            compare(want[o], got[o], tolerance, magnitudes.empty() ? nullptr : &magnitudes[o]);
        comparisons.push_back({seed, o, to_json(comparison)});
      }
    }
    return comparisons;
  }

  static std::vector<Tensor> absolute(const std::vector<Tensor>& inputs) {
    std::vector<Tensor> result;
    for (const Tensor& input : inputs) result.push_back(absolute_values(input));
    return result;
  }

  Json outputs(const Json& json, const Message& request, Message* reply) {
    Loaded loaded = take_checked_or_load(json, request);
    std::vector<TensorType> types;
    for (const int input : loaded.plan.inputs) {
      types.push_back(loaded.plan.values[static_cast<std::size_t>(input)].type);
    }
    const std::vector<Tensor> inputs = from_memory_file(request.files.at(1), types);
    const std::vector<Tensor> results = loaded.executor->run(inputs);
    reply->files.push_back(to_memory_file(results));
    checked_text_ = json.at("plan").get<std::string>();
    checked_ = std::move(loaded);
    return true;
  }

  NullLog log_;
  IsolatedPlugins isolated_;
  std::optional<ThreadPool> pool_;
  std::optional<PluginHost> host_;
  std::optional<Caches> caches_;
  WorkerPrograms programs_;
  std::optional<Loaded> checked_;  // gone before the host
  std::string checked_text_;       // says all: constants by their content's hash
};

}  // namespace

int run_worker(int socket) {
  ::fcntl(socket, F_SETFD, FD_CLOEXEC);
  end_with(socket);
  Worker worker;
  try {
    for (;;) {
      Message request;
      if (receive_message(socket, &request, std::nullopt) != Received::kMessage) return 0;
      const Message reply = worker.answer(request);
      if (send_message(socket, reply, std::nullopt) != Received::kMessage) return 0;
    }
  } catch (const Error&) {
    return 1;
  }
}

}  // namespace inlay
