// What `inlay doctor` finds out: why each plugin is used or not, and what of this machine and this
// environment bears on it.
//
//   const Diagnosis d = diagnose(common);
//   return d.problems.empty() ? 0 : 1;
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "search/cli/command.h"
#include "search/cli/shadowed_libraries.h"

namespace inlay::cli {

struct SearchEntry {
  std::filesystem::path path;
  std::string from;   // "--with", "INLAY_PLUGIN_PATH", "near the program"
  int files = 0;      // plugin files in it
  std::string fault;  // "does not exist"; empty: none
};

// A region that crashed or hung in the worker and is not tried again with this build.
struct QuarantinedRegion {
  std::string region;  // hash
  std::string reason;
  std::int64_t when = 0;  // seconds since 1970
};

enum class PluginState { kUsed, kIsolated, kPassedOver, kRefused, kFailed };
const char* plugin_state_name(PluginState state);  // "used", "passed over", …

struct PluginDiagnosis {
  std::filesystem::path path;
  std::string name;  // the file's, if it could not be read
  std::string version, library, threads, build_id;
  PluginState state = PluginState::kUsed;
  std::string reason;                 // of the last three states
  std::string device, fingerprint;    // of the first two
  std::vector<std::string> cpu_used;  // features that its patterns choose by
  std::vector<QuarantinedRegion> quarantine;
};

struct Variable {
  std::string name, value, meaning;
};

struct Diagnosis {
  std::vector<SearchEntry> search_path;
  std::vector<std::string> ignored_entries;  // of INLAY_PLUGIN_PATH: not absolute
  std::vector<PluginDiagnosis> plugins;
  std::vector<std::string> left_out;  // plugins that this Inlay was built without, with the reason
  std::vector<LibraryDiagnosis> libraries;  // where there is something to tell
  std::map<std::string, bool> cpu;          // features that a plugin asks for → is there
  int threads = 0, available_threads = 0, processors = 0;
  std::vector<Variable> environment;  // those that matter, where set
  std::string database;               // path
  std::int64_t database_rows = -1;    // -1: none yet
  std::uint64_t database_bytes = 0;
  std::string database_fault;  // empty: sound
  std::string worker;          // path
  std::string worker_fault;
  std::vector<std::string> problems;  // one sentence each: what to do about it included
};

Diagnosis diagnose(const Common& common);

}  // namespace inlay::cli
