#include "graphs/ir/boost_view.h"

#include <gtest/gtest.h>

#include <boost/graph/graph_concepts.hpp>
#include <boost/graph/strong_components.hpp>
#include <boost/graph/topological_sort.hpp>
#include <set>

#include "tests/graphs/ir/random_graph.h"

namespace inlay {
namespace {

BOOST_CONCEPT_ASSERT((boost::BidirectionalGraphConcept<BoostView>));
BOOST_CONCEPT_ASSERT((boost::VertexListGraphConcept<BoostView>));
BOOST_CONCEPT_ASSERT((boost::EdgeListGraphConcept<BoostView>));

TEST(BoostView, TopologicalSortPutsProducersBeforeConsumers) {
  Rng rng(1);
  for (int round = 0; round < 20; ++round) {
    const Graph graph = random_graph(rng, 60);
    const BoostView view(graph);
    std::vector<BoostView::Vertex> order;
    boost::topological_sort(view, std::back_inserter(order));
    std::vector<std::size_t> position(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      position[static_cast<std::size_t>(order[i])] = order.size() - i;
    }
    ASSERT_EQ(order.size(), static_cast<std::size_t>(graph.node_count()));
    const auto [begin, end] = edges(view);
    for (auto edge = begin; edge != end; ++edge) {
      EXPECT_LT(position[static_cast<std::size_t>(edge->source)],
                position[static_cast<std::size_t>(edge->target)]);
    }
  }
}

TEST(BoostView, GraphsHaveOneStrongComponentPerNode) {
  Rng rng(2);
  const Graph graph = random_graph(rng, 80);
  const BoostView view(graph);
  std::vector<int> component(num_vertices(view));
  EXPECT_EQ(boost::strong_components(view, boost::make_iterator_property_map(
                                               component.begin(), get(boost::vertex_index, view))),
            graph.node_count());
}

TEST(BoostView, EdgesAreTheReadsOfTheGraph) {
  Rng rng(3);
  const Graph graph = random_graph(rng, 60);
  const BoostView view(graph);
  std::set<std::pair<int, int>> expected;
  for (int i = 0; i < graph.value_count(); ++i) {
    const NodeId producer = graph.value(ValueId{i}).producer;
    for (const NodeId reader : graph.consumers(ValueId{i})) {
      if (producer != kNoNode) expected.emplace(producer.index, reader.index);
    }
  }
  std::set<std::pair<int, int>> out;
  std::set<std::pair<int, int>> in;
  for (int v = 0; v < graph.node_count(); ++v) {
    for (auto [e, end] = out_edges(v, view); e != end; ++e) out.emplace(e->source, e->target);
    for (auto [e, end] = in_edges(v, view); e != end; ++e) in.emplace(e->source, e->target);
    EXPECT_EQ(degree(v, view), out_degree(v, view) + in_degree(v, view));
  }
  EXPECT_EQ(out, expected);
  EXPECT_EQ(in, expected);
  EXPECT_EQ(num_edges(view), expected.size());
}

TEST(BoostView, CountsRepeatedEdgesOnce) {
  const BoostView view(3, {{0, 1}, {1, 2}, {0, 1}});
  EXPECT_EQ(num_edges(view), 2u);
  EXPECT_EQ(in_degree(1, view), 1u);
}

}  // namespace
}  // namespace inlay
