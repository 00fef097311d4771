#include "graphs/ir/boost_view.h"

#include <algorithm>

namespace inlay {
namespace {

std::vector<BoostView::Edge> edges_of(const Graph& graph) {
  std::vector<BoostView::Edge> edges;
  for (std::int32_t i = 0; i < graph.node_count(); ++i) {
    for (const ValueId id : graph.node(NodeId{i}).inputs) {
      if (id.is_none() || graph.value(id).producer == kNoNode) continue;
      edges.push_back({graph.value(id).producer.index, i});
    }
  }
  return edges;
}

// Where each vertex's edges begin among edges sorted by `end`.
std::vector<std::size_t> first_edges(BoostView::Vertex vertex_count,
                                     const std::vector<BoostView::Edge>& edges,
                                     BoostView::Vertex BoostView::Edge::*end) {
  std::vector<std::size_t> first(static_cast<std::size_t>(vertex_count) + 1, 0);
  for (const BoostView::Edge& edge : edges) ++first[static_cast<std::size_t>(edge.*end) + 1];
  for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  return first;
}

}  // namespace

BoostView::BoostView(const Graph& graph) : BoostView(graph.node_count(), edges_of(graph)) {}

BoostView::BoostView(Vertex vertex_count, std::vector<Edge> edges) : by_source_(std::move(edges)) {
  std::sort(by_source_.begin(), by_source_.end());
  by_source_.erase(std::unique(by_source_.begin(), by_source_.end()), by_source_.end());
  by_target_ = by_source_;
  std::stable_sort(by_target_.begin(), by_target_.end(),
                   [](const Edge& a, const Edge& b) { return a.target < b.target; });
  first_out_ = first_edges(vertex_count, by_source_, &Edge::source);
  first_in_ = first_edges(vertex_count, by_target_, &Edge::target);
}

}  // namespace inlay
