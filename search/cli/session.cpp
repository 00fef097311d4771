#include "search/cli/session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string_view>

#include "core/base/error.h"
#include "core/run/isolated_plugins.h"
#include "search/candidates/candidates.h"
#include "search/candidates/nearest_names.h"
#include "search/cli/printable.h"
#include "search/cost/database.h"
#include "search/session/place_model.h"
#include "search/verify/outcome.h"

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

// A mistyped path would otherwise leave out the plugin in silence.
void check_plugin_path(const std::filesystem::path& path) {
  std::error_code code;
  if (std::filesystem::is_regular_file(path, code)) return;
  if (!std::filesystem::is_directory(path, code)) {
    throw Error(Code::kNotFound,
                fmt::format("--with {}: there is no such file or folder", path.string()));
  }
  const std::filesystem::directory_iterator entries(path, code);
  if (code) {
    throw Error(Code::kIo,
                fmt::format("--with {}: cannot be read: {}", path.string(), code.message()));
  }
  if (std::any_of(begin(entries), end(entries),
                  [](const auto& entry) { return entry.path().extension() == ".so"; })) {
    return;
  }
  throw Error(Code::kNotFound,
              fmt::format("--with {}: expected plugins, files ending in .so, found "
                          "none in this folder",
                          path.string()));
}

// Of --exclude and --isolate.
void check_names(const char* flag, const std::vector<std::string>& names, const PluginHost& host) {
  std::vector<std::pair<std::string, std::string>> known{{kViewPlugin, ""}};
  for (const PluginRecord& record : host.plugins()) {
    if (!record.manifest.name.empty()) known.emplace_back(record.manifest.name, "");
  }
  for (const std::string& name : names) {
    const auto has_name = [&name](const auto& plugin) { return plugin.first == name; };
    if (std::any_of(known.begin(), known.end(), has_name)) continue;
    throw Error(Code::kNotFound,
                fmt::format("{} {}: there is no such plugin; nearest: {} (inlay plugins lists all)",
                            flag, name, fmt::join(nearest_names(name, known), ", ")));
  }
}

HostOptions make_host_options(const Common& common, ThreadPool& pool, IsolatedPlugins& isolated) {
  HostOptions options;
  for (const std::string& path : common.with) {
    check_plugin_path(path);
    options.search_path.emplace_back(path);
  }
  for (const std::filesystem::path& path : default_search_path())
    options.search_path.push_back(path);
  options.exclude = common.exclude;
  options.find_fault = pattern_fault;
  options.isolate = common.isolate;
  options.open_isolated = isolated.opener({.threads = pool.threads()});
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
      host_options(make_host_options(common, pool, isolated)),
      host(*log, host_options) {
  check_names("--exclude", common.exclude, host);
  check_names("--isolate", common.isolate, host);
}

QuarantineInUse::QuarantineInUse(const Session& session, std::string database)
    : session_(session), database_(std::move(database)) {}

QuarantineInUse::~QuarantineInUse() {
  try {
    record();
  } catch (const std::exception& error) {  // the crash itself is told anyway
    session_.log->warn("quarantine not kept", {{"reason", error.what()}});
  }
}

void QuarantineInUse::record() const {
  const std::optional<IsolatedPlugins::Death> death = session_.isolated.last_death();
  if (!death || death->region.empty()) return;
  const WorkerResult<Ran> outcome = std::visit(
      [](const auto& how) { return WorkerResult<Ran>(how); }, death->how);
  if (is_transient(outcome)) return;
  MeasurementKey key;
  key.kind = MeasurementKind::kCheck;
  key.subject = death->region;
  key.plugin = death->plugin;
  key.build_id = death->build_id;
  key.threads = session_.pool.threads();
  key.knobs = "in use";
  CostDatabase(database_path(database_))
      .put(key, {.status = status_of(outcome), .reason = reason_of(outcome, death->what)});
}

Imported import_model(const std::filesystem::path& path, const ImportFlags& flags,
                      Session& session) {
  return ::inlay::import_model(path, parse_shapes(flags.shapes), session.host,
                               parse_values(flags.values));
}

std::filesystem::path database_path(const std::string& flag) {
  if (flag.empty()) return default_database_path();
  const std::filesystem::path path = flag;
  std::error_code code;
  if (path.has_parent_path() && !std::filesystem::is_directory(path.parent_path(), code)) {
    throw Error(Code::kNotFound, fmt::format("--db {}: folder '{}' does not exist", flag,
                                             path.parent_path().string()));
  }
  return path;
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
