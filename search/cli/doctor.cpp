#include "search/cli/doctor.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "search/cli/printable.h"
#include "search/report/count.h"
#include "search/report/table.h"

namespace inlay::cli {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> texts_of(const std::vector<std::filesystem::path>& paths) {
  std::vector<std::string> texts;
  for (const std::filesystem::path& path : paths) texts.push_back(path.string());
  return texts;
}

Json plugin_json(const PluginDiagnosis& p) {
  Json json{{"name", p.name},
            {"version", p.version},
            {"library", p.library},
            {"path", p.path.string()},
            {"build_id", p.build_id},
            {"threads", p.threads},
            {"state", plugin_state_name(p.state)}};
  if (!p.reason.empty()) json["reason"] = p.reason;
  if (!p.device.empty()) json["device"] = p.device;
  if (!p.fingerprint.empty()) json["fingerprint"] = p.fingerprint;
  json["cpu"] = p.cpu_used;
  json["quarantine"] = Json::array();
  for (const QuarantinedRegion& q : p.quarantine) {
    json["quarantine"].push_back({{"region", q.region}, {"reason", q.reason}, {"when", q.when}});
  }
  return json;
}

Json to_json(const Diagnosis& d) {
  Json json{{"ok", d.problems.empty()}, {"problems", d.problems}};
  json["search_path"] = Json::array();
  for (const SearchEntry& e : d.search_path) {
    Json entry{{"path", e.path.string()}, {"from", e.from}, {"plugin_files", e.files}};
    if (!e.fault.empty()) entry["fault"] = e.fault;
    json["search_path"].push_back(std::move(entry));
  }
  json["plugins"] = Json::array();
  for (const PluginDiagnosis& p : d.plugins) json["plugins"].push_back(plugin_json(p));
  json["left_out"] = d.left_out;
  json["shadowed_libraries"] = Json::array();
  for (const LibraryDiagnosis& l : d.libraries) {
    json["shadowed_libraries"].push_back({{"soname", l.soname},
                                          {"loaded", l.loaded.string()},
                                          {"needed_by", l.needed_by},
                                          {"loaded_too", texts_of(l.also)},
                                          {"passed_by", texts_of(l.passed_by)}});
  }
  json["cpu"] = d.cpu;
  json["threads"] = {
      {"cap", d.threads}, {"available", d.available_threads}, {"processors", d.processors}};
  json["environment"] = Json::array();
  for (const Variable& v : d.environment) {
    json["environment"].push_back({{"name", v.name}, {"value", v.value}, {"meaning", v.meaning}});
  }
  json["database"] = {{"path", d.database}, {"exists", d.database_rows >= 0}};
  if (d.database_rows >= 0) {
    json["database"]["rows"] = d.database_rows;
    json["database"]["size_bytes"] = d.database_bytes;
  }
  if (!d.database_fault.empty()) json["database"]["fault"] = d.database_fault;
  json["worker"] = {{"path", d.worker}};
  if (!d.worker_fault.empty()) json["worker"]["fault"] = d.worker_fault;
  return json;
}

void print_plugins(const Diagnosis& d) {
  Table table({{"plugin"}, {"state"}, {"drives"}, {"device"}, {"threads"}, {"file"}});
  for (const PluginDiagnosis& p : d.plugins) {
    table.add(
        {p.name, plugin_state_name(p.state), p.library, p.device, p.threads, p.path.string()});
  }
  if (!table.is_empty()) fmt::print("plugins\n{}", table.text());
  for (const PluginDiagnosis& p : d.plugins) {
    if (!p.reason.empty()) {
      fmt::print("  {} is {}: {}\n", p.name, plugin_state_name(p.state), printable(p.reason));
    }
    for (const QuarantinedRegion& q : p.quarantine) {
      const auto when = static_cast<std::time_t>(q.when);
      fmt::print("  {} in quarantine since {:%Y-%m-%d}: region {:.16}: {}\n", p.name,
                 fmt::gmtime(when), q.region, printable(q.reason));
    }
  }
  for (const std::string& plugin : d.left_out) {
    fmt::print("  this Inlay was built without {}\n", plugin);
  }
}

void print_libraries(const Diagnosis& d) {
  if (d.libraries.empty()) {
    fmt::print("libraries\n  each is loaded once, and from where its users expect it\n");
    return;
  }
  fmt::print("libraries\n");
  for (const LibraryDiagnosis& l : d.libraries) {
    fmt::print("  {}: loaded from {}\n", l.soname, l.loaded.string());
    for (const auto& path : l.also) fmt::print("    loaded too: {}\n", path.string());
    for (const auto& path : l.passed_by) {
      fmt::print("    shadowed, though needed by {}: {}\n", fmt::join(l.needed_by, ", "),
                 path.string());
    }
  }
}

void print_machine(const Diagnosis& d) {
  std::vector<std::string> here, missing;
  for (const auto& [feature, is_there] : d.cpu) (is_there ? here : missing).push_back(feature);
  fmt::print("CPU features that plugins choose by\n  here: {}\n",
             here.empty() ? "none" : fmt::format("{}", fmt::join(here, " ")));
  if (!missing.empty()) fmt::print("  not here: {}\n", fmt::join(missing, " "));
  fmt::print("threads\n  cap {}; this process may use {}, the machine has {}\n", d.threads,
             d.available_threads, count_of(d.processors, "processor"));
  fmt::print("environment\n");
  if (d.environment.empty()) fmt::print("  nothing set that matters\n");
  for (const Variable& v : d.environment) {
    fmt::print("  {}={}: {}\n", v.name, printable(v.value), v.meaning);
  }
}

void print(const Diagnosis& d) {
  fmt::print("search path\n");
  for (const SearchEntry& e : d.search_path) {
    fmt::print("  {} ({}): {}\n", e.path.string(), e.from,
               e.fault.empty() ? count_of(e.files, "plugin file") : e.fault);
  }
  if (d.search_path.empty()) fmt::print("  empty: no plugins near the program\n");
  for (const std::string& entry : d.ignored_entries) {
    fmt::print("  passed over: '{}': not an absolute path\n", printable(entry));
  }
  print_plugins(d);
  print_libraries(d);
  print_machine(d);
  fmt::print("database\n  {}: {}\n", d.database.empty() ? "none" : d.database,
             !d.database_fault.empty() ? printable(d.database_fault)
             : d.database_rows < 0
                 ? "not there yet; the first placement makes it"
                 : fmt::format("{}, {}, sound", count_of(d.database_rows, "row"),
                               format_bytes(static_cast<double>(d.database_bytes))));
  fmt::print("worker\n  {}: {}\n", d.worker.empty() ? "none" : d.worker,
             d.worker_fault.empty() ? "starts and answers" : printable(d.worker_fault));
  if (d.problems.empty()) {
    fmt::print("all is well\n");
    return;
  }
  fmt::print("{}\n", count_of(std::ssize(d.problems), "problem"));
  for (const std::string& text : d.problems) fmt::print("  {}\n", printable(text));
}

int run_doctor(const Common& common) {
  const Diagnosis d = diagnose(common);
  if (common.json) {
    fmt::print("{}\n", json_text(to_json(d)));
  } else {
    print(d);
  }
  return d.problems.empty() ? 0 : 1;
}

}  // namespace

void add_doctor(CLI::App& app, Common& common) {
  CLI::App* command = app.add_subcommand(
      "doctor",
      "Explain what was found, used, refused, shadowed or put in quarantine, and what of\n"
      "this machine bears on it; exits with 1 if something is wrong");
  add_plugin_flags(*command, common);
  add_threads_flag(*command, common, "all there are");
  add_database_flag(*command, common);
  add_json_flag(*command, common);
  command->callback([&common] { common.run = [&common] { return run_doctor(common); }; });
}

}  // namespace inlay::cli
