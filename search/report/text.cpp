#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "search/candidates/candidates.h"
#include "search/report/count.h"
#include "search/report/report.h"
#include "search/report/report_text.h"
#include "search/report/table.h"

namespace inlay {

Report printable_texts(const Report& report) {
  constexpr std::size_t kLongest = 400;
  if (report.is_string()) return printable(report.get_ref<const std::string&>(), kLongest);
  if (!report.is_structured()) return report;
  Report shown = report;
  for (Report& item : shown) item = printable_texts(item);
  return shown;
}

std::string join(const Report& array, const char* separator) {
  std::vector<std::string> texts;
  for (const Report& item : array) texts.push_back(item.get<std::string>());
  return fmt::format("{}", fmt::join(texts, separator));
}

const Report& find_contender(const Report& report, const std::string& name) {
  for (const Report& contender : report["contenders"]) {
    if (contender["name"] == name) return contender;
  }
  throw Error(Code::kCorrupt, fmt::format("report: no contender '{}'", name));
}

const Report& find_winner(const Report& report) { return find_contender(report, report["winner"]); }

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

// How far a prediction is from what was measured: predicted / measured - 1.
double residual_of(const Report& contender) {
  return contender["predicted_ns"].get<double>() / contender["measured"]["ns"].get<double>() - 1;
}

// A prediction this far off makes one doubt what it was added up from.
constexpr double kDoubtfulResidual = 0.3;

std::string remeasure_hint(const Report& report) {
  std::string names;
  for (const Report& c : report["contenders"]) {
    if (!c.contains("measured") || std::abs(residual_of(c)) <= kDoubtfulResidual) continue;
    names += (names.empty() ? "" : ", ") + c["name"].get<std::string>();
  }
  if (names.empty()) return "";
  return fmt::format(
      "hint: the prediction of {} is off by more than {:.0f}%: what it adds up may have been\n"
      "measured while the machine was busy. inlay place MODEL --remeasure, with the same flags,\n"
      "measures this model anew.\n",
      names, 100 * kDoubtfulResidual);
}

std::string contender_table(const Report& report, std::size_t width) {
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
      residual = fmt::format("{:+.1f}%", 100 * residual_of(c));
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
  return table.text(width) + not_raced;
}

// "1.5% less", "0.3% more": how a ratio of times differs from 1.
std::string difference(double log_ratio) {
  const double percent = 100 * (std::exp(log_ratio) - 1);
  return fmt::format("{:.1f}% {}", std::abs(percent), percent < 0 ? "less" : "more");
}

// The medians of a race, and where they order the two otherwise than the pairs do, a word on it.
std::string medians_text(const Report& race) {
  if (!race.contains("first_ns")) return "";  // an older report
  const double first = race["first_ns"];
  const double second = race["second_ns"];
  const double log_ratio = race["log_ratio"];
  std::string text = fmt::format("; medians {} and {}", format_ns(first), format_ns(second));
  if ((first - second) * log_ratio < 0) text += ", which order them otherwise: the pairs decide";
  return text;
}

// Where the table's medians, of several races, order two plans otherwise than their own race.
std::string contradiction(const Report& report, const Report& race) {
  const Report& first = find_contender(report, race["first"]);
  const Report& second = find_contender(report, race["second"]);
  if (!first.contains("measured") || !second.contains("measured")) return "";
  const double difference =
      first["measured"]["ns"].get<double>() - second["measured"]["ns"].get<double>();
  const double log_ratio = race["log_ratio"];
  if (difference * log_ratio >= 0) return "";
  return fmt::format(
      "  the table orders {} and {} otherwise, with times of different races: this race decides\n",
      race["first"].get<std::string>(), race["second"].get<std::string>());
}

std::string race_lines(const Report& report) {
  if (report["races"].empty()) return "";
  std::string text =
      "\npaired races decide: two plans run in turn, over and over. The times measured above are "
      "of\n"
      "these races: a loser's of the one that it lost, the winner's of the closest.\n";
  for (const Report& race : report["races"]) {
    const double low = race["log_ratio_low"];
    const double high = race["log_ratio_high"];
    const char* verdict = high < 0  ? "is faster than"
                          : low > 0 ? "is slower than"
                                    : "is not told apart from";
    text += fmt::format(
        "  {} {} {}: {} time (95%: {} to {}), {}{}{}\n", race["first"].get<std::string>(), verdict,
        race["second"].get<std::string>(), difference(race["log_ratio"]), difference(low),
        difference(high), count_of(race["pairs"].get<int>(), "pair"), medians_text(race),
        race["from_database"].get<bool>() ? ", raced earlier" : "");
    text += contradiction(report, race);
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

std::string search_line(const Report& report, const Report& winner) {
  const double predicted = winner["predicted_ns"];
  const double bound = winner["bound_ns"];
  const int untried = report["pricing"]["untried"];
  const std::string stop = winner["stop"] == kIncomplete ? "best" : winner["stop"];
  const std::string among =
      untried == 0
          ? ""
          : fmt::format(" among what was measured ({} of {} untried: place again to go on)",
                        untried, count_of(report["pricing"]["candidates"].get<int>(), "candidate"));
  return fmt::format("search: {}, {}{}, bound {} (gap {:.1f}%), {}\n",
                     winner["strategy"].get<std::string>(), stop, among, format_ns(bound),
                     predicted > 0 ? 100 * (predicted - bound) / predicted : 0.0,
                     count_of(winner["states"].get<std::int64_t>(), "state"));
}

// What engines were offered, and what became of it.
std::string engine_lines(const Report& pricing) {
  std::string text;
  for (const Report& engine : pricing.value("engines", Report::array())) {
    text += fmt::format("{} was offered {}", engine["plugin"].get<std::string>(),
                        count_of(engine["regions"].get<int>(), "different region"));
    const int left_out = engine["left_out"];
    text += left_out == 0 ? "\n" : fmt::format(", {} more are beyond the limit\n", left_out);
  }
  const int hopeless = pricing.value("hopeless", 0);
  if (hopeless > 0) {
    text += fmt::format("{} on which an engine was far slower than others {} not measured\n",
                        count_of(hopeless, "part of a region", "parts of regions"),
                        hopeless == 1 ? "was" : "were");
  }
  return text;
}

std::string pricing_line(const Report& report) {
  const Report& pricing = report["pricing"];
  const auto column = [&](const char* key) { return pricing[key].get<int>(); };
  return fmt::format(
             "{}: {} measured now, {} from the database, {}, {} declined, {} failed, {} untried\n"
             "{} made now (equal candidates share one; checks, layout conversions and dispatch "
             "have "
             "their\n"
             "own); {:.1f} s in all\n",
             count_of(column("candidates"), "candidate"), column("measured"),
             column("from_database"), count_of(column("free"), "free view"), column("declined"),
             column("failed"), column("untried"), count_of(column("measurements"), "measurement"),
             report["seconds"].get<double>()) +
         engine_lines(pricing);
}

}  // namespace

std::string render_summary(const Report& raw, std::size_t width) {
  const Report report = printable_texts(raw);
  const Report& winner = find_winner(report);
  const Report& memory = report["memory"];
  std::string text = fmt::format("{}: {}, {}\n\n", report["model"].get<std::string>(),
                                 count_of(report["nodes_total"].get<int>(), "node"),
                                 count_of(report["threads"].get<int>(), "thread"));
  text += contender_table(report, width) + race_lines(report) + "\n";
  text += plugin_table(report, winner["predicted_ns"]);
  text +=
      fmt::format("  shares are of the plan's predicted {}\n\n", format_ns(winner["predicted_ns"]));
  text += boundary_line(report["boundaries"]);
  text += fmt::format(
      "memory: arena {} (at least {} needed), weights {}\n", format_bytes(memory["arena_bytes"]),
      format_bytes(memory["arena_lower_bound_bytes"]), format_bytes(memory["weight_bytes"]));
  return text + search_line(report, winner) + pricing_line(report) + remeasure_hint(report);
}

std::string render_steps(const Report& raw, std::size_t width) {
  const Report report = printable_texts(raw);
  Table table({{"step", Align::kRight}, {"plugin"}, {"what"}, {"output"}, {"layout"}});
  int index = 0;
  for (const Report& step : report["steps"]) {
    const bool is_run = step["kind"] == "run";
    const std::string what = is_run ? join(step["nodes"], " + ") : step["kind"].get<std::string>();
    table.add({fmt::format("{}", index++), step["plugin"], what, step["output"], step["layout"]});
  }
  return table.text(width);
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
