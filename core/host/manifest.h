// A plugin's manifest: what the library says about itself, read from its ELF file without loading
// or running it.
//
//   const Manifest manifest = read_manifest("/usr/lib/inlay/openblas.so");
//
// JSON in section ".inlay.manifest", written by core/sdk/manifest.h. Keys: abi [major, minor],
// name, version, library, threads, sanitizer, patterns (array of {id, match | ops, fuse, where, layouts,
// tolerance, alias, cpu}), cpu. A library, a cpu and whatever else a pattern leaves out may be
// missing; unknown keys are a newer minor's and are passed over.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace inlay {

// The strings are as the author wrote them (core/sdk/pattern.h); graphs/pattern parses them.
struct ManifestPattern {
  std::string id;
  std::string match;
  std::string fuse;
  std::vector<std::string> ops;
  std::string where;
  std::string layouts;
  std::string tolerance;
  std::string alias;
  std::vector<std::string> cpu;
};

struct Manifest {
  int abi_major = 0;
  int abi_minor = 0;
  std::string name;
  std::string version;
  std::string library;
  std::string threads;
  std::string sanitizer;  // "none", "address", "thread"
  std::vector<ManifestPattern> patterns;
  std::vector<std::string> cpu;  // without these the library must not even be loaded
};

// Reads the section with every offset checked against the file's size.
// throws  Error{kNotFound, kIo}; Error{kCorrupt} if it is not an x86-64 ELF shared library, has no
//         manifest, or the manifest is not the JSON above (key, expected, found)
Manifest read_manifest(const std::filesystem::path& path);

// The GNU build id note as hex; empty if there is none.
std::string read_build_id(const std::filesystem::path& path);

// True if this CPU and operating system offer the feature ("avx2", "fma", "avx512f", "avx512_vnni",
// "amx_tile", …). AVX and later also need the OS to save the registers (XCR0). An unknown name is
// false.
bool has_cpu_feature(const std::string& feature);

}  // namespace inlay
