#include "search/cli/new_plugin.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <system_error>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/host/plugin_host.h"
#include "search/cli/command.h"
#include "search/cli/printable.h"

namespace inlay::cli {
namespace {

namespace fs = std::filesystem;

struct NewPluginFlags {
  std::string name;
  std::string folder;
};

// Where this Inlay's CMake package lies, seen from the program: the same in a build folder and in
// an installation.
fs::path package_prefix() {
  std::error_code code;
  const fs::path program = fs::read_symlink("/proc/self/exe", code);
  return program.parent_path().parent_path();
}

std::vector<std::string> plugin_names() {
  NullLog log;
  HostOptions options;
  options.search_path = default_search_path();
  const PluginHost host(log, options);
  std::vector<std::string> names;
  for (const PluginRecord& record : host.plugins()) names.push_back(record.manifest.name);
  return names;
}

int make_plugin(const Common& common, const NewPluginFlags& flags) {
  check_plugin_name(flags.name, plugin_names());
  const fs::path folder = flags.folder.empty() ? fs::path(flags.name) : fs::path(flags.folder);
  const std::vector<NewFile> files =
      new_plugin_files({.name = flags.name, .prefix = package_prefix()});
  write_new_folder(folder, files);
  if (common.json) {
    nlohmann::ordered_json json{{"folder", folder.string()}};
    for (const NewFile& file : files) json["files"].push_back(file.path.string());
    fmt::print("{}\n", json_text(json));
    return 0;
  }
  for (const NewFile& file : files) fmt::print("wrote {}\n", (folder / file.path).string());
  const std::string build = (folder / "build").string();
  const std::string library = (folder / "build" / (flags.name + ".so")).string();
  fmt::print("next:\n  cmake -S {} -B {} && cmake --build {}\n", folder.string(), build, build);
  fmt::print("  inlay check {0}\n  inlay match {0} MODEL.onnx\n", library);
  fmt::print("  inlay place MODEL.onnx --with {}\n", library);
  return 0;
}

}  // namespace

void add_new_plugin(CLI::App& app, Common& common) {
  CLI::App* command = app.add_subcommand(
      "new-plugin", "Write a folder with a working plugin in one C++ file, to start from");
  auto flags = std::make_shared<NewPluginFlags>();
  command->add_option("name", flags->name, "Its name: letters, digits and '_'")
      ->required()
      ->type_name("NAME");
  command->add_option("--dir", flags->folder, "New or empty folder to write into (default: ./NAME)")
      ->type_name("DIR");
  add_json_flag(*command, common);
  command->callback(
      [&common, flags] { common.run = [&common, flags] { return make_plugin(common, *flags); }; });
}

}  // namespace inlay::cli
