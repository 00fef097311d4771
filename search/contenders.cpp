#include "search/contenders.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "core/base/error.h"

namespace inlay {
namespace {

// A single backend predicted this much slower than the best contender is shown as predicted, not
// raced.
constexpr double kHopelessRatio = 3.0;

using Pins = std::map<std::string, std::string>;

// Why a plugin, with the reference's help, cannot run the whole graph.
std::string why_not_alone(const Graph& graph, const Candidates& candidates, const CostTable& costs,
                          const Pins& pins, const std::string& plugin) {
  std::string first;
  int missing = 0;
  int untried = 0;
  int pinned = 0;
  for (std::int32_t n = 0; n < graph.node_count(); ++n) {
    bool is_covered = false;
    bool was_left_out = false;
    for (const int id : candidates.by_node[static_cast<std::size_t>(n)]) {
      const Candidate& c = candidates.list[static_cast<std::size_t>(id)];
      const bool is_help = c.plugin == kReferencePlugin || c.plugin == kViewPlugin;
      if (c.plugin != plugin && !is_help) continue;
      const CandidateCost& cost = costs.candidates[static_cast<std::size_t>(id)];
      is_covered = is_covered || cost.cost.has_value();
      was_left_out = was_left_out || cost.origin == CostOrigin::kUntried;
    }
    if (is_covered) continue;
    if (missing++ == 0) first = graph.node(NodeId{n}).name;
    untried += was_left_out ? 1 : 0;
    const auto pin = pins.find(graph.node(NodeId{n}).name);
    pinned += pin != pins.end() && pin->second != plugin ? 1 : 0;
  }
  if (missing == 0) return "its regions and the reference's do not fit together";
  std::string reason = fmt::format("{} node{} cannot run on it or the reference, the first '{}'",
                                   missing, missing == 1 ? "" : "s", first);
  if (pinned > 0) reason += fmt::format("; {} of them are pinned to other plugins", pinned);
  if (untried > 0) reason += fmt::format("; {} of them were not tried", untried);
  return reason;
}

// What a plan does wrong when it runs alone; "" if it runs.
std::string find_fault(const Lowered& plan, const PriceContext& context) {
  try {
    race(plan, plan, context);
    return {};
  } catch (const Error& error) {  // the trial run of a candidate
    if (error.code() != Code::kPluginFailed) throw;
    return error.what();
  }
}

// Everybody's time is from the race that decided about it: a loser's from the one that it lost, the
// winner's from that against its closest rival.
void take_medians(std::vector<Contender>& contenders, const std::vector<Heat>& heats,
                  std::size_t winner) {
  const Heat* closest = nullptr;
  for (const Heat& heat : heats) {
    const bool is_winners = heat.first == winner || heat.second == winner;
    if (heat.first != winner) contenders[heat.first].measured = heat.result.first;
    if (heat.second != winner) contenders[heat.second].measured = heat.result.second;
    if (is_winners && (closest == nullptr ||
                       std::abs(heat.result.log_ratio) < std::abs(closest->result.log_ratio))) {
      closest = &heat;
    }
  }
  if (closest == nullptr) return;
  contenders[winner].measured =
      closest->first == winner ? closest->result.first : closest->result.second;
}

}  // namespace

std::vector<Single> search_singles(const Graph& graph, const Candidates& candidates,
                                   const CostTable& costs, const PluginHost& host,
                                   const CandidateFilter& filter, const SearchLimits& limits,
                                   std::vector<NotConsidered>& not_considered) {
  std::vector<Single> singles;
  for (const PluginRecord& record : host.plugins()) {
    if (record.refused) continue;
    const std::string& name = record.manifest.name;
    const bool is_used = std::any_of(candidates.list.begin(), candidates.list.end(),
                                     [&](const Candidate& c) { return c.plugin == name; });
    if (!is_used) {
      const bool is_pinned_away = !filter.pins.empty();
      not_considered.push_back({name, is_pinned_away
                                          ? "it has no candidate where the pins allow one"
                                          : "it has no candidate"});
    } else if (auto result = search_single(graph, candidates, costs, name, limits)) {
      singles.push_back({name, std::move(*result)});
    } else {
      not_considered.push_back({name, why_not_alone(graph, candidates, costs, filter.pins, name)});
    }
  }
  std::sort(singles.begin(), singles.end(), [](const Single& a, const Single& b) {
    return std::tie(a.result.predicted_ns, a.plugin) < std::tie(b.result.predicted_ns, b.plugin);
  });
  return singles;
}

std::size_t race_contenders(std::vector<Contender>& contenders, const std::vector<Lowered>& lowered,
                            const PriceContext& context, std::vector<Heat>& heats) {
  double best_ns = contenders.front().result.predicted_ns;
  for (const Contender& c : contenders) best_ns = std::min(best_ns, c.result.predicted_ns);

  std::size_t leader = 0;
  for (std::size_t i = 1; i < contenders.size(); ++i) {
    Contender& challenger = contenders[i];
    const double ratio = challenger.result.predicted_ns / best_ns;
    if (ratio > kHopelessRatio) {
      challenger.why_not_raced = fmt::format("predicted {:.1f} times slower", ratio);
      continue;
    }
    if (challenger.plan == contenders[leader].plan) {
      challenger.why_not_raced = fmt::format("the same plan as {}", contenders[leader].name);
      continue;
    }
    RaceResult result;
    try {
      result = race(lowered[leader], lowered[i], context);
    } catch (const Error& error) {
      if (error.code() != Code::kPluginFailed) throw;
      challenger.why_not_raced = find_fault(lowered[i], context);
      if (!challenger.why_not_raced.empty()) continue;
      contenders[leader].why_not_raced = find_fault(lowered[leader], context);
      if (contenders[leader].why_not_raced.empty()) {
        challenger.why_not_raced = error.what();  // only the two together
      } else {
        leader = i;
      }
      continue;
    }
    heats.push_back({leader, i, result});
    if (result.log_ratio_low > 0) leader = i;
  }
  take_medians(contenders, heats, leader);
  // Nobody ran against it; its prediction is to be confirmed all the same.
  Contender& winner = contenders[leader];
  if (!winner.measured) {
    try {
      winner.measured = race(lowered[leader], lowered[leader], context).first;
    } catch (const Error& error) {
      if (error.code() != Code::kPluginFailed) throw;
      winner.why_not_raced = fmt::format("two of it at once fail: {}", error.what());
    }
  }
  return leader;
}

}  // namespace inlay
