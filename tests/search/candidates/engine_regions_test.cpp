#include "search/candidates/engine_regions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/base/hash.h"
#include "core/base/rng.h"
#include "graphs/ir/extract.h"
#include "graphs/zoo/zoo.h"
#include "search/candidates/candidates.h"

namespace inlay {
namespace {

using Nodes = std::vector<NodeId>;

TensorType f32(Shape shape) { return {DType::kF32, std::move(shape)}; }

// Every node reads one or two of all values made so far, the latest more often.
Graph random_graph(std::uint64_t seed, int nodes) {
  Rng rng(seed);
  GraphBuilder b("random");
  std::vector<ValueId> values{b.input("x", f32({4, 4})), b.input("y", f32({4, 4}))};
  const auto pick = [&] {
    const std::size_t window =
        rng.below(3) == 0 ? values.size() : std::min<std::size_t>(3, values.size());
    return values[values.size() - 1 - rng.below(window)];
  };
  for (int n = 0; n < nodes; ++n) {
    const std::string name = "n" + std::to_string(n);
    switch (rng.below(3)) {
      case 0:
        values.push_back(b.node(name, "Relu", {pick()}));
        break;
      case 1:
        values.push_back(b.node(name, "Add", {pick(), pick()}));
        break;
      default:
        values.push_back(b.node(name, "MatMul", {pick(), pick()}));
    }
  }
  b.output(values.back());
  b.output(values[values.size() / 2]);
  return b.build();
}

// x → [MatMul → Relu → Add of the block's input] `blocks` times, each block with weights of its
// own.
Graph residual_net(int blocks) {
  GraphBuilder b("residual");
  ValueId x = b.input("x", f32({8, 64}));
  for (int i = 0; i < blocks; ++i) {
    const std::string n = std::to_string(i);
    const ValueId w = b.constant("w" + n, Tensor::zeros(f32({64, 64})));
    const ValueId m = b.node("mm" + n, "MatMul", {x, w});
    x = b.node("add" + n, "Add", {b.node("relu" + n, "Relu", {m}), x});
  }
  b.output(x);
  return b.build();
}

Hash signature_of(const Graph& graph, const Nodes& nodes) {
  Candidate c;
  c.nodes = nodes;
  const Boundary boundary = find_boundary(graph, nodes);
  c.inputs = boundary.inputs;
  c.outputs = boundary.outputs;
  const auto dense = [&](ValueId id) {
    return Layout::dense(static_cast<int>(graph.value(id).type.shape.size()));
  };
  for (const ValueId id : c.inputs) c.input_layouts.push_back(dense(id));
  for (const ValueId id : c.outputs) c.output_layouts.push_back(dense(id));
  return region_hash(make_region(graph, c), false);
}

GrownRegions grow(const Graph& graph, const std::vector<bool>& allowed, RegionLimits limits = {}) {
  return grow_regions(graph, allowed, limits,
                      [&graph](const Nodes& nodes) { return signature_of(graph, nodes); });
}

std::vector<bool> all_of(const Graph& graph) {
  return std::vector<bool>(static_cast<std::size_t>(graph.node_count()), true);
}

Nodes range(int begin, int end) {
  Nodes nodes;
  for (int n = begin; n < end; ++n) nodes.push_back({n});
  return nodes;
}

bool contains(const GrownRegions& grown, const Nodes& nodes) {
  return std::find(grown.list.begin(), grown.list.end(), nodes) != grown.list.end();
}

TEST(EngineRegions, OfRandomGraphsAreConvexDistinctAndWithinTheLimits) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const Graph graph = random_graph(seed, 5 + static_cast<int>(rng.below(60)));
    std::vector<bool> allowed = all_of(graph);
    for (std::size_t n = 0; n < allowed.size(); ++n) allowed[n] = rng.below(6) != 0;
    const RegionLimits limits{.most_regions = 1 + static_cast<int>(rng.below(12)),
                              .most_nodes = static_cast<int>(rng.below(2) * (3 + rng.below(20)))};
    const GrownRegions grown = grow(graph, allowed, limits);
    std::set<Nodes> seen;
    std::set<Hash> hashes;
    for (const Nodes& nodes : grown.list) {
      EXPECT_TRUE(seen.insert(nodes).second);
      EXPECT_TRUE(std::is_sorted(nodes.begin(), nodes.end()));
      EXPECT_TRUE(is_convex(graph, nodes));
      for (const NodeId id : nodes) EXPECT_TRUE(allowed[static_cast<std::size_t>(id.index)]);
      EXPECT_TRUE(limits.most_nodes == 0 || std::ssize(nodes) <= limits.most_nodes);
      hashes.insert(signature_of(graph, nodes));
    }
    EXPECT_LE(grown.distinct, limits.most_regions);
    EXPECT_EQ(std::ssize(hashes), grown.distinct);
  }
}

TEST(EngineRegions, LargestOnesCoverEveryAllowedNode) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = random_graph(seed, 50);
    Rng rng(seed);
    std::vector<bool> allowed = all_of(graph);
    for (std::size_t n = 0; n < allowed.size(); ++n) allowed[n] = rng.below(8) != 0;
    std::vector<bool> covered(allowed.size(), false);
    for (const Nodes& nodes : largest_regions(graph, allowed)) {
      EXPECT_TRUE(is_convex(graph, nodes));
      for (const NodeId id : nodes) covered[static_cast<std::size_t>(id.index)] = true;
    }
    EXPECT_EQ(covered, allowed);
  }
}

TEST(EngineRegions, WholeGraphIsTheFirstWhereNothingIsDenied) {
  const Graph graph = random_graph(7, 40);
  const GrownRegions grown = grow(graph, all_of(graph), {.most_regions = 1});
  ASSERT_EQ(grown.list.size(), 1u);
  EXPECT_EQ(grown.list[0], range(0, 40));
  EXPECT_GT(grown.left_out, 0);
}

TEST(EngineRegions, DeniedNodeLeavesThePartsBeforeAndAfterIt) {
  const Graph graph = residual_net(4);
  std::vector<bool> allowed = all_of(graph);
  allowed[5] = false;  // the second block's Add: all that follows depends on it
  const std::vector<Nodes> largest = largest_regions(graph, allowed);
  EXPECT_EQ(largest, (std::vector<Nodes>{range(6, 12), range(0, 5)}));
}

TEST(EngineRegions, SegmentsOfAResidualNetAreItsBlocksAndCountOnce) {
  const Graph graph = residual_net(8);
  const GrownRegions grown = grow(graph, all_of(graph));
  for (int block = 0; block < 8; ++block) {
    EXPECT_TRUE(contains(grown, range(3 * block, 3 * block + 3))) << block;
  }
  EXPECT_TRUE(contains(grown, range(0, 12)));  // a half
  EXPECT_TRUE(contains(grown, range(0, 6)));   // a quarter
  EXPECT_TRUE(contains(grown, range(3, 24)));  // all but the first block
  EXPECT_TRUE(contains(grown, Nodes{{0}}));    // a heavy node alone
  EXPECT_LT(grown.distinct, std::ssize(grown.list));
  EXPECT_EQ(grown.left_out, 0);
  EXPECT_LE(grown.distinct, 10);
}

TEST(EngineRegions, OfAnEmptyOrFullyDeniedGraphThereAreNone) {
  const Graph graph = residual_net(2);
  EXPECT_TRUE(grow(graph, std::vector<bool>(6, false)).list.empty());
}

TEST(EngineRegions, OfTheZooStayFew) {
  for (const char* name : {"mobilenet_v2", "vit_tiny16", "nasnet_mobile"}) {
    const Graph graph = build_zoo_model(name);
    const GrownRegions grown = grow(graph, all_of(graph));
    EXPECT_LE(grown.distinct, 24) << name;
    EXPECT_GE(grown.distinct, 8) << name;
    EXPECT_TRUE(contains(grown, range(0, graph.node_count()))) << name;
  }
}

}  // namespace
}  // namespace inlay
