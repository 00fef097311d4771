#include <fmt/format.h>

#include <charconv>

#include "core/base/error.h"
#include "graphs/onnx/given_value.h"
#include "search/cli/command.h"

namespace inlay::cli {
namespace {

constexpr int kMaxThreads = 1024;

Shape parse_shape(const std::string& text, const std::string& flag) {
  const auto fail = [&] {
    throw Error(Code::kInvalidArgument,
                fmt::format("--shape {}: expected NAME=1x3x48x192 (or NAME=scalar), found '{}'",
                            flag, text));
  };
  if (text == "scalar") return {};
  Shape shape;
  const char* p = text.data();
  const char* const end = p + text.size();
  for (;;) {
    std::int64_t extent = 0;
    const auto [next, status] = std::from_chars(p, end, extent);
    if (status != std::errc() || extent < 0) fail();
    shape.push_back(extent);
    if (next == end) break;
    if (*next != 'x') fail();
    p = next + 1;
  }
  return shape;
}

std::pair<std::string, std::string> split(const std::string& flag, const std::string& text) {
  const std::size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size()) {
    throw Error(Code::kInvalidArgument,
                fmt::format("{}: expected NAME=VALUE, found '{}'", flag, text));
  }
  return {text.substr(0, at), text.substr(at + 1)};
}

}  // namespace

void add_plugin_flags(CLI::App& command, Common& common) {
  command
      .add_option("--with", common.with,
                  "Plugin file or folder of plugins, searched first; may be repeated")
      ->type_name("PATH")
      ->allow_extra_args(false);
  command.add_option("--exclude", common.exclude, "Leave this plugin out; may be repeated")
      ->type_name("PLUGIN")
      ->allow_extra_args(false);
}

void add_isolate_flag(CLI::App& command, Common& common) {
  command
      .add_option("--isolate", common.isolate,
                  "Run this plugin in a process of its own: what crashes there is one error; may be\n"
                  "repeated")
      ->type_name("PLUGIN")
      ->allow_extra_args(false);
}

void add_threads_flag(CLI::App& command, Common& common, const char* meaning) {
  command
      .add_option("--threads", common.threads,
                  fmt::format("Most threads to use (default: {})", meaning))
      ->type_name("N")
      ->check(CLI::Range(1, kMaxThreads).description(""));
}

void add_import_flags(CLI::App& command, ImportFlags& flags) {
  command
      .add_option("--shape", flags.shapes,
                  "Shape of an input, as x=1x3x48x192; may be repeated (default: the model's)")
      ->type_name("NAME=DIMS")
      ->allow_extra_args(false);
  command
      .add_option("--value", flags.values, "Make an input a constant, as sr=16000; may be repeated")
      ->type_name("NAME=SCALAR")
      ->allow_extra_args(false);
}

void add_json_flag(CLI::App& command, Common& common) {
  command.add_flag("--json", common.json, "Print JSON instead of text");
}

void add_database_flag(CLI::App& command, Common& common) {
  command
      .add_option("--db", common.database,
                  "Cost database (default: $INLAY_DB, else ~/.cache/inlay/costs.sqlite)")
      ->type_name("FILE");
}

std::map<std::string, Shape> parse_shapes(const std::vector<std::string>& texts) {
  std::map<std::string, Shape> shapes;
  for (const std::string& text : texts) {
    const auto [name, shape] = split("--shape", text);
    if (!shapes.emplace(name, parse_shape(shape, text)).second) {
      throw Error(Code::kInvalidArgument, fmt::format("--shape: input '{}' is given twice", name));
    }
  }
  return shapes;
}

std::map<std::string, double> parse_values(const std::vector<std::string>& texts) {
  std::map<std::string, double> values;
  for (const auto& [name, text] : parse_pairs("--value", texts)) {
    values[name] = parse_given(text, "--value " + name);
  }
  return values;
}

std::string check_positive(const std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [next, status] = std::from_chars(text.data(), end, number);
  constexpr double kMost = 1e9;  // of whatever it counts, nobody means more
  if (status == std::errc() && next == end && number > 0 && number <= kMost) return "";
  return fmt::format("expected a number above 0 and up to {:g}, found '{}'", kMost, text);
}

std::map<std::string, std::string> parse_pairs(const std::string& flag,
                                               const std::vector<std::string>& texts) {
  std::map<std::string, std::string> pairs;
  for (const std::string& text : texts) {
    const auto [name, value] = split(flag, text);
    if (!pairs.emplace(name, value).second) {
      throw Error(Code::kInvalidArgument, fmt::format("{}: '{}' is given twice", flag, name));
    }
  }
  return pairs;
}

}  // namespace inlay::cli
