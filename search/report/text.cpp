#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "core/base/error.h"
#include "search/candidates/candidates.h"
#include "search/report/count.h"
#include "search/report/report.h"
#include "search/report/report_text.h"
#include "search/report/table.h"

namespace inlay {

std::string join(const Report& array, const char* separator) {
  std::vector<std::string> texts;
  for (const Report& item : array) texts.push_back(item.get<std::string>());
  return fmt::format("{}", fmt::join(texts, separator));
}

namespace {

constexpr double kLeastNs = 1;  // pricing sets what comes out below to this

}  // namespace

std::string time_text(double ns) {
  if (ns == 0) return "0";
  return ns > kLeastNs ? format_ns(ns) : "≈0";
}

std::string spread(const Report& cost) {
  const double ns = cost["ns"];
  if (ns <= kLeastNs) return "";
  const double half = (cost["high_ns"].get<double>() - cost["low_ns"].get<double>()) / 2;
  return ns > 0 ? fmt::format("±{:.1f}%", 100 * half / ns) : "";
}

std::string share_of(double ns, double total_ns) {
  return total_ns > 0 ? fmt::format("{:.1f}%", 100 * ns / total_ns) : "";
}

namespace {

constexpr const char* kPlacementName = "placement";

const Report& find_contender(const Report& report, const std::string& name) {
  for (const Report& contender : report["contenders"]) {
    if (contender["name"] == name) return contender;
  }
  throw Error(Code::kCorrupt, fmt::format("report: no contender '{}'", name));
}

// "onednn (+ reference for 3 nodes)": a backend alone has help with what it declines.
std::string label_of(const Report& contender) {
  const std::string name = contender["name"];
  if (name == kPlacementName) return name;
  std::string help;
  for (const auto& [plugin, nodes] : contender["nodes_by_plugin"].items()) {
    if (plugin == name) continue;
    help += fmt::format("{}{} for {}", help.empty() ? "+ " : ", ", plugin,
                        count_of(nodes.get<int>(), "node"));
  }
  return help.empty() ? name : fmt::format("{} ({})", name, help);
}

std::string contender_table(const Report& report) {
  Table table({{""},
               {"plan"},
               {"predicted", Align::kRight},
               {"measured", Align::kRight},
               {"95%", Align::kRight},
               {"off by", Align::kRight},
               {"steps", Align::kRight}});
  std::string not_raced;
  for (const Report& c : report["contenders"]) {
    std::string measured = "-";
    std::string interval;
    std::string residual;
    if (c.contains("measured")) {
      const double ns = c["measured"]["ns"];
      measured = format_ns(ns);
      interval = spread(c["measured"]);
      residual = fmt::format("{:+.1f}%", 100 * (c["predicted_ns"].get<double>() / ns - 1));
    }
    table.add({c["name"] == report["winner"] ? "*" : "", label_of(c), format_ns(c["predicted_ns"]),
               measured, interval, residual, fmt::format("{}", c["steps"].get<int>())});
    if (c.contains("why_not_raced")) {
      not_raced += fmt::format("  {} was not raced: {}\n", c["name"].get<std::string>(),
                               c["why_not_raced"].get<std::string>());
    }
  }
  for (const Report& plugin : report["not_considered"]) {
    not_raced +=
        fmt::format("  {} alone was not considered: {}\n", plugin["plugin"].get<std::string>(),
                    plugin["reason"].get<std::string>());
  }
  return table.text() + not_raced;
}

// "1.5% less", "0.3% more": how a ratio of times differs from 1.
std::string difference(double log_ratio) {
  const double percent = 100 * (std::exp(log_ratio) - 1);
  return fmt::format("{:.1f}% {}", std::abs(percent), percent < 0 ? "less" : "more");
}

std::string race_lines(const Report& report) {
  if (report["races"].empty()) return "";
  std::string text =
      "\npaired races decide: two plans run in turn, over and over. The medians above come from\n"
      "different moments and may order plans otherwise.\n";
  for (const Report& race : report["races"]) {
    const double low = race["log_ratio_low"];
    const double high = race["log_ratio_high"];
    const char* verdict = high < 0  ? "is faster than"
                          : low > 0 ? "is slower than"
                                    : "is not told apart from";
    text +=
        fmt::format("  {} {} {}: {} time (95%: {} to {}), {}{}\n", race["first"].get<std::string>(),
                    verdict, race["second"].get<std::string>(), difference(race["log_ratio"]),
                    difference(low), difference(high), count_of(race["pairs"].get<int>(), "pair"),
                    race["from_database"].get<bool>() ? ", raced earlier" : "");
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
    const bool is_view = row["plugin"] == kViewPlugin;
    table.add({is_view ? "views (no work)" : row["plugin"].get<std::string>(),
               fmt::format("{}", row["nodes"].get<int>()),
               fmt::format("{}", row["regions"].get<int>()), time_text(ns),
               share_of(ns, total_ns)});
  }
  const Report& b = report["boundaries"];
  for (const auto& [label, key] : {std::pair{"layout conversions", "conversion_ns"},
                                   std::pair{"dispatch of steps", "dispatch_ns"}}) {
    table.add({label, "", "", format_ns(b[key]), share_of(b[key], total_ns)});
  }
  return table.text();
}

std::string boundary_line(const Report& b) {
  return fmt::format("boundaries: {} ({}), {}, {}, dispatch {} a step\n",
                     count_of(b["conversions"].get<int>(), "layout conversion"),
                     format_ns(b["conversion_ns"]),
                     count_of(b["copies"].get<int>(), "copy", "copies"),
                     count_of(b["plugin_switches"].get<int>(), "plugin switch", "plugin switches"),
                     format_ns(b["dispatch_ns_per_step"]));
}

// A search is optimal among what has a cost.
std::string search_line(const Report& report, const Report& winner) {
  const double predicted = winner["predicted_ns"];
  const double bound = winner["bound_ns"];
  const int untried = report["pricing"]["untried"];
  const std::string among =
      untried == 0
          ? ""
          : fmt::format(" among what was measured ({} of {} untried: place again to go on)",
                        untried, count_of(report["pricing"]["candidates"].get<int>(), "candidate"));
  return fmt::format("search: {}, {}{}, bound {} (gap {:.1f}%), {}\n",
                     winner["strategy"].get<std::string>(), winner["stop"].get<std::string>(),
                     among, format_ns(bound),
                     predicted > 0 ? 100 * (predicted - bound) / predicted : 0.0,
                     count_of(winner["states"].get<std::int64_t>(), "state"));
}

std::string pricing_line(const Report& report) {
  const Report& pricing = report["pricing"];
  const auto column = [&](const char* key) { return pricing[key].get<int>(); };
  return fmt::format(
      "{}: {} measured now, {} from the database, {}, {} declined, {} failed, {} untried\n"
      "{} made now; {:.1f} s in all\n",
      count_of(column("candidates"), "candidate"), column("measured"), column("from_database"),
      count_of(column("free"), "free view"), column("declined"), column("failed"),
      column("untried"), count_of(column("measurements"), "measurement"),
      report["seconds"].get<double>());
}

}  // namespace

std::string render_summary(const Report& report) {
  const Report& winner = find_contender(report, report["winner"]);
  const Report& memory = report["memory"];
  std::string text = fmt::format("{}: {}, {}\n\n", report["model"].get<std::string>(),
                                 count_of(report["nodes_total"].get<int>(), "node"),
                                 count_of(report["threads"].get<int>(), "thread"));
  text += contender_table(report) + race_lines(report) + "\n";
  text += plugin_table(report, winner["predicted_ns"]) + "\n";
  text += boundary_line(report["boundaries"]);
  text += fmt::format(
      "memory: arena {} (at least {} needed), weights {}\n", format_bytes(memory["arena_bytes"]),
      format_bytes(memory["arena_lower_bound_bytes"]), format_bytes(memory["weight_bytes"]));
  return text + search_line(report, winner) + pricing_line(report);
}

std::string render_steps(const Report& report) {
  Table table({{"step", Align::kRight}, {"plugin"}, {"what"}, {"output"}, {"layout"}});
  int index = 0;
  for (const Report& step : report["steps"]) {
    const bool is_run = step["kind"] == "run";
    const std::string what = is_run ? join(step["nodes"], " + ") : step["kind"].get<std::string>();
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
  if (report["inlay_report"] != kReportVersion) {
    throw Error(Code::kStale, fmt::format("{}: expected a report of version {}, found {}: place "
                                          "again",
                                          source, kReportVersion, report["inlay_report"].dump()));
  }
  return report;
}

}  // namespace inlay
