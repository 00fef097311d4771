#include "search/place.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace inlay {
namespace {

// A single backend predicted this much slower than the best contender is shown as predicted, not
// raced.
constexpr double kHopelessRatio = 3.0;

void check_strategy(const std::string& strategy) {
  const std::vector<std::string>& names = strategy_names();
  if (std::find(names.begin(), names.end(), strategy) == names.end()) {
    throw Error(Code::kInvalidArgument, fmt::format("strategy: expected one of {}, found '{}'",
                                                    fmt::join(names, ", "), strategy));
  }
}

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

// The best placement of each plugin alone, cheapest first; equal costs in order of name.
std::vector<SearchResult> search_singles(const Graph& graph, const Candidates& candidates,
                                         const CostTable& costs, const PluginHost& host,
                                         const PlaceOptions& options,
                                         std::vector<std::string>& names,
                                         std::vector<NotConsidered>& not_considered) {
  std::vector<std::pair<SearchResult, std::string>> singles;
  for (const PluginRecord& record : host.plugins()) {
    if (record.refused) continue;
    const std::string& name = record.manifest.name;
    const bool is_used = std::any_of(candidates.list.begin(), candidates.list.end(),
                                     [&](const Candidate& c) { return c.plugin == name; });
    if (!is_used) {
      const bool is_pinned_away = !options.filter.pins.empty();
      not_considered.push_back({name, is_pinned_away
                                          ? "it has no candidate where the pins allow one"
                                          : "it has no candidate"});
    } else if (auto result = search_single(graph, candidates, costs, name, options.limits)) {
      singles.emplace_back(std::move(*result), name);
    } else {
      not_considered.push_back(
          {name, why_not_alone(graph, candidates, costs, options.filter.pins, name)});
    }
  }
  std::sort(singles.begin(), singles.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first.predicted_ns, a.second) < std::tie(b.first.predicted_ns, b.second);
  });
  std::vector<SearchResult> results;
  for (auto& [result, name] : singles) {
    results.push_back(std::move(result));
    names.push_back(name);
  }
  return results;
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

// Every contender meets the leader in a paired race; the leader changes only where the race shows,
// beyond its interval, that the challenger is faster. So the winner is not slower than any raced
// backend beyond the noise. A plan whose steps ran one by one may still crash or hang as a whole:
// then it is out, with its reason.
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

}  // namespace

const std::vector<std::string>& strategy_names() {
  static const std::vector<std::string> kNames{"single", "dynamic"};
  return kNames;
}

Placed place(const Graph& graph, const PriceContext& context, const PlaceOptions& options) {
  check_strategy(options.strategy);

  Placed placed;
  placed.candidates = find_candidates(graph, context.host, options.filter);
  placed.priced = price(graph, placed.candidates, context);
  const CostTable& costs = placed.priced.costs;

  std::vector<std::string> names;
  std::vector<SearchResult> results = search_singles(graph, placed.candidates, costs, context.host,
                                                     options, names, placed.not_considered);
  if (options.strategy == "dynamic") {
    results.insert(results.begin(),
                   search_dynamic(graph, placed.candidates, costs, options.limits));
    names.insert(names.begin(), "placement");
  }
  if (results.empty()) {
    throw Error(Code::kUnsupported,
                "strategy single: no plugin can run every node, even with the reference's help");
  }

  std::vector<Lowered> lowered;
  for (std::size_t i = 0; i < results.size(); ++i) {
    lowered.push_back(lower(graph, placed.candidates, results[i].placement, costs, context.host));
    placed.contenders.push_back({names[i], std::move(results[i]), lowered.back().plan, {}, {}});
  }
  placed.winner = race_contenders(placed.contenders, lowered, context, placed.heats);
  placed.lowered = std::move(lowered[placed.winner]);
  return placed;
}

}  // namespace inlay
