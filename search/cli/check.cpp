// inlay check: the conformance kit (search/check) at the command line.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "core/base/error.h"
#include "core/run/thread_pool.h"
#include "search/check/supervise.h"
#include "search/cli/command.h"
#include "search/cli/printable.h"
#include "search/cli/session.h"
#include "search/report/table.h"

namespace inlay::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct CheckFlags {
  std::vector<std::string> plugins;
  bool all = false;
  bool list = false;
  std::vector<std::string> only;
  double timeout_s = 60;
};

// Where a command's plugins are looked for by name.
std::vector<fs::path> search_path(const Common& common) {
  std::vector<fs::path> path;
  for (const std::string& with : common.with) path.push_back(fs::absolute(with));
  const std::vector<fs::path> near = default_search_path();
  path.insert(path.end(), near.begin(), near.end());
  return path;
}

// Files of plugins: those given, by file or by name, or all that are found.
std::vector<fs::path> plugin_files(const CheckFlags& flags, const PluginHost& host) {
  std::vector<fs::path> files;
  if (flags.all) {
    for (const PluginRecord& record : host.plugins()) files.push_back(record.path);
  }
  for (const std::string& plugin : flags.plugins) {
    std::error_code code;
    if (fs::is_regular_file(plugin, code)) {
      files.push_back(fs::canonical(plugin));
      continue;
    }
    const PluginRecord* record = host.find(plugin);
    if (record == nullptr) {
      throw Error(Code::kNotFound,
                  fmt::format("{}: expected a plugin's file or the name of a plugin (inlay plugins "
                              "lists them), found neither",
                              plugin));
    }
    files.push_back(record->path);
  }
  return files;
}

std::vector<const check::Check*> chosen_checks(const std::vector<std::string>& only) {
  std::vector<const check::Check*> chosen;
  if (only.empty()) {
    for (const check::Check& each : check::all_checks()) chosen.push_back(&each);
    return chosen;
  }
  for (const std::string& word : only) {
    const check::Check* found = check::find_check(word);
    if (found == nullptr) {
      throw Error(Code::kInvalidArgument,
                  fmt::format("--only {}: expected the number or name of a check, such as 38 or "
                              "guard-pages; --list shows them",
                              word));
    }
    if (std::find(chosen.begin(), chosen.end(), found) == chosen.end()) chosen.push_back(found);
  }
  return chosen;
}

std::string shell_word(const std::string& text) {
  const bool is_plain = std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("/._-+=:,@%").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (is_plain && !text.empty()) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string rerun_command(const fs::path& plugin, const check::Verdict& verdict) {
  return fmt::format("inlay check {} --only {}", shell_word(plugin.string()), verdict.check->id);
}

Json json_of(const fs::path& plugin, const check::Verdict& verdict) {
  const check::Check& check = *verdict.check;
  Json json{{"id", check.id},
            {"name", check.name},
            {"family", name_of(check.family)},
            {"status", name_of(verdict.status)},
            {"ok", verdict.is_ok()},
            {"time_ms", verdict.time.count()}};
  if (!verdict.found.empty()) json["found"] = verdict.found;
  if (!verdict.declared.empty()) json["declared"] = verdict.declared;
  if (verdict.status == check::Status::kSkip) json["declared_skip"] = verdict.is_declared_skip;
  if (!verdict.is_ok()) {
    json["what"] = check.what;
    json["why"] = check.why;
    json["fix"] = check.fix;
    json["rerun"] = rerun_command(plugin, verdict);
  }
  return json;
}

std::string count_of_status(const std::vector<check::Verdict>& verdicts) {
  std::vector<std::string> parts;
  for (const check::Status status :
       {check::Status::kPass, check::Status::kXfail, check::Status::kSkip, check::Status::kFail,
        check::Status::kCrash, check::Status::kHang}) {
    const auto count =
        std::count_if(verdicts.begin(), verdicts.end(),
                      [status](const check::Verdict& verdict) { return verdict.status == status; });
    if (count > 0) parts.push_back(fmt::format("{} {}", count, name_of(status)));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

void print_failure(const fs::path& plugin, const check::Verdict& verdict) {
  constexpr std::size_t kWidth = 100;
  constexpr std::size_t kIndent = 8;
  const check::Check& check = *verdict.check;
  const auto line = [](const char* title, const std::string& text) {
    fmt::print("  {:<6}{}\n", title, wrapped(printable(text), kWidth, kIndent));
  };
  const bool is_skip = verdict.status == check::Status::kSkip;
  fmt::print("\n{} {} {}\n", name_of(verdict.status), check.id, check.name);
  line("what", is_skip ? "skipped, and the plugin does not declare that it does not concern it: " +
                             verdict.found
                       : verdict.found);
  line("asked", fmt::format("a plugin {}", check.what));
  line("why", std::string(check.why));
  line("fix", std::string(check.fix));
  fmt::print("  {:<6}{}\n", "again", rerun_command(plugin, verdict));
}

void print_text(const fs::path& plugin, const std::vector<check::Verdict>& verdicts) {
  Table table({{"check", Align::kRight}, {"name"}, {"family"}, {"result"}, {"", Align::kLeft}});
  constexpr std::size_t kMostNote = 60;
  for (const check::Verdict& verdict : verdicts) {
    std::string note = verdict.is_ok() ? verdict.found : "";
    if (note.size() > kMostNote) note = note.substr(0, kMostNote - 1) + "…";
    table.add({fmt::to_string(verdict.check->id), std::string(verdict.check->name),
               std::string(name_of(verdict.check->family)), std::string(name_of(verdict.status)),
               printable(note)});
  }
  fmt::print("{}\n{}", printable(plugin.string()), table.text());
  for (const check::Verdict& verdict : verdicts) {
    if (!verdict.is_ok()) print_failure(plugin, verdict);
  }
  fmt::print("{}: {}\n", printable(plugin.filename().string()), count_of_status(verdicts));
}

int list_checks(bool as_json) {
  if (as_json) {
    Json json = Json::array();
    for (const check::Check& each : check::all_checks()) {
      json.push_back({{"id", each.id},
                      {"name", each.name},
                      {"family", name_of(each.family)},
                      {"what", each.what},
                      {"why", each.why},
                      {"fix", each.fix}});
    }
    fmt::print("{}\n", json_text(json));
    return 0;
  }
  Table table({{"check", Align::kRight}, {"name"}, {"family"}, {"a plugin that passes"}});
  for (const check::Check& each : check::all_checks()) {
    table.add({fmt::to_string(each.id), std::string(each.name), std::string(name_of(each.family)),
               std::string(each.what)});
  }
  fmt::print("{}", table.text());
  return 0;
}

int run_check(const Common& common, const CheckFlags& flags) {
  if (flags.list) return list_checks(common.json);
  if (flags.plugins.empty() && !flags.all) {
    throw Error(Code::kInvalidArgument,
                "expected a plugin to check, or --all for those on the search path, found neither");
  }
  const std::vector<const check::Check*> checks = chosen_checks(flags.only);
  NullLog log;  // refusals are results
  const PluginHost host(log, {.search_path = search_path(common)});
  check::CheckOptions options;
  if (const PluginRecord* reference = host.find("reference")) options.reference = reference->path;
  options.timeout = std::chrono::milliseconds(std::llround(flags.timeout_s * 1e3));
  options.parallel = common.threads > 0 ? common.threads : 1;
  bool is_all_ok = true;
  Json json = Json::array();
  for (const fs::path& plugin : plugin_files(flags, host)) {
    const std::vector<check::Verdict> verdicts = check::run_checks(plugin, checks, options);
    for (const check::Verdict& verdict : verdicts) is_all_ok = is_all_ok && verdict.is_ok();
    if (!common.json) {
      print_text(plugin, verdicts);
      continue;
    }
    Json list = Json::array();
    for (const check::Verdict& verdict : verdicts) list.push_back(json_of(plugin, verdict));
    const bool is_ok = std::all_of(verdicts.begin(), verdicts.end(),
                                   [](const check::Verdict& verdict) { return verdict.is_ok(); });
    json.push_back({{"plugin", plugin.string()}, {"ok", is_ok}, {"checks", std::move(list)}});
  }
  if (common.json) fmt::print("{}\n", json_text(json));
  return is_all_ok ? 0 : 1;
}

}  // namespace

void add_check(CLI::App& app, Common& common) {
  CLI::App* command = app.add_subcommand(
      "check", "Ask a plugin everything the ABI asks of it, each question in a process of its own");
  auto flags = std::make_shared<CheckFlags>();
  command->add_option("plugins", flags->plugins, "Plugin files, or names of plugins")
      ->type_name("PLUGIN");
  command->add_flag("--all", flags->all, "Check all plugins on the search path");
  command
      ->add_option("--only", flags->only,
                   "Run only these checks, by number or name, comma-separated")
      ->delimiter(',')
      ->type_name("CHECK");
  command->add_flag("--list", flags->list, "List the checks and what each asks, and run none");
  command
      ->add_option("--timeout", flags->timeout_s,
                   "Seconds after which a check counts as hanging (default: 60)")
      ->check(CLI::Validator(check_positive, "", ""))
      ->type_name("S");
  add_threads_flag(*command, common, "one check at a time; more run so many at once");
  command->add_option("--with", common.with, "Further plugins or folders, for names and --all")
      ->type_name("PATH");
  add_json_flag(*command, common);
  command->callback(
      [&common, flags] { common.run = [&common, flags] { return run_check(common, *flags); }; });
}

}  // namespace inlay::cli
