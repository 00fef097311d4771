// A plan with all that running it takes, in one folder that may be carried elsewhere:
//
//   DIR/run                        runs the plan: DIR/run --seed 1, DIR/run -i in.npz -o out.npz
//   DIR/model.plan, model.weights
//   DIR/plugins/                   the plugins that the plan names
//   DIR/lib/                       every shared library that these need, and those need
//
// Which libraries: all that DT_NEEDED names lead to, from the very files that the loader chose in
// this process, except glibc's own (kGlibcLibraries): a machine has exactly one glibc, which goes
// with its loader and must be at least as new as the one here. Of those that a library opens by name
// while it runs, the ones that a plugin's manifest lists (`opens`). The copies lose their RPATHs; the
// runner's, $ORIGIN/lib, serves all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/host/plugin_host.h"

namespace inlay::cli {

struct BundleRequest {
  std::filesystem::path plan;  // NAME.plan, with NAME.weights beside it
  std::filesystem::path folder;
  std::filesystem::path runner;
};

struct Bundle {
  std::vector<std::string> plugins;
  std::vector<std::string> libraries;
  std::uint64_t size_bytes = 0;
};

// Whole or not at all.
// throws  Error{kInvalidArgument} if the folder exists and is not empty; Error{kNotFound} for a
//         missing plugin or library; Error{kStale} if a plugin is not the plan's build
Bundle write_bundle(const BundleRequest& request, PluginHost& host);

// The runner to copy: inlay-run beside the program (a build), else in ../lib/inlay (an
// installation).
// throws  Error{kNotFound}
std::filesystem::path find_runner();

}  // namespace inlay::cli
