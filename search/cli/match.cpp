#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/error.h"
#include "core/base/log.h"
#include "search/candidates/candidates.h"
#include "search/cli/command.h"
#include "search/cli/printable.h"
#include "search/cli/session.h"
#include "search/report/count.h"
#include "search/report/table.h"

namespace inlay::cli {
namespace {

using Json = nlohmann::ordered_json;

// Of each pattern; --json and --near-misses have all.
constexpr std::size_t kMatchesShown = 8;
constexpr std::size_t kReasonsShown = 4;

struct MatchFlags {
  std::string plugin;
  std::string model;
  ImportFlags import;
  bool all_near_misses = false;
};

struct Matched {
  std::vector<NodeId> nodes;
  int layouts = 0;  // variants in which the region can run
};

struct PatternResult {
  std::string id;
  std::vector<Matched> matches;
  std::vector<WhyNot> near_misses;
};

// A file, or the name of a plugin on the search path. Nothing of it is run.
PluginRecord find_plugin(const std::string& plugin, const Session& session) {
  if (const PluginRecord* found = session.host.find(plugin)) return *found;
  if (!std::filesystem::is_regular_file(plugin)) {
    throw Error(Code::kNotFound,
                fmt::format("{}: expected a plugin's file or the name of a plugin (inlay plugins "
                            "lists them), found neither",
                            plugin));
  }
  NullLog log;  // a refusal is told with the matches
  const PluginHost host(log, {.search_path = {plugin}});
  const PluginRecord& record = host.plugins().at(0);
  if (record.manifest.name.empty()) throw Error(Code::kCorrupt, *record.refused);
  return record;
}

std::vector<PatternResult> match_plugin(const Graph& graph, const Manifest& manifest,
                                        const Session& session) {
  std::vector<Manifest> manifests = {manifest};
  const PluginRecord* reference = session.host.find(kReferencePlugin);
  // It runs what the plugin does not: every node has a candidate.
  if (reference != nullptr && manifest.name != kReferencePlugin) {
    manifests.push_back(reference->manifest);
  }
  const Candidates candidates = find_candidates(graph, manifests);
  std::vector<PatternResult> results;
  std::map<std::string, std::size_t> place;
  for (const ManifestPattern& pattern : manifest.patterns) {
    place[pattern.id] = results.size();
    results.push_back({pattern.id, {}, {}});
  }
  for (const Candidate& c : candidates.list) {
    if (c.plugin != manifest.name) continue;
    std::vector<Matched>& matches = results[place.at(c.pattern)].matches;
    const auto same = std::find_if(matches.begin(), matches.end(),
                                   [&](const Matched& m) { return m.nodes == c.nodes; });
    Matched& matched = same != matches.end() ? *same : matches.emplace_back(Matched{c.nodes, 0});
    ++matched.layouts;
  }
  for (const WhyNot& why : candidates.why_not) {
    if (why.plugin == manifest.name) results[place.at(why.pattern)].near_misses.push_back(why);
  }
  return results;
}

std::vector<std::string> names_of(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::vector<std::string> names;
  for (const NodeId node : nodes) names.push_back(graph.node(node).name);
  return names;
}

std::size_t count_covered(const std::vector<PatternResult>& results) {
  std::set<NodeId> covered;
  for (const PatternResult& result : results) {
    for (const Matched& m : result.matches) covered.insert(m.nodes.begin(), m.nodes.end());
  }
  return covered.size();
}

void print_json(const Graph& graph, const PluginRecord& record,
                const std::vector<PatternResult>& results) {
  Json json{{"plugin", record.manifest.name},
            {"path", record.path.string()},
            {"model", graph.name()},
            {"nodes", graph.node_count()},
            {"covered", count_covered(results)}};
  if (record.refused) json["refused"] = *record.refused;
  json["patterns"] = Json::array();
  for (const PatternResult& result : results) {
    Json pattern{{"id", result.id}, {"matches", Json::array()}, {"near_misses", Json::array()}};
    for (const Matched& m : result.matches) {
      pattern["matches"].push_back({{"nodes", names_of(graph, m.nodes)}, {"layouts", m.layouts}});
    }
    for (const WhyNot& why : result.near_misses) {
      pattern["near_misses"].push_back({{"node", graph.node(why.node).name},
                                        {"op", graph.node(why.node).op},
                                        {"reason", why.reason}});
    }
    json["patterns"].push_back(std::move(pattern));
  }
  fmt::print("{}\n", json_text(json));
}

void print_matches(const Graph& graph, const std::vector<PatternResult>& results) {
  for (const PatternResult& result : results) {
    if (result.matches.empty()) continue;
    fmt::print("{} matches\n", result.id);
    for (std::size_t i = 0; i < std::min(result.matches.size(), kMatchesShown); ++i) {
      const Matched& m = result.matches[i];
      fmt::print("  {}{}\n",
                 printable(fmt::format("{}", fmt::join(names_of(graph, m.nodes), ", "))),
                 m.layouts > 1 ? fmt::format("  in {} layouts", m.layouts) : "");
    }
    if (result.matches.size() > kMatchesShown) {
      fmt::print("  and {} more; --json lists all\n", result.matches.size() - kMatchesShown);
    }
  }
}

void print_near_misses(const Graph& graph, const PatternResult& result, bool all) {
  if (result.near_misses.empty()) return;
  fmt::print("{} nearly matches\n", result.id);
  const auto name_of = [&](const WhyNot& why) {
    return fmt::format("{} '{}'", graph.node(why.node).op, printable(graph.node(why.node).name));
  };
  if (all) {
    for (const WhyNot& why : result.near_misses) {
      fmt::print("  {}: {}\n", name_of(why), printable(why.reason));
    }
    return;
  }
  // The constraints that fail most often, each with a node.
  std::map<std::string, std::vector<const WhyNot*>> by_reason;
  for (const WhyNot& why : result.near_misses) {
    by_reason[why.reason.substr(0, why.reason.find(" fails: "))].push_back(&why);
  }
  std::vector<const std::vector<const WhyNot*>*> groups;
  for (const auto& [reason, group] : by_reason) groups.push_back(&group);
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto* a, const auto* b) { return a->size() > b->size(); });
  for (std::size_t i = 0; i < std::min(groups.size(), kReasonsShown); ++i) {
    const WhyNot& first = *groups[i]->front();
    const std::size_t more = groups[i]->size() - 1;
    fmt::print("  {}{}: {}\n", name_of(first), more > 0 ? fmt::format(" and {} more", more) : "",
               printable(first.reason));
  }
  if (groups.size() > kReasonsShown) {
    fmt::print("  and {}; --near-misses lists all\n",
               count_of(static_cast<std::int64_t>(groups.size() - kReasonsShown), "other reason"));
  }
}

int run_match(const Common& common, const MatchFlags& flags) {
  Session session(common);
  const PluginRecord record = find_plugin(flags.plugin, session);
  const Imported imported = import_model(flags.model, flags.import, session);
  const Graph& graph = imported.graph;
  const std::vector<PatternResult> results = match_plugin(graph, record.manifest, session);
  if (common.json) {
    print_json(graph, record, results);
    return 0;
  }
  Table table({{"pattern"}, {"matches", Align::kRight}, {"near misses", Align::kRight}});
  for (const PatternResult& r : results) {
    table.add({r.id, fmt::format("{}", r.matches.size()), fmt::format("{}", r.near_misses.size())});
  }
  fmt::print("{}{} covers {} of {}\n", table.text(), record.manifest.name, count_covered(results),
             count_of(graph.node_count(), "node"));
  if (record.refused) fmt::print("but it is refused here: {}\n", printable(*record.refused));
  print_matches(graph, results);
  for (const PatternResult& r : results) print_near_misses(graph, r, flags.all_near_misses);
  return 0;
}

}  // namespace

void add_match(CLI::App& app, Common& common) {
  CLI::App* command = app.add_subcommand(
      "match", "Show what a plugin matches in a model, and what it nearly does and why not");
  auto flags = std::make_shared<MatchFlags>();
  command->add_option("plugin", flags->plugin, "Plugin file, or the name of a plugin")
      ->required()
      ->type_name("PLUGIN");
  command->add_option("model", flags->model, "ONNX file")->required()->type_name("FILE");
  add_import_flags(*command, flags->import);
  command->add_flag("--near-misses", flags->all_near_misses,
                    "List every near miss (default: the commonest reasons, each with a node)");
  add_json_flag(*command, common);
  command->callback(
      [&common, flags] { common.run = [&common, flags] { return run_match(common, *flags); }; });
}

}  // namespace inlay::cli
