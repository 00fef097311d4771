#include <fmt/format.h>

#include "core/base/file.h"
#include "core/plan/plan_text.h"
#include "search/cli/command.h"
#include "search/cli/files.h"
#include "search/cli/printable.h"
#include "search/report/report.h"

namespace inlay::cli {
namespace {

struct ExplainFlags {
  std::string plan;
  std::vector<std::string> nodes;
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
  return report;
}

Report only_nodes(const Report& report, const std::vector<std::string>& names) {
  Report json = Report::array();
  for (const std::string& name : names) {
    render_node(report, name);  // names an unknown node in its error
    for (const Report& node : report["nodes"]) {
      if (node["name"] == name) json.push_back(node);
    }
  }
  return json;
}

int explain(const Common& common, const ExplainFlags& flags) {
  const PlanFiles files = plan_files(flags.plan);
  const Plan plan = parse_plan(read_text(files.plan), files.plan.string());
  const Report report = open_report(files, plan);
  if (common.json) {
    fmt::print("{}\n", json_text(flags.nodes.empty() ? report : only_nodes(report, flags.nodes)));
    return 0;
  }
  if (flags.nodes.empty()) fmt::print("{}", render_summary(report));
  if (flags.steps) fmt::print("\n{}", render_steps(report));
  for (const std::string& node : flags.nodes) fmt::print("{}\n", render_node(report, node));
  return 0;
}

}  // namespace

void add_explain(CLI::App& app, Common& common) {
  CLI::App* command = app.add_subcommand("explain", "Tell why a plan is as it is");
  auto flags = std::make_shared<ExplainFlags>();
  command->add_option("plan", flags->plan, "Plan written by place")->required()->type_name("PLAN");
  command
      ->add_option("--node", flags->nodes,
                   "Which plugins could run this node, at what cost, and why not the others")
      ->type_name("NODE")
      ->allow_extra_args(false);
  command->add_flag("--steps", flags->steps, "List the plan's steps");
  add_json_flag(*command, common);
  command->callback(
      [&common, flags] { common.run = [&common, flags] { return explain(common, *flags); }; });
}

}  // namespace inlay::cli
