#include "search/verify/majorant.h"

#include <gtest/gtest.h>

#include "core/base/rng.h"
#include "core/run/random_inputs.h"
#include "search/verify/verify.h"
#include "tests/search/verify/region_of.h"

namespace inlay {
namespace {

using Ints = std::vector<std::int64_t>;

TensorType f32(Shape shape) { return {DType::kF32, std::move(shape)}; }

Tensor random_constant(Shape shape) {
  Rng rng(3);
  return random_tensor(f32(std::move(shape)), rng);
}

Graph conv_relu() {
  GraphBuilder b("conv_relu");
  const ValueId x = b.input("x", f32({1, 16, 8, 8}));
  const ValueId w = b.constant("w", random_constant({4, 16, 3, 3}));
  const ValueId bias = b.constant("b", random_constant({4}));
  const Attributes attributes{{"kernel_shape", Ints{3, 3}},
                              {"strides", Ints{1, 1}},
                              {"pads", Ints{1, 1, 1, 1}},
                              {"dilations", Ints{1, 1}},
                              {"group", std::int64_t{1}}};
  b.output(b.node("relu", "Relu", {b.node("conv", "Conv", {x, w, bias}, attributes)}));
  return b.build();
}

TEST(Majorant, CountsTheProductsOfAConvolutionAndItsBias) {
  const auto majorant = majorant_of(region_of(conv_relu()));
  ASSERT_TRUE(majorant);
  EXPECT_EQ(majorant->roundings, 16 * 3 * 3 + 1);
}

TEST(Majorant, MakesEveryConstantAbsolute) {
  const auto majorant = majorant_of(region_of(conv_relu()));
  ASSERT_TRUE(majorant);
  int checked = 0;
  for (const RegionValue& value : majorant->region.values) {
    if (!value.constant) continue;
    for (const float v : value.constant->as<float>()) EXPECT_GE(v, 0);
    ++checked;
  }
  EXPECT_EQ(checked, 2);
}

TEST(Majorant, AddsCountsAlongAChain) {
  GraphBuilder b("chain");
  const ValueId x = b.input("x", f32({4, 32}));
  const ValueId w = b.constant("w", random_constant({32, 16}));
  const ValueId v = b.constant("v", random_constant({16, 8}));
  const ValueId product = b.node("mm1", "MatMul", {x, w});
  b.output(b.node("mm2", "MatMul", {b.node("relu", "Relu", {product}), v}));
  const auto majorant = majorant_of(region_of(b.build()));
  ASSERT_TRUE(majorant);
  EXPECT_EQ(majorant->roundings, 32 + 16);
}

TEST(Majorant, TurnsDifferencesIntoSums) {
  GraphBuilder b("sub");
  const ValueId x = b.input("x", f32({4}));
  const ValueId y = b.input("y", f32({4}));
  b.output(b.node("sub", "Sub", {x, y}));
  const auto majorant = majorant_of(region_of(b.build()));
  ASSERT_TRUE(majorant);
  EXPECT_EQ(majorant->region.nodes.front().op, "Add");
}

TEST(Majorant, DoesNotExistForDivisionByData) {
  GraphBuilder b("div");
  const ValueId x = b.input("x", f32({4}));
  const ValueId y = b.input("y", f32({4}));
  b.output(b.node("div", "Div", {x, y}));
  EXPECT_FALSE(majorant_of(region_of(b.build())));
}

TEST(Majorant, ExistsForDivisionByAConstant) {
  GraphBuilder b("div");
  const ValueId x = b.input("x", f32({4}));
  b.output(b.node("div", "Div", {x, b.constant("c", random_constant({4}))}));
  EXPECT_TRUE(majorant_of(region_of(b.build())));
}

TEST(Majorant, DoesNotExistForSoftmax) {
  GraphBuilder b("softmax");
  const ValueId x = b.input("x", f32({4, 10}));
  b.output(b.node("softmax", "Softmax", {x}, {{"axis", std::int64_t{1}}}));
  const Region region = region_of(b.build());
  EXPECT_FALSE(majorant_of(region));
  EXPECT_GE(rounding_count(region), 10);
}

TEST(Majorant, DoesNotExistWhereComputedValuesAreCompared) {
  GraphBuilder b("compare");
  const ValueId x = b.input("x", f32({4}));
  const ValueId twice = b.node("add", "Add", {x, x});
  b.output(b.node("less", "Less", {twice, x}));
  EXPECT_FALSE(majorant_of(region_of(b.build())));
}

TEST(IndexLimits, KeepGatherInsideItsTable) {
  GraphBuilder b("gather");
  const ValueId table = b.constant("table", random_constant({100, 8}));
  const ValueId ids = b.input("ids", {DType::kI64, {3}});
  b.output(b.node("gather", "Gather", {table, ids}, {{"axis", std::int64_t{0}}}));
  const MaxValues limits = index_limits(region_of(b.build()));
  ASSERT_EQ(limits.size(), 1u);
  EXPECT_EQ(limits.at(0), 99);
}

}  // namespace
}  // namespace inlay
