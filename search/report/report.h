// What a placement came to and why, as JSON (NAME.report.json, `--json`) and as text made from that
// JSON.
//
//   const Report report = make_report(graph, placed, {.threads = 2});
//   std::cout << render_summary(report) << render_node(report, "conv1");
//
// Keys are documented in docs/report.md. Times are nanoseconds, sizes bytes.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include "graphs/ir/graph.h"
#include "search/place.h"

namespace inlay {

using Report = nlohmann::ordered_json;

inline constexpr int kReportVersion = 3;

struct ReportContext {
  int threads = 1;
  double seconds = 0;  // of the whole placing
};

Report make_report(const Graph& graph, const Placed& placed, const ReportContext& context);

// The table that ends `inlay place`: each backend alone, the placement, time by plugin, boundaries,
// memory.
//   width  of the terminal, to which long names are shortened in the middle; 0: none
std::string render_summary(const Report& report, std::size_t width = 0);

// One node: where it runs, every candidate with its cost or the reason it has none, and why the
// others cannot; of a fused region, what the cheapest smaller pieces would cost instead.
// throws  Error{kNotFound} if the report has no node of that name, naming the nearest ones
std::string render_node(const Report& report, const std::string& node, std::size_t width = 0);
// The same as JSON: the report's entry, with "region" where the node runs fused.
Report explain_node(const Report& report, const std::string& node);

// Every node: name, operator, plugin, predicted time, share of what the plan is predicted to take,
// layout conversions and dispatch included.
std::string render_nodes(const Report& report, std::size_t width = 0);
Report list_nodes(const Report& report);

// One line per step of the plan: plugin, nodes, layouts.
std::string render_steps(const Report& report, std::size_t width = 0);

// throws  Error{kCorrupt} if the text is not a report; Error{kStale} if another version wrote it
Report parse_report(const std::string& text, const std::string& source);

}  // namespace inlay
