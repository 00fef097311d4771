#include "search/cli/session.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string_view>

#include "search/candidates/candidates.h"
#include "core/run/isolated_plugins.h"
#include "search/cli/printable.h"
#include "search/session/place_model.h"

namespace inlay::cli {
namespace {

class SpdLog : public Log {
 public:
  explicit SpdLog(bool verbose) : logger_(spdlog::stderr_color_mt("inlay")) {
    logger_->set_pattern("%^%l%$: %v");
    logger_->set_level(verbose ? spdlog::level::debug : spdlog::level::warn);
  }

  void write(LogLevel level, std::string_view event, const std::vector<LogField>& fields) override {
    std::string line(event);
    for (const auto& [key, value] : fields) line += fmt::format(" {}={}", key, value);
    logger_->log(to_spdlog(level), printable(line));
  }

 private:
  static spdlog::level::level_enum to_spdlog(LogLevel level) {
    switch (level) {
      case LogLevel::kDebug:
        return spdlog::level::debug;
      case LogLevel::kInfo:
        return spdlog::level::info;
      case LogLevel::kWarning:
        return spdlog::level::warn;
      case LogLevel::kError:
        break;
    }
    return spdlog::level::err;
  }

  std::shared_ptr<spdlog::logger> logger_;
};

HostOptions make_host_options(const Common& common, ThreadPool& pool) {
  HostOptions options;
  for (const std::string& path : common.with) options.search_path.emplace_back(path);
  for (const std::filesystem::path& path : default_search_path())
    options.search_path.push_back(path);
  options.exclude = common.exclude;
  options.isolate = common.isolate;
  options.open_isolated = IsolatedPlugins().opener({.threads = pool.threads()});
  options.find_fault = pattern_fault;
  options.threads = pool.threads();
  options.parallel_for = pool.parallel_for();
  options.execute_on = pool.execute_on();
  return options;
}

int thread_count(const Common& common) {
  return common.threads > 0 ? common.threads : available_threads();
}

// After a signal, work that does not look at the flag, as a long run of the reference, is cut off.
constexpr unsigned kGraceSeconds = 2;

// A signal handler may touch only this.
std::atomic<bool> interrupt_flag{false};
volatile std::sig_atomic_t interrupt_signal = SIGINT;
static_assert(std::atomic<bool>::is_always_lock_free);

}  // namespace

std::unique_ptr<Log> make_log(const Common& common) {
  return std::make_unique<SpdLog>(common.verbose);
}

Session::Session(const Common& common)
    : log(make_log(common)),
      pool(thread_count(common)),
      host_options(make_host_options(common, pool)),
      host(*log, host_options) {
  for (const std::string& name : common.exclude) {
    const auto has_name = [&](const PluginRecord& record) { return record.manifest.name == name; };
    if (std::any_of(host.plugins().begin(), host.plugins().end(), has_name)) continue;
    log->warn("no plugin to exclude has that name", {{"plugin", name}});
  }
}

Imported import_model(const std::filesystem::path& path, const ImportFlags& flags,
                      Session& session) {
  return ::inlay::import_model(path, parse_shapes(flags.shapes), session.host,
                               parse_values(flags.values));
}

int interrupted_status() {
  constexpr int kSignalBase = 128;
  return kSignalBase + interrupt_signal;
}

const std::atomic<bool>& interrupted() { return interrupt_flag; }

void watch_interrupts() {
  const auto handler = [](int number) {
    interrupt_signal = number;
    interrupt_flag = true;
    ::alarm(kGraceSeconds);
  };
  const auto end = [](int) {
    constexpr std::string_view kLine = "inlay: error: interrupted\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kLine.data(), kLine.size());
    ::_exit(interrupted_status());
  };
  std::signal(SIGALRM, end);
  std::signal(SIGINT, handler);
  std::signal(SIGTERM, handler);
}

}  // namespace inlay::cli
