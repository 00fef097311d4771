#include "graphs/zoo/zoo.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/error.h"
#include "graphs/ir/graph_hash.h"

namespace inlay {
namespace {

class ZooModels : public testing::TestWithParam<ZooModel> {};

// Parameters to the last digit. Operations within 1 %, which is what the published figures are
// rounded to; they count convolutions and matrix products, as count_flops does.
TEST_P(ZooModels, HasThePublishedParametersAndOperations) {
  const Graph graph = build_zoo_model(GetParam().name);
  EXPECT_EQ(count_parameters(graph), static_cast<std::int64_t>(GetParam().parameters));
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
  for (const char* name : {"resnet50", "mobilenet_v2", "efficientnet_b0"}) {
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
  EXPECT_EQ(message_of("resnet50", {.batch = 0}), "resnet50: batch must be positive, is 0");
}

}  // namespace
}  // namespace inlay
