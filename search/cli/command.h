// The command line: one function per subcommand adds itself to the parser and sets what to run.
// main.cpp calls them in the order in which help lists them.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/base/shape.h"
#include "core/host/plugin_host.h"

namespace inlay::cli {

// What every subcommand shares.
struct Common {
  bool json = false;
  bool verbose = false;
  int threads = 0;                   // 0: all this process may use
  std::string database;              // empty: the default place
  std::vector<std::string> with;     // further plugins or folders of plugins
  std::vector<std::string> exclude;  // plugin names
  std::vector<std::string> isolate;  // plugin names
  std::function<int()> run;          // set by the chosen subcommand; returns the exit status
};

void add_devices(CLI::App& app, Common& common);
void add_plugins(CLI::App& app, Common& common);
void add_zoo(CLI::App& app, Common& common);
void add_import(CLI::App& app, Common& common);
void add_place(CLI::App& app, Common& common);
void add_run(CLI::App& app, Common& common);
void add_explain(CLI::App& app, Common& common);
void add_bundle(CLI::App& app, Common& common);
void add_db(CLI::App& app, Common& common);
void add_new_plugin(CLI::App& app, Common& common);
void add_match(CLI::App& app, Common& common);
void add_check(CLI::App& app, Common& common);
void add_doctor(CLI::App& app, Common& common);

// Flags that several subcommands take.
void add_plugin_flags(CLI::App& command, Common& common);  // --with, --exclude
void add_isolate_flag(CLI::App& command, Common& common);  // --isolate
//   meaning  of its absence: "all there are"
void add_threads_flag(CLI::App& command, Common& common, const char* meaning);  // --threads
void add_json_flag(CLI::App& command, Common& common);                          // --json
void add_database_flag(CLI::App& command, Common& common);                      // --db

// How a model is to be read.
struct ImportFlags {
  std::vector<std::string> shapes;  // as typed
  std::vector<std::string> values;
};
void add_import_flags(CLI::App& command, ImportFlags& flags);  // --shape, --value

// "x=1x3x48x192" → {"x", {1, 3, 48, 192}}; the name may hold '='.
// throws  Error{kInvalidArgument} naming the flag, expected and found
std::map<std::string, Shape> parse_shapes(const std::vector<std::string>& texts);

// "sr=16000" → {"sr", 16000}; true and false are 1 and 0.
// throws  Error{kInvalidArgument} naming the flag, expected and found
std::map<std::string, double> parse_values(const std::vector<std::string>& texts);

// For options that take a finite number above zero: "" or what was expected and found.
std::string check_positive(const std::string& text);

// "conv1=onednn" pairs; the last '=' splits.
std::map<std::string, std::string> parse_pairs(const std::string& flag,
                                               const std::vector<std::string>& texts);

}  // namespace inlay::cli
