#include "tests/plugins/reference/kernel_case.h"

namespace inlay::reference {
namespace {

TEST(ReferenceSoftmax, IsStableAndSumsToOneAlongItsAxis) {
  const Tensor y = KernelCase("Softmax", {{"axis", std::int64_t{0}}})
                       .input(floats({2, 2}, {1000, 0, 1000, 0.6931472f}))
                       .run({DType::kF32, {2, 2}});
  expect_close(y, {0.5, 1 / (1 + std::exp(double{0.6931472f})), 0.5,
                   1 - 1 / (1 + std::exp(double{0.6931472f}))});
}

TEST(ReferenceSoftmax, LogarithmAndHardForm) {
  const Tensor x = floats({1, 3}, {-1000, 2, 2});
  const Tensor log =
      KernelCase("LogSoftmax", {{"axis", std::int64_t{1}}}).input(x).run({DType::kF32, {1, 3}});
  expect_close(log, {-1002 - std::log(2.0), -std::log(2.0), -std::log(2.0)});
  const Tensor hard =
      KernelCase("Hardmax", {{"axis", std::int64_t{1}}}).input(x).run({DType::kF32, {1, 3}});
  EXPECT_EQ(values_of<float>(hard), (std::vector<float>{0, 1, 0}));
}

TEST(ReferenceBatchNormalization, AppliesTheChannelsStatistics) {
  const Tensor y = KernelCase("BatchNormalization", {{"epsilon", 0.0f}})
                       .input(floats({1, 2, 2}, {1, 2, 3, 4}))
                       .input(floats({2}, {2, 1}))
                       .input(floats({2}, {0, 5}))
                       .input(floats({2}, {1, 3}))
                       .input(floats({2}, {4, 1}))
                       .run({DType::kF32, {1, 2, 2}});
  expect_close(y, {0, 1, 5, 6});
}

// Independent form: the mean of squares minus the square of the mean.
std::vector<double> standardized(const std::vector<float>& x, std::size_t group, double epsilon) {
  std::vector<double> y;
  for (std::size_t start = 0; start < x.size(); start += group) {
    double sum = 0, squares = 0;
    for (std::size_t i = start; i < start + group; ++i) {
      sum += x[i];
      squares += double{x[i]} * x[i];
    }
    const double mean = sum / static_cast<double>(group);
    const double deviation =
        std::sqrt(squares / static_cast<double>(group) - mean * mean + epsilon);
    for (std::size_t i = start; i < start + group; ++i) y.push_back((x[i] - mean) / deviation);
  }
  return y;
}

TEST(ReferenceNormalization, LayerInstanceAndGroupFormsAgreeWithTheFormula) {
  Rng rng(1);
  const Tensor x = random_floats(rng, {2, 4, 3, 5});
  const std::vector<float> values = values_of<float>(x);
  const float epsilon = 1e-5f;
  const Attributes layer{{"axis", std::int64_t{2}}, {"epsilon", epsilon}};
  const Tensor ones = floats({3, 5}, std::vector<float>(15, 1));
  expect_close(KernelCase("LayerNormalization", layer).input(x).input(ones).run(x.type()),
               standardized(values, 15, epsilon));
  const Tensor scale = floats({4}, {1, 1, 1, 1}), bias = floats({4}, {0, 0, 0, 0});
  expect_close(KernelCase("InstanceNormalization", {{"epsilon", epsilon}})
                   .input(x)
                   .input(scale)
                   .input(bias)
                   .run(x.type()),
               standardized(values, 15, epsilon));
  expect_close(
      KernelCase("GroupNormalization", {{"epsilon", epsilon}, {"num_groups", std::int64_t{2}}})
          .input(x)
          .input(scale)
          .input(bias)
          .run(x.type()),
      standardized(values, 30, epsilon));
}

TEST(ReferenceNormalization, LayerFormAppliesScaleAndBias) {
  const Tensor y = KernelCase("LayerNormalization", {{"axis", std::int64_t{1}}, {"epsilon", 0.0f}})
                       .input(floats({1, 2}, {1, 3}))
                       .input(floats({2}, {2, 3}))
                       .input(floats({2}, {10, 20}))
                       .run({DType::kF32, {1, 2}});
  expect_close(y, {8, 23});
}

TEST(ReferenceNormalization, RmsFormDoesNotSubtractTheMean) {
  const Tensor y = KernelCase("RMSNormalization", {{"axis", std::int64_t{1}}, {"epsilon", 0.0f}})
                       .input(floats({1, 2}, {3, 4}))
                       .input(floats({2}, {1, 2}))
                       .run({DType::kF32, {1, 2}});
  expect_close(y, {3 / std::sqrt(12.5), 8 / std::sqrt(12.5)});
}

TEST(ReferenceNormalization, LocalResponseWindowLeansUp) {
  // size 2 at channel c: channels c and c + 1.
  const Tensor y =
      KernelCase("LRN",
                 {{"alpha", 2.0f}, {"beta", 1.0f}, {"bias", 1.0f}, {"size", std::int64_t{2}}})
          .input(floats({1, 3, 1}, {1, 2, 3}))
          .run({DType::kF32, {1, 3, 1}});
  expect_close(y, {1.0 / 6, 2.0 / 14, 3.0 / 10});
}

TEST(ReferenceNormalization, LpFormKeepsZeros) {
  const Tensor y =
      KernelCase("LpNormalization", {{"axis", std::int64_t{1}}, {"p", std::int64_t{2}}})
          .input(floats({2, 2}, {3, 4, 0, 0}))
          .run({DType::kF32, {2, 2}});
  expect_close(y, {0.6, 0.8, 0, 0});
}

TEST(ReferenceNormalization, MeanVarianceFormTakesAnyAxes) {
  const Tensor y = KernelCase("MeanVarianceNormalization", {{"axes", Ints{0, 2}}})
                       .input(floats({2, 2, 1}, {1, 10, 3, 30}))
                       .run({DType::kF32, {2, 2, 1}});
  expect_close(y, {-1 / (1 + 1e-9), -10 / (10 + 1e-9), 1 / (1 + 1e-9), 10 / (10 + 1e-9)});
}

}  // namespace
}  // namespace inlay::reference
