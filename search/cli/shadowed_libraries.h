// Libraries of which a process has another copy than one of its users expects: a process loads one
// library of a SONAME, and the first wins.
//
//   for (const LibraryDiagnosis& l : find_shadowed("/proc/self/maps")) ...
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace inlay::cli {

struct LibraryDiagnosis {
  std::string soname;
  std::filesystem::path loaded;
  std::vector<std::string> needed_by;       // plugins and libraries, by file name
  std::vector<std::filesystem::path> also;  // loaded too, under the same SONAME
  std::vector<std::filesystem::path> passed_by;  // copies of needed_by's that are not used
};

// Of the libraries loaded in a process ("/proc/PID/maps"), those that are there twice, or of which
// one of their users has another copy beside it.
std::vector<LibraryDiagnosis> find_shadowed(const std::filesystem::path& maps);

}  // namespace inlay::cli
