#include "search/cli/bundle.h"

#include <fmt/format.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/plan/plan_text.h"
#include "core/plan/weights.h"
#include "search/cli/command.h"
#include "search/cli/dynamic_section.h"
#include "search/cli/files.h"
#include "search/cli/session.h"
#include "search/report/count.h"
#include "search/report/table.h"

namespace inlay::cli {
namespace {

namespace fs = std::filesystem;

// What Debian's libc6 installs.
constexpr std::string_view kGlibcLibraries[] = {"ld-linux-x86-64.so.2",
                                                "libBrokenLocale.so.1",
                                                "libanl.so.1",
                                                "libc.so.6",
                                                "libc_malloc_debug.so.0",
                                                "libdl.so.2",
                                                "libm.so.6",
                                                "libmvec.so.1",
                                                "libnsl.so.1",
                                                "libpthread.so.0",
                                                "libresolv.so.2",
                                                "librt.so.1",
                                                "libthread_db.so.1",
                                                "libutil.so.1"};

bool is_glibc(std::string_view name) {
  return std::find(std::begin(kGlibcLibraries), std::end(kGlibcLibraries), name) !=
         std::end(kGlibcLibraries);
}

// Every library of this process, by the name under which others need it.
std::map<std::string, fs::path> loaded_libraries() {
  std::vector<fs::path> paths;
  const auto add = [](dl_phdr_info* info, std::size_t, void* list) {
    if (info->dlpi_name != nullptr && info->dlpi_name[0] == '/') {
      static_cast<std::vector<fs::path>*>(list)->emplace_back(info->dlpi_name);
    }
    return 0;
  };
  ::dl_iterate_phdr(add, &paths);
  std::map<std::string, fs::path> libraries;
  for (const fs::path& path : paths) {
    const DynamicSection section = read_dynamic_section(map_file(path).bytes(), path.string());
    libraries.emplace(section.soname.empty() ? path.filename().string() : section.soname, path);
    libraries.emplace(path.filename().string(), path);
  }
  return libraries;
}

// Collects all libraries that files need, directly or not: by name, where they are.
class NeededLibraries {
 public:
  void add_file(const fs::path& file) {
    std::vector<fs::path> files{file};
    while (!files.empty()) {
      const fs::path from = files.back();
      files.pop_back();
      const DynamicSection section = read_dynamic_section(map_file(from).bytes(), from.string());
      for (const std::string& name : section.needed) {
        if (is_glibc(name) || needed_.contains(name)) continue;
        const auto found = loaded_.find(name);
        if (found == loaded_.end()) fail(from.string(), "needs", name);
        needed_[name] = found->second;
        files.push_back(found->second);
      }
    }
  }

  // One that a plugin, or a library it needs, opens by name: if that has not happened here, it lies
  // beside one of those.
  void add_opened(const std::string& plugin, const std::string& name) {
    if (needed_.contains(name)) return;
    const auto loaded = loaded_.find(name);
    fs::path place = loaded == loaded_.end() ? fs::path() : loaded->second;
    for (auto it = needed_.begin(); place.empty() && it != needed_.end(); ++it) {
      if (fs::exists(it->second.parent_path() / name)) place = it->second.parent_path() / name;
    }
    if (place.empty()) fail(fmt::format("plugin '{}'", plugin), "opens", name);
    needed_[name] = place;
    add_file(place);
  }

  const std::map<std::string, fs::path>& list() const { return needed_; }

 private:
  [[noreturn]] static void fail(const std::string& who, const char* what, const std::string& name) {
    throw Error(Code::kNotFound,
                fmt::format("{}: {} {}, which is not loaded in this process", who, what, name));
  }

  const std::map<std::string, fs::path> loaded_ = loaded_libraries();
  std::map<std::string, fs::path> needed_;
};

NeededLibraries libraries_of(const std::vector<fs::path>& objects, const Plan& plan,
                             const PluginHost& host) {
  NeededLibraries libraries;
  for (const fs::path& object : objects) libraries.add_file(object);
  for (const PlanPlugin& plugin : plan.plugins) {
    for (const std::string& name : host.find(plugin.name)->manifest.opens) {
      libraries.add_opened(plugin.name, name);
    }
  }
  return libraries;
}

// A folder that goes again unless it is kept.
class PartialFolder {
 public:
  explicit PartialFolder(fs::path path) : path_(std::move(path)) { fs::create_directories(path_); }
  ~PartialFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  PartialFolder(const PartialFolder&) = delete;
  PartialFolder& operator=(const PartialFolder&) = delete;

  const fs::path& path() const { return path_; }
  void rename_to(const fs::path& target) {
    fs::rename(path_, target);  // replaces an empty folder
    path_.clear();
  }

 private:
  fs::path path_;
};

constexpr auto kFile =
    fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read | fs::perms::others_read;
constexpr auto kProgram =
    kFile | fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec;

enum class Role { kProgram, kPlugin, kLibrary };

// A plugin looks for its libraries in the bundle's lib, whatever program loads it; a library's own
// are looked for where the plugin's are.
std::uint64_t copy_object(const fs::path& from, const fs::path& to, Role role) {
  const MappedFile file = map_file(from);
  if (role == Role::kProgram) {
    write_file(to, {file.bytes()});
  } else {
    const std::vector<std::byte> bytes =
        role == Role::kPlugin ? with_run_path(file.bytes(), from.string(), "$ORIGIN/../lib")
                              : without_run_path(file.bytes(), from.string());
    write_file(to, {std::span<const std::byte>(bytes)});
  }
  fs::permissions(to, role == Role::kProgram ? kProgram : kFile);
  return file.size_bytes;
}

// The files of the plan's plugins, which this loads, so that their libraries are known.
std::vector<fs::path> plugin_files(const Plan& plan, PluginHost& host) {
  std::vector<fs::path> files;
  for (const PlanPlugin& plugin : plan.plugins) {
    host.open_device(plugin.name);
    const PluginRecord& record = *host.find(plugin.name);
    if (record.build_id != plugin.build_id) {
      throw Error(Code::kStale,
                  fmt::format("plugin '{}': the plan was made for build '{}', found '{}'",
                              plugin.name, plugin.build_id, record.build_id));
    }
    files.push_back(record.path);
  }
  return files;
}

void check_folder(const fs::path& folder) {
  if (fs::exists(folder) && (!fs::is_directory(folder) || !fs::is_empty(folder))) {
    throw Error(Code::kInvalidArgument,
                fmt::format("--output {}: expected a new or empty folder", folder.string()));
  }
}

Bundle fill(const fs::path& folder, const BundleRequest& request, const PlanFiles& files,
            PluginHost& host) {
  const Plan plan = parse_plan(read_text(files.plan), files.plan.string());
  open_weights(files.weights, plan.constants);  // checks them
  const std::vector<fs::path> plugins = plugin_files(plan, host);
  std::vector<fs::path> objects = plugins;
  objects.push_back(request.runner);

  Bundle bundle;
  fs::create_directory(folder / "plugins");
  fs::create_directory(folder / "lib");
  for (const fs::path& plugin : plugins) {
    bundle.plugins.push_back(plugin.filename().string());
    bundle.size_bytes += copy_object(plugin, folder / "plugins" / plugin.filename(), Role::kPlugin);
  }
  const NeededLibraries libraries = libraries_of(objects, plan, host);
  for (const auto& [name, path] : libraries.list()) {
    bundle.libraries.push_back(name);
    bundle.size_bytes += copy_object(path, folder / "lib" / name, Role::kLibrary);
  }
  for (const auto& [from, name] :
       {std::pair{files.plan, "model.plan"}, std::pair{files.weights, "model.weights"}}) {
    fs::copy_file(from, folder / name);
    bundle.size_bytes += fs::file_size(from);
  }
  bundle.size_bytes += copy_object(request.runner, folder / "run", Role::kProgram);
  return bundle;
}

}  // namespace

Bundle write_bundle(const BundleRequest& request, PluginHost& host) {
  const fs::path folder = fs::absolute(request.folder / "").parent_path();
  try {
    check_folder(folder);
    PartialFolder partial(folder.string() + fmt::format(".partial-{}", ::getpid()));
    Bundle bundle = fill(partial.path(), request, plan_files(request.plan), host);
    partial.rename_to(folder);
    return bundle;
  } catch (const fs::filesystem_error& error) {
    throw Error(Code::kIo, error.what());
  }
}

fs::path find_runner() {
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path();
  for (const fs::path& place : {program / "inlay-run", program / "../lib/inlay/inlay-run"}) {
    if (fs::exists(place)) return fs::canonical(place);
  }
  throw Error(Code::kNotFound,
              fmt::format("{}: expected inlay-run here or in ../lib/inlay", program.string()));
}

namespace {

int run_bundle(const Common& common, const BundleRequest& request) {
  Session session(common);
  const Bundle bundle = write_bundle(request, session.host);
  if (common.json) {
    const nlohmann::ordered_json json{{"folder", request.folder.string()},
                                      {"plugins", bundle.plugins},
                                      {"libraries", bundle.libraries},
                                      {"size_bytes", bundle.size_bytes}};
    fmt::print("{}\n", json.dump(2));
    return 0;
  }
  fmt::print("{}: {}, {}, {}; try {}\n", request.folder.string(),
             count_of(std::ssize(bundle.plugins), "plugin"),
             count_of(std::ssize(bundle.libraries), "library", "libraries"),
             format_bytes(static_cast<double>(bundle.size_bytes)),
             (request.folder / "run --seed 1").string());
  return 0;
}

}  // namespace

void add_bundle(CLI::App& app, Common& common) {
  CLI::App* command = app.add_subcommand(
      "bundle", "Put a plan, its plugins and their libraries into a folder that runs elsewhere");
  auto request = std::make_shared<BundleRequest>();
  command->add_option("plan", request->plan, "Plan written by inlay place")
      ->required()
      ->type_name("PLAN");
  command->add_option("-o,--output", request->folder, "New or empty folder")
      ->required()
      ->type_name("DIR");
  add_plugin_flags(*command, common);
  add_json_flag(*command, common);
  command->callback([&common, request] {
    common.run = [&common, request] {
      request->runner = find_runner();
      return run_bundle(common, *request);
    };
  });
}

}  // namespace inlay::cli
