// A directed graph for the Boost Graph Library: models BidirectionalGraph, VertexListGraph and
// EdgeListGraph, so that topological order, strong components, dominators and flow come from there.
// Vertices are 0 … n - 1; made of a Graph they are its node indices, with one edge from a node to
// each node that reads one of its values.
//
//   const BoostView view(graph);
//   std::vector<BoostView::Vertex> order;
//   boost::topological_sort(view, std::back_inserter(order));   // consumers first
//
// It holds the edges twice, 8 bytes each, sorted by source and by target, and not the graph.
#pragma once

#include <boost/graph/graph_traits.hpp>
#include <boost/graph/properties.hpp>
#include <boost/iterator/counting_iterator.hpp>
#include <boost/property_map/property_map.hpp>
#include <compare>
#include <cstdint>
#include <utility>
#include <vector>

#include "graphs/ir/graph.h"

namespace inlay {

class BoostView {
 public:
  using Vertex = std::int32_t;
  struct Edge {
    Vertex source = -1;
    Vertex target = -1;
    auto operator<=>(const Edge&) const = default;
  };

  // What boost::graph_traits reads.
  using vertex_descriptor = Vertex;
  using edge_descriptor = Edge;
  using vertex_iterator = boost::counting_iterator<Vertex>;
  using out_edge_iterator = const Edge*;
  using in_edge_iterator = const Edge*;
  using edge_iterator = const Edge*;
  using adjacency_iterator = void;
  using vertices_size_type = std::size_t;
  using edges_size_type = std::size_t;
  using degree_size_type = std::size_t;
  using directed_category = boost::bidirectional_tag;
  using edge_parallel_category = boost::disallow_parallel_edge_tag;
  struct traversal_category : boost::bidirectional_graph_tag,
                              boost::vertex_list_graph_tag,
                              boost::edge_list_graph_tag {};
  static Vertex null_vertex() { return -1; }

  explicit BoostView(const Graph& graph);
  // Any directed graph; repeated edges count once, edges from a vertex to itself are kept.
  BoostView(Vertex vertex_count, std::vector<Edge> edges);

  Vertex vertex_count() const { return static_cast<Vertex>(first_out_.size()) - 1; }
  const std::vector<Edge>& edges_by_source() const { return by_source_; }

  using EdgeRange = std::pair<const Edge*, const Edge*>;
  EdgeRange out_range(Vertex v) const { return range(by_source_, first_out_, v); }
  EdgeRange in_range(Vertex v) const { return range(by_target_, first_in_, v); }

 private:
  static EdgeRange range(const std::vector<Edge>& edges, const std::vector<std::size_t>& first,
                         Vertex v) {
    const auto i = static_cast<std::size_t>(v);
    return {edges.data() + first[i], edges.data() + first[i + 1]};
  }

  std::vector<Edge> by_source_;
  std::vector<Edge> by_target_;
  std::vector<std::size_t> first_out_;  // vertex → its first edge; one more entry than vertices
  std::vector<std::size_t> first_in_;
};

// The functions that the concepts ask for, found by argument-dependent lookup.
inline auto vertices(const BoostView& g) {
  return std::pair(BoostView::vertex_iterator(0), BoostView::vertex_iterator(g.vertex_count()));
}
inline std::size_t num_vertices(const BoostView& g) {
  return static_cast<std::size_t>(g.vertex_count());
}
inline BoostView::EdgeRange edges(const BoostView& g) {
  const auto& all = g.edges_by_source();
  return {all.data(), all.data() + all.size()};
}
inline std::size_t num_edges(const BoostView& g) { return g.edges_by_source().size(); }
inline BoostView::EdgeRange out_edges(BoostView::Vertex v, const BoostView& g) {
  return g.out_range(v);
}
inline BoostView::EdgeRange in_edges(BoostView::Vertex v, const BoostView& g) {
  return g.in_range(v);
}
inline std::size_t out_degree(BoostView::Vertex v, const BoostView& g) {
  const auto [begin, end] = g.out_range(v);
  return static_cast<std::size_t>(end - begin);
}
inline std::size_t in_degree(BoostView::Vertex v, const BoostView& g) {
  const auto [begin, end] = g.in_range(v);
  return static_cast<std::size_t>(end - begin);
}
inline std::size_t degree(BoostView::Vertex v, const BoostView& g) {
  return out_degree(v, g) + in_degree(v, g);
}
inline BoostView::Vertex source(const BoostView::Edge& e, const BoostView&) { return e.source; }
inline BoostView::Vertex target(const BoostView::Edge& e, const BoostView&) { return e.target; }

using BoostViewIndex = boost::typed_identity_property_map<BoostView::Vertex>;
inline BoostViewIndex get(boost::vertex_index_t, const BoostView&) { return {}; }
inline BoostView::Vertex get(boost::vertex_index_t, const BoostView&, BoostView::Vertex v) {
  return v;
}

}  // namespace inlay

template <>
struct boost::property_map<inlay::BoostView, boost::vertex_index_t> {
  using type = inlay::BoostViewIndex;
  using const_type = inlay::BoostViewIndex;
};
