#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <nlohmann/json.hpp>

#include "graphs/zoo/zoo.h"
#include "search/cli/command.h"
#include "search/cli/printable.h"
#include "search/cli/session.h"
#include "search/report/count.h"
#include "search/report/table.h"

namespace inlay::cli {
namespace {

struct ShowFlags {
  std::string model;
  ImportFlags import;
  bool show_changes = false;
  bool show_graph = false;
};

std::map<std::string, int> count_operators(const Graph& graph) {
  std::map<std::string, int> counts;
  for (const Node& node : graph.nodes()) ++counts[node.op];
  return counts;
}

nlohmann::ordered_json values_json(const Graph& graph, std::span<const ValueId> ids) {
  auto json = nlohmann::ordered_json::array();
  for (const ValueId id : ids) {
    json.push_back({{"name", graph.value(id).name}, {"type", to_string(graph.value(id).type)}});
  }
  return json;
}

void print_json(const Imported& imported) {
  const Graph& graph = imported.graph;
  nlohmann::ordered_json json{{"name", graph.name()},
                              {"opset", imported.opset},
                              {"file_nodes", imported.file_nodes},
                              {"nodes", graph.node_count()},
                              {"inputs", values_json(graph, graph.inputs())},
                              {"outputs", values_json(graph, graph.outputs())},
                              {"parameters", count_parameters(graph)},
                              {"flops", count_flops(graph)},
                              {"operators", count_operators(graph)}};
  json["changes"] = nlohmann::ordered_json::array();
  for (const Rewrite& r : imported.rewrites) {
    json["changes"].push_back(
        {{"kind", r.kind}, {"nodes", r.nodes}, {"changes_rounding", r.changes_rounding}});
  }
  fmt::print("{}\n", json_text(json));
}

// One line for each kind of rewrite.
void print_changes(const Imported& imported) {
  struct Changes {
    int count = 0;
    std::size_t nodes = 0;
    bool changes_rounding = false;
  };
  std::map<std::string, Changes> kinds;
  for (const Rewrite& r : imported.rewrites) {
    Changes& changes = kinds[r.kind];
    ++changes.count;
    changes.nodes += r.nodes.size();
    changes.changes_rounding |= r.changes_rounding;
  }
  if (kinds.empty()) fmt::print("  changes: none\n");
  for (const auto& [kind, changes] : kinds) {
    fmt::print("  change: {}: {}{}{}\n", kind,
               count_of(static_cast<std::int64_t>(changes.nodes), "node"),
               changes.count > 1 ? fmt::format(" in {} places", changes.count) : "",
               changes.changes_rounding ? "; changes rounding" : "");
  }
  if (!kinds.empty()) fmt::print("  --show-changes names the nodes\n");
}

std::vector<std::string> shown_names(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (const std::string& name : names) shown.push_back(printable_name(name));
  return shown;
}

void list_changes(const Imported& imported) {
  for (const Rewrite& r : imported.rewrites) {
    fmt::print("  {}{}: {}\n", r.kind, r.changes_rounding ? " (changes rounding)" : "",
               fmt::join(shown_names(r.nodes), ", "));
  }
  if (imported.rewrites.empty()) fmt::print("  changes: none\n");
}

void print_summary(const Imported& imported, const ShowFlags& flags) {
  const Graph& graph = imported.graph;
  fmt::print("{}: opset {}, {} in the file, {} after import; {:.2f} M parameters, {}\n",
             printable_name(graph.name().empty() ? flags.model : graph.name()), imported.opset,
             count_of(imported.file_nodes, "node"), graph.node_count(),
             static_cast<double>(count_parameters(graph)) / 1e6, format_flops(count_flops(graph)));
  for (const ValueId id : graph.inputs()) {
    fmt::print("  input   {}: {}\n", printable_name(graph.value(id).name),
               to_string(graph.value(id).type));
  }
  for (const ValueId id : graph.outputs()) {
    fmt::print("  output  {}: {}\n", printable_name(graph.value(id).name),
               to_string(graph.value(id).type));
  }
  std::vector<std::string> counts;
  for (const auto& [op, count] : count_operators(graph))
    counts.push_back(fmt::format("{} {}", printable_name(op), count));
  fmt::print("  operators: {}\n", fmt::join(counts, ", "));

  if (flags.show_changes) {
    list_changes(imported);
  } else {
    print_changes(imported);
  }
  if (flags.show_graph) fmt::print("\n{}", graph.to_text());
}

int run_import(const Common& common, const ShowFlags& flags) {
  Session session(common);
  const Imported imported = import_model(flags.model, flags.import, session);
  if (common.json) {
    print_json(imported);
  } else {
    print_summary(imported, flags);
  }
  return 0;
}

}  // namespace

void add_import(CLI::App& app, Common& common) {
  CLI::App* command = app.add_subcommand("import", "Read a model and show what Inlay makes of it");
  auto flags = std::make_shared<ShowFlags>();
  command->add_option("model", flags->model, "ONNX file")->required()->type_name("FILE");
  add_import_flags(*command, flags->import);
  command->add_flag("--show-changes", flags->show_changes,
                    "List every rewrite and the nodes it touched (default: counts only)");
  command->add_flag("--show-graph", flags->show_graph,
                    "Print the canonical graph, a line per node");
  add_plugin_flags(*command, common);
  add_threads_flag(*command, common, "all there are");
  add_json_flag(*command, common);
  command->callback(
      [&common, flags] { common.run = [&common, flags] { return run_import(common, *flags); }; });
}

}  // namespace inlay::cli
