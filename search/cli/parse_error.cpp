#include "search/cli/parse_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "search/candidates/nearest_names.h"

namespace inlay::cli {
namespace {

using Names = std::vector<std::pair<std::string, std::string>>;

constexpr std::size_t kShown = 2;  // of five: the rest is far off

std::string nearest(const std::string& wanted, const Names& names) {
  std::vector<std::string> near = nearest_names(wanted, names);
  near.resize(std::min(near.size(), kShown));
  return fmt::format("{}", fmt::join(near, ", "));
}

Names flags_of(const CLI::App& command) {
  Names names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.emplace_back("--" + name, "");
    for (const std::string& name : option->get_snames()) names.emplace_back("-" + name, "");
  }
  return names;
}

Names commands_of(const CLI::App& command) {
  Names names;
  for (const CLI::App* sub : command.get_subcommands([](const CLI::App*) { return true; })) {
    names.emplace_back(sub->get_name(), "");
  }
  return names;
}

bool has(const Names& names, const std::string& name) {
  return std::any_of(names.begin(), names.end(),
                     [&name](const auto& known) { return known.first == name; });
}

// The flag that an argument names: "--seed" of "--seed=1", "-o" of "-oa.plan".
std::string flag_of(std::string_view argument) {
  constexpr std::size_t kShortFlag = 2;
  return std::string(argument.starts_with("--") ? argument.substr(0, argument.find('='))
                                                : argument.substr(0, kShortFlag));
}

// Follows the arguments through the commands up to the first name that nobody knows.
std::optional<std::string> find_unknown_name(const CLI::App& app, int argc,
                                             const char* const* argv) {
  const CLI::App* command = &app;
  std::string path = app.get_name();
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--") return std::nullopt;
    if (argument.size() > 1 && argument[0] == '-') {
      const std::string flag = flag_of(argument);
      const Names flags = flags_of(*command);
      if (!has(flags, flag)) {
        return fmt::format("{}: no flag '{}'; nearest: {} ({} --help lists all)", path, flag,
                           nearest(flag, flags), path);
      }
      const bool has_value = argument.size() > flag.size();
      if (!has_value && command->get_option(flag)->get_items_expected_min() > 0) ++i;
      continue;
    }
    const Names commands = commands_of(*command);
    if (commands.empty()) continue;  // a file
    if (!has(commands, argument)) {
      return fmt::format("{}: no command '{}'; nearest: {} ({} --help lists all)", path, argument,
                         nearest(argument, commands), path);
    }
    command = command->get_subcommand(argument);
    path += " " + argument;
  }
  return std::nullopt;
}

}  // namespace

std::string explain_parse_error(const CLI::App& app, int argc, const char* const* argv,
                                const CLI::ParseError& error) {
  if (auto unknown = find_unknown_name(app, argc, argv)) return std::move(*unknown);
  return fmt::format("{} (--help lists what there is)", error.what());
}

}  // namespace inlay::cli
