#include <fmt/format.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/plan/plan_text.h"
#include "search/cli/command.h"
#include "search/cli/files.h"
#include "search/cli/printable.h"
#include "search/cli/terminal.h"
#include "search/report/report.h"

namespace inlay::cli {
namespace {

struct ExplainFlags {
  std::string plan;
  std::vector<std::string> nodes;
  bool list_nodes = false;
  bool steps = false;
};

Report open_report(const PlanFiles& files, const Plan& plan) {
  const Report report = parse_report(read_text(files.report), files.report.string());
  const std::string found = report.value("model_hash", "");
  if (found != plan.model_hash) {
    throw Error(Code::kStale,
                fmt::format("{}: is of another model than {} (expected {}, found {}): place again",
                            files.report.string(), files.plan.string(), plan.model_hash, found));
  }
  if (report.value("plan_hash", "") != content_hash(plan).hex()) {
    throw Error(Code::kStale,
                fmt::format("{}: is of another plan of this model than {}: place again",
                            files.report.string(), files.plan.string()));
  }
  return report;
}

// What of the report was asked for.
Report select(const Report& report, const ExplainFlags& flags) {
  if (flags.list_nodes) return list_nodes(report);
  if (flags.nodes.empty()) return flags.steps ? report["steps"] : report;
  Report json = Report::array();
  for (const std::string& name : flags.nodes) json.push_back(explain_node(report, name));
  return json;
}

void print_text(const Report& report, const ExplainFlags& flags) {
  const std::size_t width = terminal_width(STDOUT_FILENO);
  if (flags.list_nodes) fmt::print("{}", render_nodes(report, width));
  if (flags.steps) fmt::print("{}", render_steps(report, width));
  bool is_first = true;
  for (const std::string& node : flags.nodes) {
    fmt::print("{}{}", is_first ? "" : "\n", render_node(report, node, width));
    is_first = false;
  }
  if (flags.nodes.empty() && !flags.list_nodes && !flags.steps) {
    fmt::print("{}", render_summary(report, width));
  }
}

int explain(const Common& common, const ExplainFlags& flags) {
  if (int{!flags.nodes.empty()} + int{flags.list_nodes} + int{flags.steps} > 1) {
    throw Error(Code::kInvalidArgument, "explain: expected one of --node, --nodes and --steps");
  }
  const PlanFiles files = plan_files(flags.plan);
  const Plan plan = parse_plan(read_text(files.plan), files.plan.string());
  const Report report = open_report(files, plan);
  if (common.json) {
    fmt::print("{}\n", json_text(select(report, flags)));
  } else {
    print_text(report, flags);
  }
  return 0;
}

}  // namespace

void add_explain(CLI::App& app, Common& common) {
  CLI::App* command = app.add_subcommand("explain", "Tell why a plan is as it is");
  auto flags = std::make_shared<ExplainFlags>();
  command->add_option("plan", flags->plan, "Plan written by inlay place")
      ->required()
      ->type_name("PLAN");
  command
      ->add_option("--node", flags->nodes,
                   "Which plugins could run this node, at what cost, and why not the\n"
                   "others; may be repeated (default: a summary of the plan)")
      ->type_name("NODE")
      ->allow_extra_args(false);
  command->add_flag("--nodes", flags->list_nodes,
                    "List all nodes: operator, plugin, predicted time and share");
  command->add_flag("--steps", flags->steps, "List the plan's steps");
  add_json_flag(*command, common);
  command->callback(
      [&common, flags] { common.run = [&common, flags] { return explain(common, *flags); }; });
}

}  // namespace inlay::cli
