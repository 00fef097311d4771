#include "core/host/plugin_host.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/host/device.h"
#include "core/host/library.h"

namespace inlay {
namespace {

namespace fs = std::filesystem;

constexpr const char* host_sanitizer() {
#if defined(__SANITIZE_ADDRESS__)
  return "address";
#elif defined(__SANITIZE_THREAD__)
  return "thread";
#else
  return "none";
#endif
}

std::vector<std::string> missing_features(const std::vector<std::string>& features) {
  std::vector<std::string> missing;
  for (const std::string& feature : features) {
    if (!has_cpu_feature(feature)) missing.push_back(feature);
  }
  return missing;
}

// Why this process must not load a plugin with such a manifest; nullopt if it may.
std::optional<std::string> unsuitable(const Manifest& manifest) {
  if (manifest.abi_major != static_cast<int>(INLAY_ABI_MAJOR)) {
    return fmt::format("expected ABI major {}, found {}", INLAY_ABI_MAJOR, manifest.abi_major);
  }
  if (manifest.sanitizer != "none" && manifest.sanitizer != host_sanitizer()) {
    return fmt::format("built with the {} sanitizer, this host with {}", manifest.sanitizer,
                       host_sanitizer());
  }
  const std::vector<std::string> missing = missing_features(manifest.cpu);
  if (!missing.empty()) {
    return fmt::format("needs CPU features that are missing here: {}", fmt::join(missing, ", "));
  }
  const auto lacks_feature = [](const ManifestPattern& pattern) {
    return !missing_features(pattern.cpu).empty();
  };
  if (!manifest.patterns.empty() &&
      std::all_of(manifest.patterns.begin(), manifest.patterns.end(), lacks_feature)) {
    return fmt::format("every pattern needs CPU features that are missing here: {}",
                       fmt::join(missing_features(manifest.patterns.front().cpu), ", "));
  }
  return std::nullopt;
}

constexpr const char* kExcluded = "excluded by the user";

// Reads all that is known without loading. `path` is canonical.
PluginRecord read_record(const fs::path& path) {
  PluginRecord record;
  record.path = path;
  try {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
      record.refused = fmt::format("cannot stat: {}", std::strerror(errno));
      return record;
    }
    if ((status.st_mode & S_IWOTH) != 0) {
      record.refused = "anybody may write to the file: chmod o-w it";
      return record;
    }
    record.manifest = read_manifest(path);
    record.build_id = read_build_id(path);
    if (record.build_id.empty()) record.build_id = hash_of(map_file(path).bytes()).hex();
    record.refused = unsuitable(record.manifest);
  } catch (const Error& error) {
    record.refused = error.what();
  }
  return record;
}

// The plugin files that one entry of the search path stands for.
std::vector<fs::path> files_at(const fs::path& entry, Log& log) {
  std::error_code code;
  if (fs::is_regular_file(entry, code)) return {entry};
  std::vector<fs::path> files;
  fs::directory_iterator folder(entry, code);
  for (; !code && folder != fs::directory_iterator(); folder.increment(code)) {
    if (folder->path().extension() == ".so") files.push_back(folder->path());
  }
  if (code) {
    log.warn("search path entry not readable",
             {{"path", entry.string()}, {"reason", code.message()}});
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The folders where a build, an installation and a bundle have their plugins, seen from the folder
// of the program or of libinlay.so.
void add_places_near(const fs::path& folder, std::vector<fs::path>& path) {
  std::error_code code;
  for (const fs::path& place : {folder.parent_path() / "plugins", folder / "plugins",
                                folder.parent_path() / "lib/inlay/plugins"}) {
    const bool is_known = std::find(path.begin(), path.end(), place) != path.end();
    if (!is_known && fs::is_directory(place, code)) path.push_back(place);
  }
}

}  // namespace

std::vector<fs::path> default_search_path() {
  std::vector<fs::path> path;
  if (const char* variable = std::getenv("INLAY_PLUGIN_PATH")) {
    std::string_view rest = variable;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(':'), rest.size());
      const fs::path entry(rest.substr(0, end));
      // Empty and relative entries would mean the working directory.
      if (entry.is_absolute()) path.push_back(entry);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return path;
  }
  std::error_code code;
  const fs::path program = fs::read_symlink("/proc/self/exe", code);
  if (!code) add_places_near(program.parent_path(), path);
  // Inlay may be in a shared library (libinlay.so) that lies elsewhere.
  Dl_info info;
  if (::dladdr(reinterpret_cast<void*>(&default_search_path), &info) != 0 &&
      fs::path(info.dli_fname).is_absolute()) {
    const fs::path library = fs::canonical(info.dli_fname, code);
    if (!code) add_places_near(library.parent_path(), path);
  }
  return path;
}

namespace {

void run_inline(std::int64_t count, void (*body)(void*, std::int64_t), void* argument) {
  for (std::int64_t i = 0; i < count; ++i) body(argument, i);
}

}  // namespace

struct PluginHost::State {
  State(Log& given_log, HostOptions given)
      : log(given_log),
        options(std::move(given)),
        services(std::make_shared<HostServices>(
            HostServices{given_log, options.parallel_for ? options.parallel_for : run_inline,
                         std::max(options.threads, 1)})) {
    if (!options.execute_on) {
      options.execute_on = [](int, void (*function)(void*), void* argument) { function(argument); };
    }
  }

  void scan();
  std::string usable_names() const;  // for a message
  void add(const fs::path& file, std::set<std::pair<dev_t, ino_t>>& seen);
  std::optional<std::string> unwanted(PluginRecord& record);

  Log& log;
  HostOptions options;
  std::shared_ptr<const HostServices> services;
  std::vector<PluginRecord> records;
  std::mutex mutex;  // of the two maps
  std::map<std::string, std::shared_ptr<const Library>, std::less<>> libraries;
  std::map<std::pair<std::string, int>, std::shared_ptr<Device>> devices;
};

std::string PluginHost::State::usable_names() const {
  std::vector<std::string> names;
  for (const PluginRecord& record : records) {
    if (!record.refused) names.push_back(record.manifest.name);
  }
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

void PluginHost::State::scan() {
  std::set<std::pair<dev_t, ino_t>> seen;
  for (const fs::path& entry : options.search_path) {
    for (const fs::path& file : files_at(entry, log)) add(file, seen);
  }
}

// Why a plugin that could be used is not to be; told as loud as it deserves.
std::optional<std::string> PluginHost::State::unwanted(PluginRecord& record) {
  const std::string& name = record.manifest.name;
  if (std::count(options.exclude.begin(), options.exclude.end(), name) != 0) {
    log.debug("plugin excluded", {{"plugin", name}});
    record.is_by_choice = true;
    return kExcluded;
  }
  const auto same = std::find_if(records.begin(), records.end(), [&](const PluginRecord& other) {
    return !other.refused && other.manifest.name == name;
  });
  if (same == records.end()) return std::nullopt;
  std::string reason = fmt::format("shadowed by {}", same->path.string());
  // The order of the path is the user's choice (--with comes first); two in one folder are not.
  record.is_by_choice = same->path.parent_path() != record.path.parent_path();
  log.write(record.is_by_choice ? LogLevel::kDebug : LogLevel::kWarning, "plugin refused",
            {{"path", record.path.string()}, {"reason", reason}});
  return reason;
}

void PluginHost::State::add(const fs::path& file, std::set<std::pair<dev_t, ino_t>>& seen) {
  std::error_code code;
  const fs::path path = fs::canonical(file, code);
  struct stat status {};
  if (code || ::stat(path.c_str(), &status) != 0) {
    records.push_back(
        {.path = file, .manifest = {}, .build_id = {}, .refused = "cannot be opened"});
  } else if (!seen.insert({status.st_dev, status.st_ino}).second) {
    return;  // one file under two names is one plugin
  } else {
    PluginRecord record = read_record(path);
    const bool is_suitable = !record.refused;
    if (is_suitable) record.refused = unwanted(record);
    const bool is_unwanted = is_suitable && record.refused;
    if (!record.refused && options.find_fault) {
      if (std::string fault = options.find_fault(record.manifest); !fault.empty()) {
        record.refused = std::move(fault);
      }
    }
    records.push_back(std::move(record));
    if (is_unwanted) return;
  }
  const PluginRecord& record = records.back();
  if (record.refused) {
    log.warn("plugin refused", {{"path", record.path.string()}, {"reason", *record.refused}});
  } else {
    log.debug("plugin found", {{"plugin", record.manifest.name}, {"path", record.path.string()}});
  }
}

PluginHost::PluginHost(Log& log, HostOptions options)
    : state_(std::make_unique<State>(log, std::move(options))) {
  state_->scan();
}

PluginHost::~PluginHost() = default;

const std::vector<PluginRecord>& PluginHost::plugins() const { return state_->records; }

const PluginRecord* PluginHost::find(std::string_view name) const {
  for (const PluginRecord& record : state_->records) {
    if (!record.refused && record.manifest.name == name) return &record;
  }
  return nullptr;
}

bool PluginHost::is_isolated(std::string_view name) const {
  const std::vector<std::string>& names = state_->options.isolate;
  return std::find(names.begin(), names.end(), name) != names.end();
}

int PluginHost::threads() const { return state_->services->threads; }

const ParallelFor& PluginHost::parallel_for() const { return state_->services->parallel_for; }

const ExecuteOn& PluginHost::execute_on() const { return state_->options.execute_on; }

std::shared_ptr<Device> PluginHost::open_device(std::string_view plugin, int index) {
  const std::string name(plugin);
  const std::lock_guard lock(state_->mutex);
  if (const auto open = state_->devices.find({name, index}); open != state_->devices.end()) {
    return open->second;
  }
  const PluginRecord* record = find(plugin);
  if (record == nullptr) {
    for (const PluginRecord& other : state_->records) {
      if (other.manifest.name == name || other.path.stem() == name) {
        throw Error(Code::kNotFound, fmt::format("plugin '{}': {}: refused: {}", name,
                                                 other.path.string(), *other.refused));
      }
    }
    throw Error(Code::kNotFound, fmt::format("plugin '{}': there is none of that name; found {}",
                                             name, state_->usable_names()));
  }
  if (is_isolated(name)) {
    if (!state_->options.open_isolated) {
      throw Error(Code::kInvalidArgument,
                  fmt::format("plugin '{}': this host has no way to isolate it", name));
    }
    return state_->devices[{name, index}] = state_->options.open_isolated(*record, index);
  }
  auto& library = state_->libraries[name];
  if (library == nullptr) {
    library = std::make_shared<const Library>(*record, state_->services);
    state_->log.info("plugin loaded", {{"plugin", name}, {"path", record->path.string()}});
  }
  std::shared_ptr<Device> device = make_device(library, index);
  state_->devices[{name, index}] = device;
  return device;
}

}  // namespace inlay
