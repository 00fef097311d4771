#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/base/file.h"
#include "search/cli/command.h"
#include "search/cli/printable.h"
#include "search/cost/database.h"
#include "search/report/table.h"

namespace inlay::cli {
namespace {

std::filesystem::path database_path(const Common& common) {
  return common.database.empty() ? default_database_path() : std::filesystem::path(common.database);
}

int show_stats(const Common& common) {
  const CostDatabase database(database_path(common));
  const DatabaseStats stats = database.stats();
  if (common.json) {
    nlohmann::ordered_json json{
        {"path", database.path().string()}, {"rows", stats.rows}, {"size_bytes", stats.size_bytes}};
    json["groups"] = nlohmann::ordered_json::array();
    for (const DatabaseStats::Group& g : stats.groups) {
      json["groups"].push_back({{"plugin", g.plugin},
                                {"kind", measurement_kind_name(g.kind)},
                                {"status", measurement_status_name(g.status)},
                                {"rows", g.rows}});
    }
    fmt::print("{}\n", json_text(json));
    return 0;
  }
  fmt::print("{}: {} rows, {}\n", database.path().string(), stats.rows,
             format_bytes(static_cast<double>(stats.size_bytes)));
  Table table({{"plugin"}, {"kind"}, {"status"}, {"rows", Align::kRight}});
  for (const DatabaseStats::Group& g : stats.groups) {
    table.add({g.plugin.empty() ? "host" : g.plugin, measurement_kind_name(g.kind),
               measurement_status_name(g.status), fmt::format("{}", g.rows)});
  }
  if (!table.is_empty()) fmt::print("{}", table.text());
  return 0;
}

int export_database(const Common& common, const std::string& file) {
  const CostDatabase database(database_path(common));
  const std::string text = export_text(database);
  if (file == "-") {
    fmt::print("{}", text);
  } else {
    write_file(file, text);
    fmt::print("{}: {} rows\n", file, database.stats().rows);
  }
  return 0;
}

int import_database(const Common& common, const std::string& file) {
  CostDatabase database(database_path(common));
  const int taken = import_text(database, read_text(file), file);
  fmt::print("{}: {} rows new or replaced\n", database.path().string(), taken);
  return 0;
}

int merge_database(const Common& common, const std::string& file) {
  if (!std::filesystem::exists(file))
    throw Error(Code::kNotFound, fmt::format("{}: no such file", file));
  CostDatabase database(database_path(common));
  const CostDatabase other(file);
  fmt::print("{}: {} rows new or replaced\n", database.path().string(), database.merge(other));
  return 0;
}

int clear_database(const Common& common, const std::string& plugin, bool all) {
  if (all == !plugin.empty()) {
    throw Error(Code::kInvalidArgument, "db clear: expected one of --plugin NAME and --all");
  }
  CostDatabase database(database_path(common));
  const int removed = all ? database.clear_all() : database.clear(plugin);
  fmt::print("{}: {} rows removed\n", database.path().string(), removed);
  return 0;
}

int verify_database(const Common& common) {
  const CostDatabase database(database_path(common));
  database.verify();
  fmt::print("{}: sound, {} rows\n", database.path().string(), database.stats().rows);
  return 0;
}

}  // namespace

void add_db(CLI::App& app, Common& common) {
  CLI::App* command =
      app.add_subcommand("db", "The cost database: what was measured, kept between runs");
  command->require_subcommand(1);
  const auto add = [&](const char* name, const char* text, std::function<int()> run) {
    CLI::App* sub = command->add_subcommand(name, text);
    add_database_flag(*sub, common);
    sub->callback([&common, run = std::move(run)] { common.run = run; });
    return sub;
  };
  auto file = std::make_shared<std::string>();
  auto plugin = std::make_shared<std::string>();
  auto all = std::make_shared<bool>(false);

  add_json_flag(
      *add("stats", "Rows by plugin, kind and status", [&common] { return show_stats(common); }),
      common);
  add("export", "Write every row as a line of JSON",
      [&common, file] { return export_database(common, *file); })
      ->add_option("file", *file, "File, or - for standard output")
      ->required();
  add("import", "Take over rows from an exported file",
      [&common, file] { return import_database(common, *file); })
      ->add_option("file", *file, "Exported file")
      ->required();
  add("merge", "Take over rows from another database",
      [&common, file] { return merge_database(common, *file); })
      ->add_option("file", *file, "Database")
      ->required();
  CLI::App* clear = add("clear", "Remove rows",
                        [&common, plugin, all] { return clear_database(common, *plugin, *all); });
  clear->add_option("--plugin", *plugin, "Rows of this plugin");
  clear->add_flag("--all", *all, "Every row");
  add("verify", "Check the file for damage", [&common] { return verify_database(common); });
}

}  // namespace inlay::cli
