// What the dynamic loader reads of a library: whom it needs, and where it looks for them.
//
//   const DynamicSection section = read_dynamic_section(map_file("acme.so").bytes(), "acme.so");
//   for (const std::string& name : section.needed) ...          // "libtbb.so.12"
//
// source  System V ABI, gABI chapter 5, "Dynamic Section"
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inlay::cli {

struct DynamicSection {
  std::vector<std::string> needed;     // in the file's order
  std::string soname;                  // empty: none
  std::vector<std::string> run_paths;  // DT_RPATH and DT_RUNPATH, in the file's order
};

// throws  Error{kCorrupt} unless it is a sound x86-64 ELF file with a dynamic section
DynamicSection read_dynamic_section(std::span<const std::byte> file, const std::string& name);

// The same file without its DT_RPATH and DT_RUNPATH, so that its libraries are looked for along the
// RPATH of the program only. Nothing else moves, the build id stays.
std::vector<std::byte> without_run_path(std::span<const std::byte> file, const std::string& name);

// The same file with its first run path replaced by DT_RPATH `path`, which holds for the libraries
// that its libraries need too, and without any other. Where the file has none, or no room for it
// (a run path is as long as it was linked), it is without_run_path.
std::vector<std::byte> with_run_path(std::span<const std::byte> file, const std::string& name,
                                     std::string_view path);

}  // namespace inlay::cli
