#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <set>
#include <string_view>
#include <system_error>

#include "core/base/error.h"
#include "core/run/thread_pool.h"
#include "core/run/worker_client.h"
#include "search/candidates/candidates.h"
#include "search/cli/doctor.h"
#include "search/cli/session.h"
#include "search/cost/database.h"
#include "search/cost/quarantine.h"

namespace inlay::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kPatience{20};

// What changes how a plugin's library works, or which one is found.
constexpr std::pair<const char*, const char*> kVariables[] = {
    {"INLAY_PLUGIN_PATH", "where plugins are looked for, instead of near the program"},
    {"INLAY_WORKER_PATH", "the worker program, instead of the one near the program"},
    {"INLAY_DB", "the cost database"},
    {"XDG_CACHE_HOME", "the folder of the cost database, where INLAY_DB is not set"},
    {"LD_LIBRARY_PATH", "libraries are looked for there before their own places"},
    {"LD_PRELOAD", "libraries loaded before all others"},
    {"OPENBLAS_CORETYPE", "OpenBLAS uses the kernels of this CPU, whatever is here"},
    {"OPENBLAS_NUM_THREADS", "OpenBLAS starts with so many threads; Inlay caps them"},
    {"GOTO_NUM_THREADS", "as OPENBLAS_NUM_THREADS"},
    {"OMP_NUM_THREADS", "threads of OpenMP programs; Inlay sets its own cap"},
    {"OMP_PROC_BIND", "OpenMP binds its threads to processors"},
    {"MKL_NUM_THREADS", "threads of MKL, where a plugin uses it"},
    {"ONEDNN_MAX_CPU_ISA", "oneDNN uses no newer instructions than these"},
    {"DNNL_MAX_CPU_ISA", "oneDNN uses no newer instructions than these"},
    {"ONEDNN_DEFAULT_FPMATH_MODE", "oneDNN may compute in a shorter format: results change"},
    {"ONEDNN_VERBOSE", "oneDNN prints what it does, which costs time"},
    {"ONEDNN_PRIMITIVE_CACHE_CAPACITY", "how many primitives oneDNN keeps"},
    {"TBB_ENABLE_SANITIZERS", "oneTBB's memory is watched, which costs time"},
    {"CUDA_VISIBLE_DEVICES", "the GPUs that CUDA plugins see"},
    {"CUDA_LAUNCH_BLOCKING", "CUDA waits for each kernel, which costs time"},
    {"MALLOC_ARENA_MAX", "memory pools of the C library"},
    {"GLIBC_TUNABLES", "settings of the C library, its CPU features included"}};

// The words after '@' in layout variants, and the patterns' own needs.
void add_features(const ManifestPattern& pattern, std::set<std::string>& features) {
  features.insert(pattern.cpu.begin(), pattern.cpu.end());
  const std::string_view text = pattern.layouts;
  for (std::size_t at = text.find('@'); at != text.npos; at = text.find('@', at + 1)) {
    std::size_t begin = at + 1;
    if (begin < text.size() && text[begin] == '!') ++begin;
    const std::size_t end = text.find_first_of(" |,;@", begin);
    features.emplace(text.substr(begin, end == text.npos ? end : end - begin));
  }
}

class Doctor {
 public:
  explicit Doctor(const Common& common) : common_(common), session_(common) {}

  Diagnosis run() {
    look_at_search_path();
    look_at_database();
    look_at_worker();
    for (const PluginRecord& record : session_.host.plugins()) look_at(record);
    if (session_.host.find(kReferencePlugin) == nullptr) {
      problem(
          "the reference plugin is not found, and nothing can be imported or placed without it");
    }
    look_at_libraries();
    look_at_machine();
    return std::move(d_);
  }

 private:
  void problem(std::string text) { d_.problems.push_back(std::move(text)); }

  void look_at_search_path() {
    const char* variable = std::getenv("INLAY_PLUGIN_PATH");
    for (std::size_t i = 0; i < session_.host_options.search_path.size(); ++i) {
      SearchEntry entry;
      entry.path = session_.host_options.search_path[i];
      entry.from = i < common_.with.size() ? "--with"
                   : variable != nullptr   ? "INLAY_PLUGIN_PATH"
                                           : "near the program";
      std::error_code code;
      if (fs::is_regular_file(entry.path, code)) {
        entry.files = 1;
      } else {
        fs::directory_iterator folder(entry.path, code);
        for (; !code && folder != fs::directory_iterator(); folder.increment(code)) {
          entry.files += folder->path().extension() == ".so";
        }
        if (code) entry.fault = code.message();
      }
      if (!entry.fault.empty()) {
        problem(fmt::format("{} (from {}) cannot be searched: {}", entry.path.string(), entry.from,
                            entry.fault));
      }
      d_.search_path.push_back(std::move(entry));
    }
    for (std::string_view rest = variable != nullptr ? variable : ""; !rest.empty();) {
      const std::size_t end = std::min(rest.find(':'), rest.size());
      const std::string entry(rest.substr(0, end));
      if (!fs::path(entry).is_absolute()) {
        d_.ignored_entries.push_back(entry);
        problem(fmt::format("INLAY_PLUGIN_PATH: '{}' is passed over: expected an absolute path",
                            entry));
      }
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }

  void look_at_database() {
    try {
      const fs::path path =
          common_.database.empty() ? default_database_path() : fs::path(common_.database);
      d_.database = path.string();
      if (!fs::exists(path)) return;  // the first placement makes it
      const CostDatabase database(path);
      const DatabaseStats stats = database.stats();
      d_.database_rows = stats.rows;
      d_.database_bytes = stats.size_bytes;
      database.verify();
      quarantine_ = Quarantine(database);
    } catch (const Error& error) {
      d_.database_fault = error.what();
      problem(d_.database_fault);
    }
  }

  void look_at_worker() {
    try {
      d_.worker = find_worker().string();
      // A greeting runs no plugin's code: the reference is Inlay's own.
      worker_ = make_worker();
      if (session_.host.find(kReferencePlugin) == nullptr) return;
      const WorkerResult<Opened> opened = worker_->open(kReferencePlugin, kPatience);
      if (!std::holds_alternative<Opened>(opened)) d_.worker_fault = describe_failure(opened);
    } catch (const Error& error) {
      d_.worker_fault = error.what();
      worker_.reset();
    }
    if (!d_.worker_fault.empty()) problem(fmt::format("worker: {}", d_.worker_fault));
  }

  std::unique_ptr<WorkerClient> make_worker() const {
    return std::make_unique<WorkerClient>(
        WorkerOptions{.search_path = session_.host_options.search_path,
                      .exclude = session_.host_options.exclude,
                      .threads = session_.pool.threads()});
  }

  void look_at(const PluginRecord& record) {
    PluginDiagnosis p;
    const Manifest& m = record.manifest;
    p.path = record.path;
    p.name = m.name.empty() ? record.path.stem().string() : m.name;
    p.version = m.version;
    p.library = m.library;
    p.threads = m.threads;
    p.build_id = record.build_id;
    std::set<std::string> features(m.cpu.begin(), m.cpu.end());
    for (const ManifestPattern& pattern : m.patterns) add_features(pattern, features);
    p.cpu_used.assign(features.begin(), features.end());
    for (const std::string& feature : features) d_.cpu[feature] = has_cpu_feature(feature);
    if (record.refused) {
      p.state = record.is_by_choice ? PluginState::kPassedOver : PluginState::kRefused;
      p.reason = *record.refused;
      if (!record.is_by_choice) {
        problem(fmt::format("{}: refused: {}", record.path.string(), p.reason));
      }
    } else {
      open(p);
    }
    look_at_quarantine(p);
    d_.plugins.push_back(std::move(p));
  }

  // In the worker first: a plugin that crashes there is a row with a reason.
  void open(PluginDiagnosis& p) {
    try {
      if (worker_ == nullptr) return;
      const WorkerResult<Opened> opened = worker_->open(p.name, kPatience);
      if (const auto* device = std::get_if<Opened>(&opened)) {
        p.device = device->device;
        p.fingerprint = device->fingerprint;
        p.state = session_.host.is_isolated(p.name) ? PluginState::kIsolated : PluginState::kUsed;
        return;
      }
      p.reason = describe_failure(opened);
    } catch (const Error& error) {
      p.reason = error.what();
    }
    p.state = PluginState::kFailed;
    problem(fmt::format("{}: cannot be used: {}", p.name, p.reason));
  }

  void look_at_quarantine(PluginDiagnosis& p) {
    for (const Quarantine::Entry* entry : quarantine_.of_build(p.build_id)) {
      p.quarantine.push_back(
          {entry->key.subject, entry->measurement.reason, entry->measurement.when});
    }
    if (p.quarantine.empty()) return;
    problem(fmt::format(
        "{}: {} of its regions in quarantine: they crashed or hung, and are not tried again until "
        "the plugin is built anew or inlay db clear --quarantine",
        p.name, p.quarantine.size()));
  }

  // In a worker of its own, since one that a plugin ended has only the plugins after that.
  void look_at_libraries() {
    if (worker_ == nullptr) return;
    try {
      worker_ = make_worker();
      for (const PluginDiagnosis& p : d_.plugins) {
        if (p.state == PluginState::kUsed) (void)worker_->open(p.name, kPatience);
      }
      d_.libraries = find_shadowed(fmt::format("/proc/{}/maps", worker_->pid()));
    } catch (const Error& error) {
      problem(fmt::format("worker: {}", error.what()));
    }
  }

  void look_at_machine() {
    d_.threads = session_.pool.threads();
    d_.available_threads = available_threads();
    d_.processors = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
    for (const auto& [name, meaning] : kVariables) {
      if (const char* value = std::getenv(name)) d_.environment.push_back({name, value, meaning});
    }
    for (std::string_view rest = INLAY_LEFT_OUT; !rest.empty();) {
      const std::size_t end = std::min(rest.find('|'), rest.size());
      d_.left_out.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }

  const Common& common_;
  Session session_;
  std::unique_ptr<WorkerClient> worker_;
  Quarantine quarantine_;
  Diagnosis d_;
};

}  // namespace

const char* plugin_state_name(PluginState state) {
  switch (state) {
    case PluginState::kUsed:
      return "used";
    case PluginState::kIsolated:
      return "used, in a process of its own";
    case PluginState::kPassedOver:
      return "passed over";
    case PluginState::kRefused:
      return "refused";
    case PluginState::kFailed:
      break;
  }
  return "failed";
}

Diagnosis diagnose(const Common& common) { return Doctor(common).run(); }

}  // namespace inlay::cli
