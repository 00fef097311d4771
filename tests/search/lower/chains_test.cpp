#include <gtest/gtest.h>

#include "core/base/rng.h"
#include "core/run/executor.h"
#include "core/run/random_inputs.h"
#include "core/run/thread_pool.h"
#include "search/lower/lower.h"
#include "search/strategies/strategy.h"

namespace inlay {
namespace {

class Chains : public ::testing::Test {
 protected:
  // Every way to place the graph costs the same per region, so that the fewest regions win.
  Lowered place(const Graph& graph, bool is_fusing, std::size_t* regions) {
    const Candidates candidates =
        find_candidates(graph, host_, {.exclude = {}, .pins = {}, .is_fusing = is_fusing});
    CostTable costs;
    for (std::size_t i = 0; i < candidates.list.size(); ++i) {
      costs.candidates.push_back({Cost{.ns = 100}, ""});
    }
    const Placement placement = search_dynamic(graph, candidates, costs, {}).placement;
    *regions = placement.candidates.size();
    return lower(graph, candidates, placement, costs, host_);
  }

  // Runs the graph fused and node by node; returns how many regions the former has.
  std::size_t expect_same_results(const Graph& graph) {
    std::size_t fused_regions = 0;
    std::size_t regions = 0;
    const Lowered fused = place(graph, true, &fused_regions);
    const Lowered plain = place(graph, false, &regions);
    EXPECT_EQ(regions, static_cast<std::size_t>(graph.node_count()));
    Executor fused_executor(fused.plan, fused.weights, host_);
    Executor plain_executor(plain.plan, plain.weights, host_);
    const std::vector<Tensor> inputs = random_inputs(fused.plan, 3);
    EXPECT_EQ(fused_executor.run(inputs), plain_executor.run(inputs)) << graph.to_text();
    return fused_regions;
  }

  NullLog log_;
  ThreadPool pool_{1};
  PluginHost host_{
      log_,
      {.search_path = {INLAY_PLUGIN_DIR "/reference.so", INLAY_BINARY_DIR "/tests/lower/chains.so"},
       .threads = 1,
       .parallel_for = pool_.parallel_for()}};
};

const TensorType kType{DType::kF32, {3, 5}};

TEST_F(Chains, ATapIsOneRegionWithTwoOutputsWhereItIsReadElsewhere) {
  for (const bool is_read : {false, true}) {
    GraphBuilder b("g");
    const ValueId sum = b.node("s", "Add", {b.input("x", kType), b.input("y", kType)});
    const ValueId relu = b.node("r", "Relu", {sum});
    b.output(relu);
    if (is_read) b.output(b.node("t", "Tanh", {sum}));
    EXPECT_EQ(expect_same_results(b.build()), is_read ? 2U : 1U);
  }
}

TEST_F(Chains, ATapMayBeAGraphOutput) {
  GraphBuilder b("g");
  const ValueId sum = b.node("s", "Add", {b.input("x", kType), b.input("y", kType)});
  b.output(sum);
  b.output(b.node("r", "Relu", {sum}));
  EXPECT_EQ(expect_same_results(b.build()), 1U);
}

// Reading the tap outside and feeding the result back in would be a cycle between regions.
TEST_F(Chains, ATapThatComesBackIsNoRegion) {
  GraphBuilder b("g");
  const ValueId sum = b.node("s", "Add", {b.input("x", kType), b.input("y", kType)});
  const ValueId tanh = b.node("t", "Tanh", {sum});
  const ValueId relu = b.node("r", "Relu", {b.node("back", "Add", {sum, tanh})});
  b.output(b.node("m", "Mul", {relu, sum}));
  expect_same_results(b.build());
}

TEST_F(Chains, RandomGraphsGiveTheSameFusedAndNodeByNode) {
  Rng rng(11);
  std::size_t saved = 0;
  for (int i = 0; i < 300; ++i) {
    GraphBuilder b("random");
    std::vector<ValueId> values = {b.input("x", kType), b.input("y", kType), b.input("z", kType)};
    const std::vector<std::string> unary = {"Neg", "Abs", "Relu"};
    const std::uint64_t count = 3 + rng.below(8);
    for (std::uint64_t n = 0; n < count; ++n) {
      const ValueId last = values.back();
      const ValueId other = values[rng.below(values.size())];
      values.push_back(rng.below(2) == 0
                           ? b.node("", unary[rng.below(3)], {last})
                           : b.node("", rng.below(2) == 0 ? "Add" : "Mul", {last, other}));
    }
    b.output(values.back());
    if (rng.below(3) == 0) b.output(values[3 + rng.below(count - 1)]);
    saved += count - expect_same_results(b.build());
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(saved, 100U);
}

}  // namespace
}  // namespace inlay
