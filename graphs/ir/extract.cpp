#include "graphs/ir/extract.h"

#include <algorithm>
#include <boost/graph/dominator_tree.hpp>
#include <boost/graph/reverse_graph.hpp>
#include <boost/graph/strong_components.hpp>
#include <queue>

#include "graphs/ir/boost_view.h"

namespace inlay {
namespace {

BoostView make_quotient(const Graph& graph, std::span<const int> group_of) {
  const BoostView nodes(graph);
  int count = 0;
  for (const int group : group_of) count = std::max(count, group + 1);
  std::vector<BoostView::Edge> edges;
  for (const BoostView::Edge& edge : nodes.edges_by_source()) {
    const int from = group_of[static_cast<std::size_t>(edge.source)];
    const int to = group_of[static_cast<std::size_t>(edge.target)];
    if (from != to) edges.push_back({from, to});
  }
  return BoostView(count, std::move(edges));
}

}  // namespace

std::optional<NodeId> find_escape(const Graph& graph, std::span<const NodeId> nodes) {
  if (nodes.size() < 2) return std::nullopt;
  const auto [lowest, highest] = std::minmax_element(nodes.begin(), nodes.end());
  const std::int32_t low = lowest->index;
  const std::int32_t high = highest->index;
  enum Mark : char { kUnseen, kMember, kReached };
  std::vector<Mark> marks(static_cast<std::size_t>(high - low) + 1, kUnseen);
  const auto mark = [&](NodeId id) -> Mark& {
    return marks[static_cast<std::size_t>(id.index - low)];
  };
  for (const NodeId id : nodes) mark(id) = kMember;

  std::vector<NodeId> pending;
  // Walks on from a node; true if a node outside the set leads back into it.
  const auto expand = [&](NodeId from) {
    for (const ValueId value : graph.node(from).outputs) {
      if (value.is_none()) continue;
      for (const NodeId to : graph.consumers(value)) {
        if (to.index > high) break;  // consumers ascend
        if (mark(to) == kMember && mark(from) != kMember) return true;
        if (mark(to) != kUnseen) continue;
        mark(to) = kReached;
        pending.push_back(to);
      }
    }
    return false;
  };
  for (const NodeId id : nodes) expand(id);
  while (!pending.empty()) {
    const NodeId from = pending.back();
    pending.pop_back();
    if (expand(from)) return from;
  }
  return std::nullopt;
}

std::vector<std::vector<int>> quotient_cycles(const Graph& graph, std::span<const int> group_of) {
  const BoostView quotient = make_quotient(graph, group_of);
  const std::size_t count = num_vertices(quotient);
  std::vector<int> component_of(count);
  const int components = boost::strong_components(
      quotient,
      boost::make_iterator_property_map(component_of.begin(), get(boost::vertex_index, quotient)));
  std::vector<std::vector<int>> members(static_cast<std::size_t>(components));
  for (std::size_t group = 0; group < count; ++group) {
    members[static_cast<std::size_t>(component_of[group])].push_back(static_cast<int>(group));
  }
  std::erase_if(members, [](const std::vector<int>& m) { return m.size() < 2; });
  std::sort(members.begin(), members.end());
  return members;
}

std::optional<std::vector<int>> quotient_order(const Graph& graph, std::span<const int> group_of) {
  const BoostView quotient = make_quotient(graph, group_of);
  const std::size_t count = num_vertices(quotient);
  std::vector<std::size_t> waiting(count);
  std::vector<std::size_t> first_node(count, group_of.size());
  for (std::size_t i = group_of.size(); i-- > 0;) {
    first_node[static_cast<std::size_t>(group_of[i])] = i;
  }
  using Ready = std::pair<std::size_t, int>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  for (std::size_t group = 0; group < count; ++group) {
    waiting[group] = in_degree(static_cast<int>(group), quotient);
    if (waiting[group] == 0) ready.emplace(first_node[group], static_cast<int>(group));
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int group = ready.top().second;
    ready.pop();
    order.push_back(group);
    const auto [begin, end] = out_edges(group, quotient);
    for (const BoostView::Edge* edge = begin; edge != end; ++edge) {
      const auto to = static_cast<std::size_t>(edge->target);
      if (--waiting[to] == 0) ready.emplace(first_node[to], edge->target);
    }
  }
  if (order.size() != count) return std::nullopt;
  return order;
}

std::vector<NodeId> post_dominators(const Graph& graph) {
  // One more vertex stands for the graph's outputs.
  const std::int32_t sink = graph.node_count();
  std::vector<BoostView::Edge> edges = BoostView(graph).edges_by_source();
  for (const ValueId id : graph.outputs()) {
    if (graph.value(id).producer != kNoNode)
      edges.push_back({graph.value(id).producer.index, sink});
  }
  const BoostView view(sink + 1, std::move(edges));
  const auto reversed = boost::make_reverse_graph(view);
  std::vector<BoostView::Vertex> immediate(static_cast<std::size_t>(sink) + 1,
                                           BoostView::null_vertex());
  boost::lengauer_tarjan_dominator_tree(
      reversed, sink,
      boost::make_iterator_property_map(immediate.begin(), get(boost::vertex_index, view)));
  std::vector<NodeId> result(static_cast<std::size_t>(sink));
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (immediate[i] != sink) result[i] = NodeId{immediate[i]};
  }
  return result;
}

}  // namespace inlay
