#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "core/run/worker_client.h"
#include "search/cli/command.h"
#include "search/cli/printable.h"
#include "search/cli/session.h"
#include "search/report/count.h"
#include "search/report/table.h"

namespace inlay::cli {
namespace {

using Json = nlohmann::ordered_json;

struct DeviceRow {
  std::string plugin, device, space, fingerprint, problem;
};

// Opened in the worker first: a plugin that crashes there is a row with a problem.
std::vector<DeviceRow> list_devices(Session& session) {
  constexpr std::chrono::seconds kPatience{20};
  WorkerClient worker({.search_path = session.host_options.search_path,
                       .exclude = session.host_options.exclude,
                       .threads = session.pool.threads()});
  std::vector<DeviceRow> rows;
  for (const PluginRecord& record : session.host.plugins()) {
    if (record.refused) continue;
    DeviceRow row{.plugin = record.manifest.name};
    try {
      const WorkerResult<Opened> opened = worker.open(row.plugin, kPatience);
      if (!std::holds_alternative<Opened>(opened)) {
        throw Error(Code::kPluginFailed, describe_failure(opened));
      }
      const std::shared_ptr<Device> device = session.host.open_device(row.plugin);
      row.device = device->name();
      row.space = device->space();
      row.fingerprint = device->fingerprint();
    } catch (const Error& e) {
      row.problem = e.what();
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

int show_devices(const Common& common) {
  Session session(common);
  const std::vector<DeviceRow> rows = list_devices(session);
  if (common.json) {
    Json json = Json::array();
    for (const DeviceRow& r : rows) {
      Json row{{"plugin", r.plugin},
               {"device", r.device},
               {"space", r.space},
               {"fingerprint", r.fingerprint}};
      if (!r.problem.empty()) row["problem"] = r.problem;
      json.push_back(std::move(row));
    }
    fmt::print("{}\n", json_text(json));
    return 0;
  }
  Table table({{"plugin"}, {"device"}, {"memory space"}, {"fingerprint"}});
  for (const DeviceRow& r : rows) {
    table.add({r.plugin, r.problem.empty() ? r.device : "none", r.space,
               r.problem.empty() ? r.fingerprint : r.problem});
  }
  fmt::print("{}{}\n", table.text(), count_of(session.pool.threads(), "thread"));
  return 0;
}

// What an engine takes, in words; empty for a pattern of another kind.
std::string engine_text(const EngineRule& rule) {
  if (rule.opset == 0) return "";
  std::string text = fmt::format("regions as ONNX models of opset {}", rule.opset);
  if (!rule.allow.empty()) text += fmt::format(", of {}", fmt::join(rule.allow, " "));
  if (!rule.deny.empty()) text += fmt::format(", without {}", fmt::join(rule.deny, " "));
  if (!rule.dtypes.empty()) text += fmt::format(", in {}", fmt::join(rule.dtypes, " "));
  if (rule.max_nodes > 0) text += fmt::format(", of up to {} nodes", rule.max_nodes);
  return text;
}

Json plugin_json(const PluginRecord& record) {
  Json json{{"path", record.path.string()}};
  if (record.refused) {
    json["refused"] = *record.refused;
    return json;
  }
  const Manifest& m = record.manifest;
  json.update({{"name", m.name},
               {"version", m.version},
               {"library", m.library},
               {"build_id", record.build_id},
               {"threads", m.threads}});
  json["abi"] = {m.abi_major, m.abi_minor};
  json["patterns"] = Json::array();
  for (const ManifestPattern& p : m.patterns) {
    json["patterns"].push_back({{"id", p.id},
                                {"match", p.match},
                                {"ops", p.ops},
                                {"any", engine_text(p.any)},
                                {"where", p.where},
                                {"layouts", p.layouts},
                                {"tolerance", p.tolerance}});
  }
  return json;
}

// A pattern after the other, each part on lines of its own that fit a terminal.
void print_patterns(const PluginRecord& record) {
  constexpr std::size_t kWidth = 100;
  constexpr std::size_t kIndent = 15;
  fmt::print("\n{}: {}\n", printable_name(record.manifest.name),
             count_of(std::ssize(record.manifest.patterns), "pattern"));
  for (const ManifestPattern& p : record.manifest.patterns) {
    fmt::print("  {}\n", printable_name(p.id));
    const std::pair<const char*, std::string> rows[] = {
        {"matches", p.match},
        {"any of", fmt::format("{}", fmt::join(p.ops, " "))},
        {"takes", engine_text(p.any)},
        {"where", p.where},
        {"tolerance", p.tolerance}};
    for (const auto& [key, text] : rows) {
      if (!text.empty())
        fmt::print("    {:<9}  {}\n", key, wrapped(printable(text), kWidth, kIndent));
    }
  }
}

int show_plugins(const Common& common, bool with_patterns) {
  Session session(common);
  if (common.json) {
    Json json = Json::array();
    for (const PluginRecord& record : session.host.plugins()) json.push_back(plugin_json(record));
    fmt::print("{}\n", json_text(json));
    return 0;
  }
  Table table(
      {{"plugin"}, {"version"}, {"drives"}, {"patterns", Align::kRight}, {"threads"}, {"file"}});
  for (const PluginRecord& record : session.host.plugins()) {
    const Manifest& m = record.manifest;
    if (record.refused) continue;
    table.add({m.name, m.version, m.library, fmt::format("{}", m.patterns.size()), m.threads,
               record.path.string()});
  }
  fmt::print("{}", table.text());
  for (const PluginRecord& record : session.host.plugins()) {
    if (record.refused) {
      fmt::print("refused {}: {}\n", printable(record.path.string()), printable(*record.refused));
    }
  }
  if (!with_patterns) return 0;
  for (const PluginRecord& record : session.host.plugins()) {
    if (!record.refused) print_patterns(record);
  }
  return 0;
}

}  // namespace

void add_devices(CLI::App& app, Common& common) {
  CLI::App* command =
      app.add_subcommand("devices", "List devices, each with its plugin and memory space");
  add_plugin_flags(*command, common);
  add_threads_flag(*command, common, "all there are");
  add_json_flag(*command, common);
  command->callback([&common] { common.run = [&common] { return show_devices(common); }; });
}

void add_plugins(CLI::App& app, Common& common) {
  CLI::App* command =
      app.add_subcommand("plugins", "List plugins found, and those refused with the reason");
  add_plugin_flags(*command, common);
  add_json_flag(*command, common);
  auto with_patterns = std::make_shared<bool>(false);
  command->add_flag("--patterns", *with_patterns,
                    "Show what each plugin declares it can run (--json always does)");
  command->callback([&common, with_patterns] {
    common.run = [&common, with_patterns] { return show_plugins(common, *with_patterns); };
  });
}

}  // namespace inlay::cli
