#include "search/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "core/plan/plan_text.h"
#include "search/report/report_text.h"

namespace inlay {
namespace {

Report cost_json(const Cost& cost) {
  return {{"ns", cost.ns},
          {"low_ns", cost.low_ns},
          {"high_ns", cost.high_ns},
          {"samples", cost.samples}};
}

bool is_conversion(const Plan& plan, const PlanStep& step) {
  if (step.kind == StepKind::kConvert) return true;
  if (step.kind != StepKind::kRun) return false;
  const Region& region = plan.regions[static_cast<std::size_t>(step.region)];
  return region.nodes.size() == 1 && region.nodes[0].domain == "inlay" &&
         region.nodes[0].op == "Convert";
}

// Plugins that run a model's nodes; one that only converts layouts between them is not what the
// plan stands on.
std::set<std::string> working_plugins(const Plan& plan) {
  std::set<std::string> names;
  for (const PlanStep& step : plan.steps) {
    if (step.kind == StepKind::kRun && !is_conversion(plan, step)) {
      names.insert(plan.plugins[static_cast<std::size_t>(step.plugin)].name);
    }
  }
  return names;
}

// Nodes by plugin of a placement; those that are views run nowhere.
std::map<std::string, int> count_nodes(const Placed& placed, const std::vector<int>& chosen) {
  std::map<std::string, int> counts;
  for (const int id : chosen) {
    const Candidate& candidate = placed.candidates.list[static_cast<std::size_t>(id)];
    if (candidate.plugin == kViewPlugin) continue;
    counts[candidate.plugin] += static_cast<int>(candidate.nodes.size());
  }
  return counts;
}

// A search is optimal among the candidates that have a cost; with some left untried that is no
// optimum.
const char* stop_name(const Placed& placed, StopReason stop) {
  const bool is_end = stop == StopReason::kOptimal || stop == StopReason::kComplete;
  const auto& costs = placed.priced.costs.candidates;
  const bool is_any_untried = std::any_of(costs.begin(), costs.end(), [](const CandidateCost& c) {
    return c.origin == CostOrigin::kUntried;
  });
  return is_end && is_any_untried ? kIncomplete : stop_reason_name(stop);
}

Report contender_json(const Placed& placed, const Contender& contender) {
  Report json{{"name", contender.name},
              {"strategy", contender.result.strategy},
              {"predicted_ns", contender.result.predicted_ns},
              {"bound_ns", contender.result.bound_ns},
              {"stop", stop_name(placed, contender.result.stop)},
              {"states", contender.result.states},
              {"steps", contender.plan.steps.size()},
              {"plugins", working_plugins(contender.plan)},
              {"nodes_by_plugin", count_nodes(placed, contender.result.placement.candidates)}};
  if (contender.measured) json["measured"] = cost_json(*contender.measured);
  if (!contender.why_not_raced.empty()) json["why_not_raced"] = contender.why_not_raced;
  return json;
}

Report heat_json(const Heat& heat, const std::vector<Contender>& contenders) {
  const RaceResult& r = heat.result;
  return {{"first", contenders[heat.first].name},
          {"second", contenders[heat.second].name},
          {"log_ratio", r.log_ratio},
          {"log_ratio_low", r.log_ratio_low},
          {"log_ratio_high", r.log_ratio_high},
          {"first_ns", r.first.ns},
          {"second_ns", r.second.ns},
          {"pairs", r.pairs},
          {"from_database", r.from_database}};
}

// A refusal without what its reader sees anyhow: the step of the little plan in which the candidate
// was tried ("step 0 (conv1, relu1): "), and the plugin that declines.
std::string short_reason(std::string reason, const std::string& plugin) {
  constexpr std::string_view kStepEnd = "): ";
  const std::size_t step = reason.find("step ");
  const bool is_first = step == 0 || (step != std::string::npos && step >= 2 &&
                                      reason.find(": ") == step - 2);  // after the outcome
  const std::string declines = fmt::format("plugin '{}' declines: ", plugin);
  const std::size_t plugin_at = reason.find(declines);
  if (is_first) {
    // A node's name may hold anything, so the plugin is looked for first.
    const std::size_t end = plugin_at != std::string::npos ? plugin_at : [&] {
      const std::size_t at = reason.find(kStepEnd, step);
      return at == std::string::npos ? step : at + kStepEnd.size();
    }();
    reason.erase(step, end - step);
  }
  if (const std::size_t at = reason.find(declines); at != std::string::npos) {
    reason.erase(at, declines.size());
  }
  return reason;
}

std::vector<std::string> texts(const std::vector<Layout>& layouts) {
  std::vector<std::string> result;
  for (const Layout& layout : layouts) result.push_back(layout.text());
  return result;
}

// Of a candidate's nodes so many are named: an engine's region may be the whole graph, and is
// listed at each of its nodes. More than node_text.cpp puts together from pieces.
constexpr std::size_t kMostListedNodes = 20;

Report candidate_json(const Graph& graph, const Placed& placed, int id, bool is_chosen) {
  const Candidate& candidate = placed.candidates.list[static_cast<std::size_t>(id)];
  const CandidateCost& cost = placed.priced.costs.candidates[static_cast<std::size_t>(id)];
  const std::size_t listed = std::min(candidate.nodes.size(), kMostListedNodes);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < listed; ++i) names.push_back(graph.node(candidate.nodes[i]).name);
  Report json{{"plugin", candidate.plugin},
              {"pattern", candidate.pattern},
              {"nodes", names},
              {"more_nodes", candidate.nodes.size() - listed},
              {"input_layouts", texts(candidate.input_layouts)},
              {"output_layouts", texts(candidate.output_layouts)},
              {"chosen", is_chosen}};
  if (cost.cost) {
    json["cost"] = cost_json(*cost.cost);
    json["most_threads"] = cost.most_threads;
  } else {
    json["reason"] = short_reason(cost.reason, candidate.plugin);
  }
  return json;
}

// Every candidate in exactly one column.
Report pricing_json(const Placed& placed) {
  constexpr const char* kColumns[] = {"measured", "from_database", "free",    "declined",
                                      "failed",   "untried",       "hopeless"};
  std::array<int, std::size(kColumns)> counts{};
  for (const CandidateCost& cost : placed.priced.costs.candidates) {
    ++counts[static_cast<std::size_t>(cost.origin)];
  }
  Report json{{"candidates", placed.candidates.list.size()}};
  for (std::size_t i = 0; i < counts.size(); ++i) json[kColumns[i]] = counts[i];
  json["measurements"] = placed.priced.stats.measured;
  json["seconds"] = placed.priced.stats.seconds;
  json["engines"] = Report::array();
  for (const EngineOffer& engine : placed.candidates.engines) {
    json["engines"].push_back(
        {{"plugin", engine.plugin}, {"regions", engine.offered}, {"left_out", engine.left_out}});
  }
  return json;
}

// Predicted time and node count by plugin over the winner's candidates.
Report by_plugin_json(const Placed& placed, const std::vector<int>& chosen) {
  struct Share {
    int nodes = 0;
    int regions = 0;
    double ns = 0;
  };
  std::map<std::string, Share> shares;
  for (const int id : chosen) {
    const Candidate& candidate = placed.candidates.list[static_cast<std::size_t>(id)];
    const CandidateCost& cost = placed.priced.costs.candidates[static_cast<std::size_t>(id)];
    Share& share = shares[candidate.plugin];
    share.nodes += static_cast<int>(candidate.nodes.size());
    share.regions += 1;
    share.ns += cost.cost ? cost.cost->ns : 0;
  }
  Report json = Report::array();
  for (const auto& [plugin, share] : shares) {
    json.push_back({{"plugin", plugin},
                    {"nodes", share.nodes},
                    {"regions", share.regions},
                    {"predicted_ns", share.ns}});
  }
  return json;
}

Report boundaries_json(const Plan& plan, const CostTable& costs) {
  int conversions = 0;
  int copies = 0;
  int switches = 0;
  double conversion_ns = 0;
  int previous = -1;
  for (const PlanStep& step : plan.steps) {
    if (step.kind == StepKind::kCopy) ++copies;
    if (step.kind == StepKind::kRun && previous >= 0 && previous != step.plugin) ++switches;
    if (step.kind == StepKind::kRun) previous = step.plugin;
    if (!is_conversion(plan, step)) continue;
    ++conversions;
    const PlanValue& from = plan.values[static_cast<std::size_t>(step.inputs[0])];
    const PlanValue& to = plan.values[static_cast<std::size_t>(step.outputs[0])];
    conversion_ns += costs.conversion(from.type, from.layout, to.layout).cost.ns;
  }
  return {{"conversions", conversions},
          {"conversion_ns", conversion_ns},
          {"copies", copies},
          {"plugin_switches", switches},
          {"dispatch_ns_per_step", costs.dispatch_ns},
          {"wake_ns", costs.wake_ns},
          {"dispatch_ns", costs.dispatch_ns * static_cast<double>(plan.steps.size())}};
}

Report steps_json(const Plan& plan) {
  Report json = Report::array();
  for (const PlanStep& step : plan.steps) {
    constexpr const char* kKinds[] = {"run", "layout conversion", "copy"};
    const PlanValue& out = plan.values[static_cast<std::size_t>(step.outputs[0])];
    Report row{
        {"kind", is_conversion(plan, step) ? kKinds[1] : kKinds[static_cast<int>(step.kind)]}};
    row["plugin"] = step.kind == StepKind::kRun
                        ? plan.plugins[static_cast<std::size_t>(step.plugin)].name
                        : "host";
    row["most_threads"] = step.kind == StepKind::kRun
                              ? plan.regions[static_cast<std::size_t>(step.region)].most_threads
                              : 0;
    row["nodes"] = step.nodes;
    row["output"] = to_string(out.type);
    row["layout"] = out.layout.text();
    json.push_back(std::move(row));
  }
  return json;
}

Report nodes_json(const Graph& graph, const Placed& placed, const std::set<int>& chosen) {
  std::vector<Report> why_not(static_cast<std::size_t>(graph.node_count()), Report::array());
  for (const WhyNot& why : placed.candidates.why_not) {
    why_not[static_cast<std::size_t>(why.node.index)].push_back(
        {{"plugin", why.plugin}, {"pattern", why.pattern}, {"reason", why.reason}});
  }
  Report json = Report::array();
  for (std::int32_t n = 0; n < graph.node_count(); ++n) {
    const Node& node = graph.node(NodeId{n});
    Report candidates = Report::array();
    for (const int id : placed.candidates.by_node[static_cast<std::size_t>(n)]) {
      candidates.push_back(candidate_json(graph, placed, id, chosen.contains(id)));
    }
    const TensorType type = node.outputs.empty() || node.outputs[0].is_none()
                                ? TensorType{}
                                : graph.value(node.outputs[0]).type;
    json.push_back({{"name", node.name},
                    {"op", node.op},
                    {"output", to_string(type)},
                    {"candidates", std::move(candidates)},
                    {"why_not", std::move(why_not[static_cast<std::size_t>(n)])}});
  }
  return json;
}

}  // namespace

Report make_report(const Graph& graph, const Placed& placed, const ReportContext& context) {
  const Contender& winner = placed.contenders[placed.winner];
  const Plan& plan = placed.lowered.plan;
  const std::vector<int>& chosen = winner.result.placement.candidates;

  Report contenders = Report::array();
  for (const Contender& contender : placed.contenders)
    contenders.push_back(contender_json(placed, contender));
  Report heats = Report::array();
  for (const Heat& heat : placed.heats) heats.push_back(heat_json(heat, placed.contenders));
  Report not_considered = Report::array();
  for (const NotConsidered& plugin : placed.not_considered) {
    not_considered.push_back({{"plugin", plugin.plugin}, {"reason", plugin.reason}});
  }
  std::uint64_t weight_bytes = 0;
  for (const PlanConstant& constant : plan.constants) weight_bytes += constant.size_bytes;

  return {{"inlay_report", kReportVersion},
          {"model", plan.model},
          {"model_hash", plan.model_hash},
          {"plan_hash", content_hash(plan).hex()},
          {"threads", context.threads},
          {"nodes_total", graph.node_count()},
          {"winner", winner.name},
          {"contenders", std::move(contenders)},
          {"not_considered", std::move(not_considered)},
          {"races", std::move(heats)},
          {"by_plugin", by_plugin_json(placed, chosen)},
          {"boundaries", boundaries_json(plan, placed.priced.costs)},
          {"memory",
           {{"arena_bytes", plan.arena_bytes},
            {"arena_lower_bound_bytes", plan.arena_lower_bound_bytes},
            {"weight_bytes", weight_bytes}}},
          {"pricing", pricing_json(placed)},
          {"seconds", context.seconds},
          {"steps", steps_json(plan)},
          {"nodes", nodes_json(graph, placed, {chosen.begin(), chosen.end()})}};
}

}  // namespace inlay
