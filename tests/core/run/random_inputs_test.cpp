#include "core/run/random_inputs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/base/error.h"

namespace inlay {
namespace {

Plan plan_of(const std::vector<TensorType>& types) {
  Plan plan;
  for (const TensorType& type : types) {
    plan.inputs.push_back(static_cast<int>(plan.values.size()));
    plan.values.push_back(
        {.name = "x", .type = type, .layout = Layout::dense(static_cast<int>(type.shape.size()))});
  }
  return plan;
}

TEST(RandomInputs, AreTheSameForASeedAndOnlyForIt) {
  const Plan plan = plan_of({{DType::kF32, {100}}, {DType::kI64, {100}}});
  EXPECT_EQ(random_inputs(plan, 1), random_inputs(plan, 1));
  EXPECT_NE(random_inputs(plan, 1), random_inputs(plan, 2));
}

TEST(RandomInputs, DoNotDependOnTheOtherInputs) {
  const auto small = random_inputs(plan_of({{DType::kF32, {3}}, {DType::kF32, {50}}}), 1);
  const auto large = random_inputs(plan_of({{DType::kF32, {70}}, {DType::kF32, {50}}}), 1);
  EXPECT_EQ(small[1], large[1]);
}

TEST(RandomInputs, AreNormalForFloats) {
  const Tensor tensor = random_inputs(plan_of({{DType::kF32, {20000}}}), 1)[0];
  double sum = 0;
  double squares = 0;
  for (const float v : tensor.as<float>()) {
    sum += v;
    squares += v * v;
  }
  // Five standard errors: 1 / sqrt(20000) of the mean, sqrt(2 / 20000) of the variance.
  EXPECT_NEAR(sum / 20000, 0, 5 * 0.0071);
  EXPECT_NEAR(squares / 20000, 1, 5 * 0.01);
}

TEST(RandomInputs, KeepIntegersWithinTheirBound) {
  const Plan plan = plan_of({{DType::kI64, {1000}}, {DType::kI8, {1000}}, {DType::kI32, {1000}}});
  const auto inputs = random_inputs(plan, 1, {{0, 4}, {1, 1000}});
  const auto ids = inputs[0].as<std::int64_t>();
  EXPECT_EQ(std::set<std::int64_t>(ids.begin(), ids.end()),
            (std::set<std::int64_t>{0, 1, 2, 3, 4}));
  for (const std::int8_t v : inputs[1].as<std::int8_t>()) EXPECT_GE(v, 0);
  const auto bits = inputs[2].as<std::int32_t>();
  EXPECT_EQ(std::set<std::int32_t>(bits.begin(), bits.end()), (std::set<std::int32_t>{0, 1}));
}

TEST(RandomInputs, CoverEveryTypeOfFixedSize) {
  Rng rng(1);
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF64, DType::kU8, DType::kU16,
                            DType::kI16, DType::kU32, DType::kU64, DType::kBool}) {
    EXPECT_EQ(random_tensor({dtype, {5}}, rng).type(), (TensorType{dtype, {5}}));
  }
  EXPECT_THROW(random_tensor({DType::kNone, {5}}, rng), Error);
}

TEST(AbsoluteValues, ClearTheSignOfFloatsOnly) {
  const Tensor f = absolute_values(Tensor::from<float>({4}, {-1.5f, 2, -0.0f, -INFINITY}));
  EXPECT_EQ(f, Tensor::from<float>({4}, {1.5f, 2, 0, INFINITY}));
  const Tensor d = absolute_values(Tensor::from<double>({2}, {-3, 4}));
  EXPECT_EQ(d, Tensor::from<double>({2}, {3, 4}));
  const Tensor i = Tensor::from<std::int32_t>({2}, {-3, 4});
  EXPECT_EQ(absolute_values(i), i);
}

}  // namespace
}  // namespace inlay
