#include "search/lower/lower.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/plan/plan_text.h"
#include "core/run/executor.h"
#include "core/run/random_inputs.h"
#include "core/run/thread_pool.h"
#include "graphs/ir/graph_hash.h"
#include "search/lower/raise.h"
#include "search/strategies/strategy.h"

namespace inlay {
namespace {

const Shape kImage{1, 20, 4, 4};  // 20 channels: a block of 16 leaves a padded tail

class Lower : public ::testing::Test {
 protected:
  Lower()
      : pool_(2),
        host_(log_, {.search_path = {INLAY_PLUGIN_DIR "/reference.so"},
                     .threads = 2,
                     .parallel_for = pool_.parallel_for()}) {}

  // Everything on the reference, one step a node, cheapest first.
  Placement on_reference(const Graph& graph, Candidates& candidates, CostTable& costs) {
    candidates = find_candidates(graph, host_);
    for (const Candidate& c : candidates.list) {
      CandidateCost cost;
      cost.cost = Cost{.ns = c.plugin == kViewPlugin ? 0.0 : 100.0};
      costs.candidates.push_back(cost);
    }
    return search_single(graph, candidates, costs, "reference", {})->placement;
  }

  Lowered lower_on_reference(const Graph& graph) {
    Candidates candidates;
    CostTable costs;
    const Placement placement = on_reference(graph, candidates, costs);
    return lower(graph, candidates, placement, costs, host_);
  }

  NullLog log_;
  ThreadPool pool_;
  PluginHost host_;
};

const PlanValue& value_of(const Plan& plan, int index) {
  return plan.values[static_cast<std::size_t>(index)];
}

TEST_F(Lower, ReshapeBecomesAViewAndCostsNoStep) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", {DType::kF32, {2, 6}});
  const ValueId r = b.node("relu", "Relu", {x});
  const ValueId v = b.reshape("view", r, {3, 4});
  b.output(b.node("tanh", "Tanh", {v}));
  const Plan plan = lower_on_reference(b.build()).plan;
  EXPECT_EQ(plan.steps.size(), 2u);
  EXPECT_EQ(std::count_if(plan.values.begin(), plan.values.end(),
                          [](const PlanValue& p) { return p.storage == Storage::kView; }),
            1);
}

// Diamonds of concats whose operands are read elsewhere too, and are concats themselves.
TEST_F(Lower, AConcatOfWholePiecesCostsNoStepAndItsOperandsLieInIt) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", {DType::kF32, {1, 16, 4, 4}});
  const auto concat = [&](const std::string& name, std::vector<ValueId> operands) {
    return b.node(name, "Concat", std::move(operands), {{"axis", std::int64_t{1}}});
  };
  const ValueId a = b.node("a", "Relu", {x});
  const ValueId t = b.node("t", "Tanh", {a});
  const ValueId inner = concat("inner", {a, t});
  const ValueId n = b.node("n", "Neg", {t});
  const ValueId outer = concat("outer", {n, inner});
  const ValueId e = b.node("e", "Exp", {outer});
  b.output(b.node("sum", "Add", {e, concat("again", {b.node("m", "Neg", {inner}), t})}));
  b.output(b.node("abs", "Abs", {inner}));
  const Graph graph = b.build();
  const Lowered lowered = lower_on_reference(graph);

  EXPECT_EQ(parse_plan(to_text(lowered.plan), "g.plan"), lowered.plan);
  const auto joined = std::count_if(lowered.plan.values.begin(), lowered.plan.values.end(),
                                    [](const PlanValue& v) { return !v.parts.empty(); });
  EXPECT_EQ(joined, 2);  // `again` shares t with `inner`
  const auto count_concats = [](const Plan& plan) {
    return std::count_if(plan.steps.begin(), plan.steps.end(), [](const PlanStep& step) {
      return step.nodes == std::vector<std::string>{"again"};
    });
  };
  EXPECT_EQ(count_concats(lowered.plan), 1);

  Candidates candidates = find_candidates(graph, host_, {.exclude = {kViewPlugin}, .pins = {}});
  CostTable costs;
  for (std::size_t c = 0; c < candidates.list.size(); ++c) {
    costs.candidates.push_back({Cost{.ns = 100}, ""});
  }
  const Placement copying = search_single(graph, candidates, costs, "reference", {})->placement;
  const Lowered plain = lower(graph, candidates, copying, costs, host_);
  EXPECT_EQ(plain.plan.steps.size(), lowered.plan.steps.size() + 2);
  Executor joint_executor(lowered.plan, lowered.weights, host_);
  Executor plain_executor(plain.plan, plain.weights, host_);
  const std::vector<Tensor> inputs = random_inputs(lowered.plan, 3);
  EXPECT_EQ(joint_executor.run(inputs), plain_executor.run(inputs));

  const Graph raised = raise_to_graph(lowered.plan, lowered.weights);
  const auto operators = [](const Graph& g) {
    std::multiset<std::string> ops;
    for (std::int32_t i = 0; i < g.node_count(); ++i) ops.insert(g.node({i}).op);
    return ops;
  };
  EXPECT_EQ(operators(raised), operators(graph));
}

TEST_F(Lower, OutputThatIsInputConstantViewOrRepeatedIsCopied) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", {DType::kF32, {2, 6}});
  const ValueId c = b.constant("c", Tensor::from<float>({2}, {5, 6}));
  const ValueId r = b.node("relu", "Relu", {x});
  const ValueId v = b.reshape("view", r, {12});
  for (const ValueId id : {x, c, r, v, r}) b.output(id);
  const Lowered lowered = lower_on_reference(b.build());
  ASSERT_EQ(lowered.plan.outputs.size(), 5u);
  for (const int output : lowered.plan.outputs)
    EXPECT_EQ(value_of(lowered.plan, output).storage, Storage::kOutput);

  Executor executor(lowered.plan, lowered.weights, host_);
  const Tensor input = random_inputs(lowered.plan, 3)[0];
  const std::vector<Tensor> outputs = executor.run(std::vector{input});
  EXPECT_EQ(outputs[0], input);
  EXPECT_EQ(outputs[1], Tensor::from<float>({2}, {5, 6}));
  EXPECT_EQ(outputs[2], outputs[4]);
  EXPECT_EQ(outputs[3].shape(), (Shape{12}));
  EXPECT_TRUE(
      std::equal(outputs[3].bytes().begin(), outputs[3].bytes().end(), outputs[2].bytes().begin()));
}

// A candidate that wants a blocked layout, built by hand: the reference itself never asks for one.
TEST_F(Lower, ConsumersOfOneLayoutShareItsConversion) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", {DType::kF32, kImage});
  const ValueId r1 = b.node("relu1", "Relu", {x});
  const ValueId r2 = b.node("relu2", "Relu", {x});
  b.output(b.node("sum", "Add", {r1, r2}));
  const Graph graph = b.build();
  Candidates candidates;
  CostTable costs;
  const Placement placement = on_reference(graph, candidates, costs);
  const Layout blocked = *parse_layout("aBcd16b");
  for (Candidate& c : candidates.list) {
    if (graph.node(c.nodes.front()).op != "Relu") continue;
    c.input_layouts = {blocked};
    c.output_layouts = {blocked};
  }
  const TensorType type{DType::kF32, kImage};
  for (const auto& [from, to] :
       {std::pair{Layout::dense(4), blocked}, std::pair{blocked, Layout::dense(4)}}) {
    costs.conversions[{to_string(type), from.text(), to.text()}] = {};
  }
  const Plan plan = lower(graph, candidates, placement, costs, host_).plan;
  const auto conversions =
      std::count_if(plan.steps.begin(), plan.steps.end(),
                    [](const PlanStep& s) { return s.kind == StepKind::kConvert; });
  EXPECT_EQ(conversions, 3) << "x once for both readers, then each result back";
  EXPECT_EQ(parse_plan(to_text(plan), "test"), plan);
}

TEST_F(Lower, InPlaceStepsShareMemoryOnlyWhereTheInputDies) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", {DType::kF32, {1024}});
  const ValueId a = b.node("a", "Relu", {x});
  const ValueId c = b.node("c", "Tanh", {a});     // a lives on: it is read by `sum`
  const ValueId d = b.node("d", "Sigmoid", {c});  // c dies here
  b.output(b.node("sum", "Add", {a, d}));
  const Graph graph = b.build();
  Candidates candidates;
  CostTable costs;
  const Placement placement = on_reference(graph, candidates, costs);
  for (Candidate& candidate : candidates.list) {
    if (candidate.inputs.size() == 1) candidate.aliases = {{0, 0}};
  }
  const Lowered lowered = lower(graph, candidates, placement, costs, host_);
  EXPECT_EQ(lowered.plan.arena_bytes, 2u * 4096u) << "a, and one buffer for c and d";

  Executor executor(lowered.plan, lowered.weights, host_);
  const std::vector<Tensor> inputs = random_inputs(lowered.plan, 5);
  const Lowered plain = lower_on_reference(graph);
  Executor expected(plain.plan, plain.weights, host_);
  EXPECT_EQ(executor.run(inputs), expected.run(inputs));
}

TEST_F(Lower, SubtractingAValueFromItselfInPlaceIsNotAllowed) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", {DType::kF32, {2, 512}});
  const ValueId a = b.node("a", "Relu", {x});
  const ValueId v = b.reshape("view", a, {512, 2});
  const ValueId t = b.node("t", "Transpose", {v}, {{"perm", std::vector<std::int64_t>{1, 0}}});
  b.output(b.node("sum", "Sub", {a, t}));
  const Graph graph = b.build();
  Candidates candidates;
  CostTable costs;
  const Placement placement = on_reference(graph, candidates, costs);
  for (Candidate& candidate : candidates.list) candidate.aliases = {{0, 0}};
  const Lowered lowered = lower(graph, candidates, placement, costs, host_);
  Executor executor(lowered.plan, lowered.weights, host_);
  const std::vector<Tensor> inputs = random_inputs(lowered.plan, 5);
  const Lowered plain = lower_on_reference(graph);
  Executor expected(plain.plan, plain.weights, host_);
  EXPECT_EQ(executor.run(inputs), expected.run(inputs))
      << "the transposed view read `a` after it was overwritten";
}

TEST_F(Lower, EqualStepsShareOneRegion) {
  GraphBuilder b("g");
  ValueId x = b.input("x", {DType::kF32, {64}});
  for (int i = 0; i < 10; ++i) x = b.node("tanh" + std::to_string(i), "Tanh", {x});
  b.output(x);
  const Plan plan = lower_on_reference(b.build()).plan;
  EXPECT_EQ(plan.steps.size(), 10u);
  EXPECT_EQ(plan.regions.size(), 1u);
}

TEST_F(Lower, RaisingALoweredPlanGivesTheGraphBack) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", {DType::kF32, {4, 6}});
  Tensor weights = Tensor::zeros({DType::kF32, {6, 20}});
  reinterpret_cast<float*>(weights.mutable_bytes().data())[7] = 2.5f;
  const ValueId w = b.constant("w", weights);
  const ValueId m = b.node("fc", "MatMul", {x, w});
  const ValueId v = b.reshape("view", m, {80});
  b.output(b.node("relu", "Relu", {v}));
  const Graph graph = b.build();
  const Lowered lowered = lower_on_reference(graph);
  const Graph raised = raise_to_graph(lowered.plan, lowered.weights);
  EXPECT_EQ(graph_hash(raised), graph_hash(graph)) << raised.to_text();
  EXPECT_TRUE(raised.find_node("fc").has_value());
}

}  // namespace
}  // namespace inlay
