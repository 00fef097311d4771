// What the static checks read of a library: symbols, needs, run paths and flags, all from the file.
//
//   const ElfImage image("/tmp/acme.so");
//   image.exports   // {"inlay_plugin_query"}
//
// source  System V ABI, gABI chapters 4 and 5; x86-64 psABI 1.0, "Program Property"
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace inlay::check {

struct ElfSection {
  std::uint32_t type;
  std::uint64_t flags;
  std::uint64_t size_bytes;
};

struct ElfImage {
  // throws  Error{kNotFound, kIo, kCorrupt}
  explicit ElfImage(const std::filesystem::path& path);

  std::map<std::string, ElfSection> sections;
  std::vector<std::string> exports;       // global symbols that the file defines
  std::vector<std::string> imports;       // global symbols that it wants, weak ones left out
  std::vector<std::string> weak_imports;  // those that may stay unresolved
  std::vector<std::string> needed;        // DT_NEEDED
  std::vector<std::string> run_paths;     // DT_RPATH and DT_RUNPATH, $ORIGIN resolved
  std::string soname;
  bool has_text_relocations = false;
  bool has_executable_stack = false;
  std::uint32_t isa_needed = 0;  // GNU_PROPERTY_X86_ISA_1_NEEDED: bit n for x86-64-v(n+1)
  std::string build_id;
};

// Where the dynamic loader would find a library that `image` needs; nullopt if nowhere.
//   origin  the folder of the library that needs it
std::optional<std::filesystem::path> find_library(const std::string& name,
                                                  const std::vector<std::string>& run_paths);

}  // namespace inlay::check
