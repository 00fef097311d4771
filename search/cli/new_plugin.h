// The folder of a new plugin, outside Inlay's tree: what `inlay new-plugin` writes.
//
//   check_plugin_name("acme", {"onednn", "openblas"});
//   for (const NewFile& file : new_plugin_files({.name = "acme", .prefix = "/opt/inlay"})) ...
//
// The texts are in the program: plugins/template/template.cpp, compiled and tested as a plugin of
// the tree, and the files of search/cli/new_plugin around it.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inlay {

struct EmbeddedText {
  std::string_view name;
  std::string_view text;
};

namespace cli {

struct NewPlugin {
  std::string name;
  std::filesystem::path prefix;  // where its build finds Inlay unless told otherwise
};

struct NewFile {
  std::filesystem::path path;  // below the folder
  std::string text;
};

// A name is part of file names, of a CMake target and of C++ source, and heads a column of every
// report: a letter, then letters, digits and '_', up to 64, no word of C or C++.
//   taken   the names of plugins there are
//   throws  Error{kInvalidArgument} expected, found
void check_plugin_name(const std::string& name, const std::vector<std::string>& taken);

std::vector<NewFile> new_plugin_files(const NewPlugin& plugin);

// Writes the files into a new or empty folder; after an error there is what was there before.
// throws  Error{kInvalidArgument} if there is a file of that name, or the folder is not empty;
//         Error{kIo} with the system's reason
void write_new_folder(const std::filesystem::path& folder, const std::vector<NewFile>& files);

}  // namespace cli
}  // namespace inlay
