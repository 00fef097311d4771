#include "graphs/zoo/zoo.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "core/base/error.h"
#include "graphs/ir/graph_hash.h"
#include "tests/graphs/reference_run.h"

namespace inlay {
namespace {

class ZooModels : public testing::TestWithParam<ZooModel> {};

// Parameters to the last digit. Operations within 1 %, which is what the published figures are
// rounded to; they count convolutions and matrix products, as count_flops does.
TEST_P(ZooModels, HasThePublishedParametersAndOperations) {
  const Graph graph = build_zoo_model(GetParam().name);
  EXPECT_EQ(count_parameters(graph),
            static_cast<std::int64_t>(GetParam().parameters + GetParam().data_numbers));
  EXPECT_NEAR(count_flops(graph), GetParam().flops, 0.01 * GetParam().flops);
  EXPECT_FALSE(graph.outputs().empty());
}

INSTANTIATE_TEST_SUITE_P(All, ZooModels,
                         testing::ValuesIn(zoo_models().begin(), zoo_models().end()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Zoo, OperationsGrowWithTheBatchAndParametersDoNot) {
  const Graph one = build_zoo_model("vit_tiny16");
  const Graph three = build_zoo_model("vit_tiny16", {.batch = 3});
  EXPECT_DOUBLE_EQ(count_flops(three), 3 * count_flops(one));
  EXPECT_EQ(count_parameters(three), count_parameters(one));
}

TEST(Zoo, SameSeedSameGraphAndOtherSeedOtherWeights) {
  const ZooOptions small = {.image_size = 64, .seed = 5};
  const Graph graph = build_zoo_model("mobilenet_v2", small);
  EXPECT_EQ(graph_hash(build_zoo_model("mobilenet_v2", small)), graph_hash(graph));
  EXPECT_NE(graph_hash(build_zoo_model("mobilenet_v2", {.image_size = 64, .seed = 6})),
            graph_hash(graph));
}

struct Moments {
  double mean = 0;
  double deviation = 0;
};

Moments moments_of(const Graph& graph, const char* name) {
  const auto numbers = graph.value(*graph.find_value(name)).constant->as<float>();
  Moments m;
  for (const float v : numbers) m.mean += v;
  m.mean /= static_cast<double>(numbers.size());
  for (const float v : numbers) m.deviation += (v - m.mean) * (v - m.mean);
  m.deviation = std::sqrt(m.deviation / static_cast<double>(numbers.size()));
  return m;
}

// Tolerances: four standard errors of a sample of n normal numbers, deviation / sqrt(n) for the
// mean and deviation / sqrt(2 n) for the deviation.
TEST(Zoo, WeightsAreHeScaled) {
  const Graph graph = build_zoo_model("resnet50", {.image_size = 64});
  const double expected = std::sqrt(2.0 / (512 * 9));
  const double n = 512.0 * 512 * 9;
  const Moments m = moments_of(graph, "layer4.1.conv2.weight");
  EXPECT_NEAR(m.mean, 0, 4 * expected / std::sqrt(n));
  EXPECT_NEAR(m.deviation, expected, 4 * expected / std::sqrt(2 * n));
}

TEST(Zoo, BatchNormStatisticsStayOfOneMagnitudeThroughTheDepth) {
  for (const char* name :
       {"resnet50", "resnet3d50", "nasnet_mobile", "mobilenet_v2", "efficientnet_b0"}) {
    const Graph graph = build_zoo_model(name, {.image_size = 64});
    for (const Node& node : graph.nodes()) {
      if (node.op != "BatchNormalization") continue;
      for (const float variance : graph.value(node.inputs[4]).constant->as<float>()) {
        EXPECT_GT(variance, 0.02f) << name << " " << node.name;
        EXPECT_LT(variance, 20.0f) << name << " " << node.name;
      }
    }
  }
}

TEST(Zoo, GcnHasTheEdgesOfCora) {
  const Graph graph = build_zoo_model("gcn_cora_edges");
  const auto sources = graph.value(*graph.find_value("edges.source")).constant->as<std::int64_t>();
  const auto rows =
      graph.value(*graph.find_value("conv2.aggregate.rows")).constant->as<std::int64_t>();
  ASSERT_EQ(sources.size(), 10556u);
  ASSERT_EQ(rows.size(), 7 * sources.size());
  std::set<std::pair<std::int64_t, std::int64_t>> edges;
  std::map<std::int64_t, int> degrees;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    edges.emplace(sources[i], rows[7 * i]);
    ++degrees[sources[i]];
  }
  EXPECT_EQ(edges.size(), sources.size());  // none twice
  EXPECT_EQ(degrees.size(), 2708u);         // no node without one
  int highest = 0;
  for (const auto& [from, to] : edges) {
    EXPECT_NE(from, to);
    EXPECT_TRUE(edges.contains({to, from}));
    highest = std::max(highest, degrees[from]);
  }
  EXPECT_GT(highest, 50);  // Cora's is 168, its mean 4
}

TEST(Zoo, BothFormsOfTheGcnComputeTheSameAndDecideSomething) {
  NullLog log;
  PluginHost host(log, {.search_path = {INLAY_PLUGIN_DIR "/reference.so"}});
  const std::vector<Tensor> inputs = {normal_tensor({2708, 1433}, 3)};
  const Tensor dense = run_on_reference(build_zoo_model("gcn_cora"), inputs, host).at(0);
  const Tensor sparse = run_on_reference(build_zoo_model("gcn_cora_edges"), inputs, host).at(0);
  ASSERT_EQ(dense.type(), (TensorType{DType::kF32, {2708, 7}}));
  ASSERT_EQ(sparse.type(), dense.type());
  const auto a = dense.as<float>();
  const auto b = sparse.as<float>();
  double confident = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    // A few hundred additions in f32 of numbers below 10, into the exponent of a probability.
    ASSERT_NEAR(a[i], b[i], 1e-4);
    confident += a[i] > 0.3 && a[i] < 0.999;
  }
  EXPECT_GT(confident, 2708 / 2);  // neither all classes alike nor one certain everywhere
}

std::string message_of(std::string_view name, const ZooOptions& options) {
  try {
    build_zoo_model(name, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Zoo, SaysWhichNamesAndSizesItTakes) {
  const std::string unknown = message_of("resnet51", {});
  EXPECT_NE(unknown.find("no model 'resnet51' in the zoo; it has resnet50,"), std::string::npos);
  EXPECT_EQ(message_of("bert_base", {.sequence_length = 513}),
            "bert_base: sequence length must lie in 1 to 512, is 513");
  EXPECT_EQ(message_of("bert_base", {.image_size = 224}),
            "bert_base: has no image size, 224 given");
  EXPECT_EQ(message_of("gcn_cora", {.nodes = 3}), "gcn_cora: nodes must lie in 16 to 16384, is 3");
  EXPECT_EQ(message_of("gcn_cora", {.batch = 2}), "gcn_cora: has no batch, 2 given");
  EXPECT_EQ(message_of("resnet50", {.batch = 0}), "resnet50: batch must be positive, is 0");
}

}  // namespace
}  // namespace inlay
