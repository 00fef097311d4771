#include "search/cli/shadowed_libraries.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/error.h"
#include "core/base/file.h"
#include "search/cli/dynamic_section.h"

namespace inlay::cli {
namespace {

namespace fs = std::filesystem;

struct Mapped {
  fs::path path;
  DynamicSection section;
  std::string soname;  // or the file's name
};

// proc(5), maps: the path is the sixth field, to the end of the line.
std::set<fs::path> mapped_files(const fs::path& maps) {
  std::set<fs::path> files;
  std::ifstream file(maps);
  for (std::string line; std::getline(file, line);) {
    const std::size_t at = line.find('/');
    if (at == std::string::npos || line.find(".so", at) == std::string::npos) continue;
    std::error_code code;
    if (fs::is_regular_file(line.substr(at), code)) files.insert(line.substr(at));
  }
  return files;
}

std::vector<Mapped> mapped_libraries(const fs::path& maps) {
  std::vector<Mapped> libraries;
  for (const fs::path& path : mapped_files(maps)) {
    try {
      DynamicSection section = read_dynamic_section(map_file(path).bytes(), path.string());
      std::string soname = section.soname.empty() ? path.filename().string() : section.soname;
      libraries.push_back({path, std::move(section), std::move(soname)});
    } catch (const Error&) {  // a mapped file that is no library
    }
  }
  return libraries;
}

// Where a library would find another by its own run paths, or beside it.
std::vector<fs::path> own_copies(const Mapped& library, const std::string& soname) {
  const fs::path folder = library.path.parent_path();
  std::vector<fs::path> folders = {folder};
  for (const std::string& list : library.section.run_paths) {
    for (std::size_t begin = 0; begin <= list.size();) {
      const std::size_t end = std::min(list.find(':', begin), list.size());
      std::string entry = list.substr(begin, end - begin);
      constexpr std::string_view kOrigin = "$ORIGIN";
      if (entry.starts_with(kOrigin)) entry.replace(0, kOrigin.size(), folder.string());
      if (!entry.empty()) folders.emplace_back(entry);
      begin = end + 1;
    }
  }
  std::vector<fs::path> copies;
  for (const fs::path& place : folders) {
    std::error_code code;
    const fs::path copy = fs::canonical(place / soname, code);
    if (!code && std::find(copies.begin(), copies.end(), copy) == copies.end()) {
      copies.push_back(copy);
    }
  }
  return copies;
}

}  // namespace

std::vector<LibraryDiagnosis> find_shadowed(const fs::path& maps) {
  const std::vector<Mapped> mapped = mapped_libraries(maps);
  std::map<std::string, LibraryDiagnosis> by_name;
  for (const Mapped& library : mapped) {
    LibraryDiagnosis& found = by_name[library.soname];
    found.soname = library.soname;
    if (found.loaded.empty()) {
      found.loaded = library.path;
    } else {
      found.also.push_back(library.path);
    }
  }
  for (const Mapped& user : mapped) {
    for (const std::string& soname : user.section.needed) {
      const auto found = by_name.find(soname);
      if (found == by_name.end()) continue;
      LibraryDiagnosis& library = found->second;
      library.needed_by.push_back(user.path.filename().string());
      for (const fs::path& copy : own_copies(user, soname)) {
        std::error_code code;
        if (fs::equivalent(copy, library.loaded, code) || code) continue;
        if (std::find(library.passed_by.begin(), library.passed_by.end(), copy) ==
            library.passed_by.end()) {
          library.passed_by.push_back(copy);
        }
      }
    }
  }
  std::vector<LibraryDiagnosis> told;
  for (auto& [soname, library] : by_name) {
    if (!library.also.empty() || !library.passed_by.empty()) told.push_back(std::move(library));
  }
  return told;
}

}  // namespace inlay::cli
