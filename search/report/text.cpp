#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/error.h"
#include "search/report/report.h"
#include "search/report/table.h"

namespace inlay {
namespace {

std::string join(const Report& array, const char* separator) {
  std::vector<std::string> texts;
  for (const Report& item : array) texts.push_back(item.get<std::string>());
  return fmt::format("{}", fmt::join(texts, separator));
}

std::string spread(const Report& cost) {
  const double ns = cost["ns"];
  const double half = (cost["high_ns"].get<double>() - cost["low_ns"].get<double>()) / 2;
  return ns > 0 ? fmt::format("±{:.1f}%", 100 * half / ns) : "";
}

const Report& find_contender(const Report& report, const std::string& name) {
  for (const Report& contender : report["contenders"]) {
    if (contender["name"] == name) return contender;
  }
  throw Error(Code::kCorrupt, fmt::format("report: no contender '{}'", name));
}

std::string contender_table(const Report& report) {
  Table table({{""},
               {"plan"},
               {"predicted", Align::kRight},
               {"measured", Align::kRight},
               {"95%", Align::kRight},
               {"residual", Align::kRight},
               {"steps", Align::kRight},
               {"runs on"}});
  for (const Report& c : report["contenders"]) {
    const bool is_winner = c["name"] == report["winner"];
    std::string measured = "-";
    std::string interval;
    std::string residual;
    if (c.contains("measured")) {
      const double ns = c["measured"]["ns"];
      measured = format_ns(ns);
      interval = spread(c["measured"]);
      residual = fmt::format("{:+.1f}%", 100 * (c["predicted_ns"].get<double>() / ns - 1));
    }
    std::string label = c["name"];
    if (label != "placement") label += " alone";
    const std::string where = c.contains("why_not_raced")
                                  ? fmt::format("{} (not raced: {})", join(c["plugins"], ", "),
                                                c["why_not_raced"].get<std::string>())
                                  : join(c["plugins"], ", ");
    table.add({is_winner ? "*" : "", label, format_ns(c["predicted_ns"]), measured, interval,
               residual, fmt::format("{}", c["steps"].get<int>()), where});
  }
  return table.text();
}

std::string race_lines(const Report& report) {
  std::string text;
  for (const Report& race : report["races"]) {
    const auto percent = [&](const char* key) {
      return 100 * (std::exp(race[key].get<double>()) - 1);
    };
    const double center = percent("log_ratio");
    const double low = percent("log_ratio_low");
    const double high = percent("log_ratio_high");
    const char* verdict = high < 0 ? "is faster" : low > 0 ? "is slower" : "is not told apart";
    text += fmt::format(
        "  {} against {}: {:+.1f}% time, 95% [{:+.1f}%, {:+.1f}%] over {} pairs{}: it {}\n",
        race["first"].get<std::string>(), race["second"].get<std::string>(), center, low, high,
        race["pairs"].get<int>(), race["from_database"].get<bool>() ? " (database)" : "", verdict);
  }
  return text;
}

std::string plugin_table(const Report& report, double total_ns) {
  Table table({{"plugin"},
               {"nodes", Align::kRight},
               {"regions", Align::kRight},
               {"predicted", Align::kRight},
               {"share", Align::kRight}});
  for (const Report& row : report["by_plugin"]) {
    const double ns = row["predicted_ns"];
    table.add({row["plugin"], fmt::format("{}", row["nodes"].get<int>()),
               fmt::format("{}", row["regions"].get<int>()), format_ns(ns),
               total_ns > 0 ? fmt::format("{:.1f}%", 100 * ns / total_ns) : ""});
  }
  const Report& b = report["boundaries"];
  const double boundary_ns = b["conversion_ns"].get<double>() + b["dispatch_ns"].get<double>();
  table.add({"boundaries", "", fmt::format("{}", b["conversions"].get<int>()),
             format_ns(boundary_ns),
             total_ns > 0 ? fmt::format("{:.1f}%", 100 * boundary_ns / total_ns) : ""});
  return table.text();
}

// Nodes whose names share the longest prefix with a wrong one.
std::string nearest_names(const Report& report, const std::string& wanted) {
  std::vector<std::pair<std::size_t, std::string>> scored;
  for (const Report& node : report["nodes"]) {
    const std::string name = node["name"];
    const auto end = std::mismatch(name.begin(), name.end(), wanted.begin(), wanted.end()).first;
    scored.emplace_back(static_cast<std::size_t>(end - name.begin()), name);
  }
  std::stable_sort(scored.begin(), scored.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  constexpr std::size_t kShown = 5;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(kShown, scored.size()); ++i)
    names.push_back(scored[i].second);
  return fmt::format("{}", fmt::join(names, ", "));
}

const Report& find_node(const Report& report, const std::string& name) {
  for (const Report& node : report["nodes"]) {
    if (node["name"] == name) return node;
  }
  throw Error(Code::kNotFound, fmt::format("no node '{}' in the plan; nearest: {}", name,
                                           nearest_names(report, name)));
}

}  // namespace

std::string render_summary(const Report& report) {
  const Report& winner = find_contender(report, report["winner"]);
  const Report& pricing = report["pricing"];
  const Report& memory = report["memory"];
  const Report& boundaries = report["boundaries"];
  std::string text = fmt::format("{}: {} nodes, {} threads\n\n", report["model"].get<std::string>(),
                                 report["nodes_total"].get<int>(), report["threads"].get<int>());
  text += contender_table(report) + race_lines(report) + "\n";
  text += plugin_table(report, winner["predicted_ns"]);
  text += fmt::format(
      "\nboundaries: {} layout conversions ({}), {} copies, {} plugin switches, dispatch {} a "
      "step\n",
      boundaries["conversions"].get<int>(), format_ns(boundaries["conversion_ns"]),
      boundaries["copies"].get<int>(), boundaries["plugin_switches"].get<int>(),
      format_ns(boundaries["dispatch_ns_per_step"]));
  text += fmt::format(
      "memory: arena {} (at least {} needed), weights {}\n", format_bytes(memory["arena_bytes"]),
      format_bytes(memory["arena_lower_bound_bytes"]), format_bytes(memory["weight_bytes"]));
  const double predicted = winner["predicted_ns"];
  const double bound = winner["bound_ns"];
  text += fmt::format("search: {}, {}, bound {} (gap {:.1f}%), {} states\n",
                      winner["strategy"].get<std::string>(), winner["stop"].get<std::string>(),
                      format_ns(bound), predicted > 0 ? 100 * (predicted - bound) / predicted : 0.0,
                      winner["states"].get<std::size_t>());
  text += fmt::format(
      "costs: {} candidates; {} measured now, {} from the database, {} declined, {} failed; {:.1f} "
      "s\n",
      pricing["candidates"].get<int>(), pricing["measured"].get<int>(),
      pricing["from_database"].get<int>(), pricing["declined"].get<int>(),
      pricing["failed"].get<int>(), report["seconds"].get<double>());
  return text;
}

std::string render_node(const Report& report, const std::string& name) {
  const Report& node = find_node(report, name);
  std::string text = fmt::format("{}: {} → {}\n\n", name, node["op"].get<std::string>(),
                                 node["output"].get<std::string>());
  Table table({{""},
               {"plugin"},
               {"pattern"},
               {"nodes", Align::kRight},
               {"layouts"},
               {"time", Align::kRight},
               {"95%", Align::kRight},
               {"why not"}});
  for (const Report& c : node["candidates"]) {
    const bool has_cost = c.contains("cost");
    table.add({c["chosen"].get<bool>() ? "*" : "", c["plugin"], c["pattern"],
               fmt::format("{}", c["nodes"].size()),
               join(c["input_layouts"], ",") + " → " + join(c["output_layouts"], ","),
               has_cost ? format_ns(c["cost"]["ns"]) : "-", has_cost ? spread(c["cost"]) : "",
               has_cost ? "" : c["reason"].get<std::string>()});
  }
  text += table.text();
  std::map<std::string, std::vector<std::string>> others;
  for (const Report& why : node["why_not"]) {
    others[why["plugin"]].push_back(
        fmt::format("{}: {}", why["pattern"].get<std::string>(), why["reason"].get<std::string>()));
  }
  for (const auto& [plugin, reasons] : others) {
    text += fmt::format("\n{} does not take it as\n", plugin);
    for (const std::string& reason : reasons) text += "  " + reason + "\n";
  }
  for (const Report& c : node["candidates"]) {
    if (c["chosen"].get<bool>() && c["nodes"].size() > 1) {
      text += "\nfused with " + join(c["nodes"], ", ") + "\n";
    }
  }
  return text;
}

std::string render_steps(const Report& report) {
  Table table({{"step", Align::kRight}, {"plugin"}, {"what"}, {"output"}, {"layout"}});
  int index = 0;
  for (const Report& step : report["steps"]) {
    const std::string what =
        step["nodes"].empty() ? step["kind"].get<std::string>() : join(step["nodes"], " + ");
    table.add({fmt::format("{}", index++), step["plugin"], what, step["output"], step["layout"]});
  }
  return table.text();
}

Report parse_report(const std::string& text, const std::string& source) {
  Report report = Report::parse(text, nullptr, /*allow_exceptions=*/false);
  if (report.is_discarded() || !report.is_object() || !report.contains("inlay_report")) {
    throw Error(Code::kCorrupt,
                fmt::format("{}: expected a report written by inlay place", source));
  }
  return report;
}

}  // namespace inlay
