#include "search/place.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace inlay {
namespace {

void check_strategy(const std::string& strategy) {
  const std::vector<std::string>& names = strategy_names();
  if (std::find(names.begin(), names.end(), strategy) == names.end()) {
    throw Error(Code::kInvalidArgument, fmt::format("strategy: expected one of {}, found '{}'",
                                                    fmt::join(names, ", "), strategy));
  }
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

  std::vector<Lowered> lowered;
  const auto enter = [&](std::string name, SearchResult result) {
    lowered.push_back(lower(graph, placed.candidates, result.placement, costs, context.host));
    placed.contenders.push_back({std::move(name), std::move(result), lowered.back().plan, {}, {}});
  };
  if (options.strategy == "dynamic") {
    enter("placement", search_dynamic(graph, placed.candidates, costs, options.limits));
  }
  for (Single& single : search_singles(graph, placed.candidates, costs, context.host,
                                       options.filter, options.limits, placed.not_considered)) {
    enter(single.plugin, std::move(single.result));
  }
  if (placed.contenders.empty()) {
    throw Error(Code::kUnsupported,
                "strategy single: no plugin can run every node, even with the reference's help");
  }
  placed.winner = race_contenders(placed.contenders, lowered, context, placed.heats);
  placed.lowered = std::move(lowered[placed.winner]);
  return placed;
}

}  // namespace inlay
