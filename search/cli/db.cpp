#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "core/base/file.h"
#include "search/candidates/nearest_names.h"
#include "search/cli/command.h"
#include "search/cli/files.h"
#include "search/cli/printable.h"
#include "search/cli/session.h"
#include "search/cost/database.h"
#include "search/report/count.h"
#include "search/report/table.h"

namespace inlay::cli {
namespace {

using Json = nlohmann::ordered_json;

// What only reads must not make a database by looking for one.
CostDatabase open_existing(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) {
    throw Error(Code::kNotFound,
                fmt::format("{}: there is no such cost database; inlay place makes "
                            "the one that --db or INLAY_DB names",
                            path.string()));
  }
  return CostDatabase(path);
}

// A database of SQLite's begins with this.
// source  https://www.sqlite.org/fileformat.html, section 1.3
constexpr std::string_view kSqliteMagic = "SQLite format 3";

constexpr const char* kHost = "host";  // stands for the rows of no plugin

std::string name_of_plugin(const std::string& plugin) { return plugin.empty() ? kHost : plugin; }

int show_stats(const Common& common) {
  const CostDatabase database = open_existing(database_path(common.database));
  const DatabaseStats stats = database.stats();
  if (common.json) {
    Json json{
        {"path", database.path().string()}, {"rows", stats.rows}, {"size_bytes", stats.size_bytes}};
    json["groups"] = Json::array();
    for (const DatabaseStats::Group& g : stats.groups) {
      json["groups"].push_back({{"plugin", name_of_plugin(g.plugin)},
                                {"kind", measurement_kind_name(g.kind)},
                                {"status", measurement_status_name(g.status)},
                                {"rows", g.rows}});
    }
    fmt::print("{}\n", json_text(json));
    return 0;
  }
  fmt::print("{}: {}, {}\n", database.path().string(), count_of(stats.rows, "row"),
             format_bytes(static_cast<double>(stats.size_bytes)));
  Table table({{"plugin"}, {"kind"}, {"status"}, {"rows", Align::kRight}});
  for (const DatabaseStats::Group& g : stats.groups) {
    table.add({name_of_plugin(g.plugin), measurement_kind_name(g.kind),
               measurement_status_name(g.status), fmt::format("{}", g.rows)});
  }
  if (!table.is_empty()) fmt::print("{}", table.text());
  return 0;
}

// "costs.sqlite: 3 rows removed", or as JSON.
int tell(const Common& common, const std::string& path, std::int64_t rows, const char* what) {
  if (common.json) {
    fmt::print("{}\n", json_text({{"path", path}, {"rows", rows}}));
  } else {
    fmt::print("{}: {} {}\n", path, count_of(rows, "row"), what);
  }
  return 0;
}

int export_database(const Common& common, const std::string& file) {
  refuse_same_file("db export", file, {{database_path(common.database), "the database"}});
  const CostDatabase database = open_existing(database_path(common.database));
  const std::string text = export_text(database);
  if (file == "-") {
    fmt::print("{}", text);
    return 0;
  }
  write_file(file, text);
  return tell(common, file, database.stats().rows, "written");
}

int import_database(const Common& common, const std::string& file) {
  const std::string text = read_text(file);
  if (text.starts_with(kSqliteMagic)) {
    throw Error(Code::kInvalidArgument,
                fmt::format("{}: expected what db export writes, found a database: db merge takes "
                            "over its rows",
                            file));
  }
  CostDatabase database(database_path(common.database));
  return tell(common, database.path(), import_text(database, text, file), "new or replaced");
}

// Opening would make a database of an empty file.
void check_is_database(const std::string& file) {
  if (!std::filesystem::exists(file))
    throw Error(Code::kNotFound, fmt::format("{}: there is no such file", file));
  const MappedFile mapped = map_file(file);
  const std::string_view text(reinterpret_cast<const char*>(mapped.bytes().data()),
                              mapped.bytes().size());
  if (text.starts_with(kSqliteMagic)) return;
  throw Error(Code::kInvalidArgument,
              fmt::format("{}: expected a cost database, found {}", file,
                          text.starts_with('{')
                              ? "text such as db export writes: db import takes over its rows"
                              : "another kind of file"));
}

int merge_database(const Common& common, const std::string& file) {
  refuse_same_file("db merge", file, {{database_path(common.database), "the database"}});
  check_is_database(file);
  const CostDatabase other(file);
  CostDatabase database(database_path(common.database));
  return tell(common, database.path(), database.merge(other), "new or replaced");
}

// A plugin without rows is most likely a mistyped one.
void check_has_rows(const CostDatabase& database, const std::string& plugin) {
  std::vector<std::pair<std::string, std::string>> names;
  for (const DatabaseStats::Group& group : database.stats().groups) {
    const std::string name = name_of_plugin(group.plugin);
    if (name == plugin) return;
    if (names.empty() || names.back().first != name) names.emplace_back(name, "");
  }
  throw Error(
      Code::kNotFound,
      names.empty()
          ? fmt::format("db clear --plugin {}: {} holds no rows", plugin, database.path().string())
          : fmt::format("db clear --plugin {}: {} holds no rows of it; nearest: {} (db stats "
                        "lists all)",
                        plugin, database.path().string(),
                        fmt::join(nearest_names(plugin, names), ", ")));
}

struct ClearFlags {
  std::string plugin;
  bool all = false;
  bool quarantine = false;
};

int clear_database(const Common& common, const ClearFlags& flags) {
  const std::string& plugin = flags.plugin;
  if (!plugin.empty() + flags.all + flags.quarantine != 1) {
    throw Error(Code::kInvalidArgument,
                "db clear: expected one of --plugin NAME, --quarantine and --all");
  }
  CostDatabase database = open_existing(database_path(common.database));
  if (!plugin.empty()) check_has_rows(database, plugin);
  const int removed = flags.all          ? database.clear_all()
                      : flags.quarantine ? database.clear_quarantine()
                                         : database.clear(plugin == kHost ? "" : plugin);
  return tell(common, database.path(), removed, "removed");
}

int verify_database(const Common& common) {
  const CostDatabase database = open_existing(database_path(common.database));
  database.verify();
  return tell(common, database.path(), database.stats().rows, "read, all sound");
}

}  // namespace

void add_db(CLI::App& app, Common& common) {
  CLI::App* command = app.add_subcommand(
      "db", "The cost database: what was measured, kept; each command takes --json");
  command->require_subcommand(1);
  const auto add = [&](const char* name, const char* text, std::function<int()> run) {
    CLI::App* sub = command->add_subcommand(name, text);
    add_database_flag(*sub, common);
    add_json_flag(*sub, common);
    sub->callback([&common, run = std::move(run)] { common.run = run; });
    return sub;
  };
  auto file = std::make_shared<std::string>();
  auto flags = std::make_shared<ClearFlags>();

  add("stats", "Count rows by plugin, kind and status", [&common] { return show_stats(common); });
  add("export", "Write every row as a line of JSON",
      [&common, file] { return export_database(common, *file); })
      ->add_option("file", *file, "File, or - for standard output")
      ->required()
      ->type_name("FILE");
  add("import", "Take over rows from an exported file",
      [&common, file] { return import_database(common, *file); })
      ->add_option("file", *file, "File that db export wrote")
      ->required()
      ->type_name("FILE");
  add("merge", "Take over rows from another database",
      [&common, file] { return merge_database(common, *file); })
      ->add_option("file", *file, "The other database")
      ->required()
      ->type_name("FILE");
  CLI::App* clear =
      add("clear", "Remove rows", [&common, flags] { return clear_database(common, *flags); });
  clear->add_option("--plugin", flags->plugin, "Rows of this plugin; host: what Inlay itself did")
      ->type_name("NAME");
  clear->add_flag("--quarantine", flags->quarantine,
                  "Regions that crashed or hung (inlay doctor shows them): they are tried again");
  clear->add_flag("--all", flags->all, "Every row");
  add("verify", "Check the file for damage", [&common] { return verify_database(common); });
}

}  // namespace inlay::cli
