// A plugin's manifest: what the library says about itself, read from its ELF file without loading
// or running it.
//
//   const Manifest manifest = read_manifest("/usr/lib/inlay/openblas.so");
//
// JSON in section ".inlay.manifest", written by core/sdk/manifest.h. Keys: abi [major, minor],
// name, version, library, threads, sanitizer, patterns (array of {id, match | ops | any, fuse,
// where, layouts, tolerance, alias, cpu}), cpu, opens. Of an engine's pattern, any is {opset,
// allow, deny, dtypes, max_nodes, max_regions}. A library, a cpu, opens and whatever else a pattern
// leaves out may be missing; unknown keys are a newer minor's and are passed over.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace inlay {

// What an engine takes: any convex region of these nodes, as an ONNX model.
struct EngineRule {
  int opset = 0;                   // of the model; 0: the pattern is no engine's
  std::vector<std::string> allow;  // operators; empty: all that `deny` does not name
  std::vector<std::string> deny;
  std::vector<std::string> dtypes;  // of all that a node reads and writes; empty: any
  int max_nodes = 0;                // of one region; 0: no limit
  int max_regions = 0;              // different ones that the host may propose; 0: its own limit
};

// The strings are as the author wrote them (core/sdk/pattern.h); graphs/pattern parses them.
struct ManifestPattern {
  std::string id;
  std::string match;
  std::string fuse;
  std::vector<std::string> ops;
  EngineRule any;
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
  // Libraries that it opens by name while it runs, or that one it needs opens: what a copy of it
  // must carry beside those that it is linked with.
  std::vector<std::string> opens;
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
