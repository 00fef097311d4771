#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"
#include "search/strategies/strategy.h"

namespace inlay {
namespace {

constexpr std::int32_t kMaxNodes = 16;

// Covers the lowest uncovered node in every way. Shares nothing with `dynamic`, which it is there
// to check.
class Enumeration {
 public:
  Enumeration(const Graph& graph, const Candidates& candidates, const CostTable& costs)
      : graph_(graph), candidates_(candidates), costs_(costs) {}

  void extend(std::uint32_t covered) {
    const std::uint32_t all = (std::uint32_t{1} << graph_.node_count()) - 1;
    if (covered == all) {
      finish();
      return;
    }
    std::size_t node = 0;
    while ((covered >> node & 1U) != 0) ++node;
    for (const int id : candidates_.by_node[node]) {
      const Candidate& c = candidates_.list[static_cast<std::size_t>(id)];
      const bool is_free = c.plugin == kViewPlugin;
      if (!is_free && !costs_.candidates[static_cast<std::size_t>(id)].cost) continue;
      std::uint32_t nodes = 0;
      for (const NodeId n : c.nodes) nodes |= std::uint32_t{1} << n.index;
      if ((nodes & covered) != 0) continue;
      chosen_.push_back(id);
      extend(covered | nodes);
      chosen_.pop_back();
    }
  }

  SearchResult result() {
    if (!found_) throw Error(Code::kUnsupported, "no placement covers every node");
    best_.strategy = "exhaustive";
    best_.bound_ns = best_.predicted_ns;
    best_.stop = StopReason::kOptimal;
    return best_;
  }

 private:
  void finish() {
    const auto placement = make_placement(graph_, candidates_, chosen_);
    if (!placement) return;
    ++best_.states;
    const double cost = total_cost(graph_, candidates_, costs_, *placement);
    if (found_ && cost >= best_.predicted_ns) return;
    found_ = true;
    best_.predicted_ns = cost;
    best_.placement = *placement;
  }

  const Graph& graph_;
  const Candidates& candidates_;
  const CostTable& costs_;
  std::vector<int> chosen_;
  bool found_ = false;
  SearchResult best_;
};

}  // namespace

SearchResult search_exhaustive(const Graph& graph, const Candidates& candidates,
                               const CostTable& costs) {
  if (graph.node_count() > kMaxNodes) {
    throw Error(Code::kInvalidArgument,
                fmt::format("exhaustive search: the graph has {} nodes, at most {} are possible",
                            graph.node_count(), kMaxNodes));
  }
  Enumeration enumeration(graph, candidates, costs);
  enumeration.extend(0);
  return enumeration.result();
}

}  // namespace inlay
