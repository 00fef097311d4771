#include "tests/plugins/reference/kernel_case.h"

#include <limits>

namespace inlay::reference {
namespace {

TEST(ReferenceMatMul, MatchesTheDefinitionAcrossBlockBorders) {
  Rng rng(1);
  const std::int64_t m = 67, k = 131, n = 137;
  const Tensor a = random_floats(rng, {m, k}), b = random_floats(rng, {k, n});
  std::vector<double> expected;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < k; ++l)
        sum += double{a.as<float>()[i * k + l]} * b.as<float>()[l * n + j];
      expected.push_back(sum);
    }
  expect_close(KernelCase("MatMul").input(a).input(b).run({DType::kF32, {m, n}}), expected);
}

TEST(ReferenceMatMul, FollowsNumpyForVectorsAndBatches) {
  const Tensor dot = KernelCase("MatMul")
                         .input(floats({3}, {1, 2, 3}))
                         .input(floats({3}, {4, 5, 6}))
                         .run({DType::kF32, {}});
  EXPECT_EQ(values_of<float>(dot), (std::vector<float>{32}));
  const Tensor row = KernelCase("MatMul")
                         .input(floats({2}, {1, 10}))
                         .input(floats({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}))
                         .run({DType::kF32, {2, 2}});
  EXPECT_EQ(values_of<float>(row), (std::vector<float>{31, 42, 75, 86}));
  const Tensor batch = KernelCase("MatMul")
                           .input(floats({2, 1, 1, 2}, {1, 2, 3, 4}))
                           .input(floats({2, 2, 1}, {1, 1, 1, -1}))
                           .run({DType::kF32, {2, 2, 1, 1}});
  EXPECT_EQ(values_of<float>(batch), (std::vector<float>{3, -1, 7, -1}));
}

TEST(ReferenceMatMul, DepthZeroGivesZeros) {
  const Tensor y = KernelCase("MatMul")
                       .input(floats({2, 0}, {}))
                       .input(floats({0, 1}, {}))
                       .run({DType::kF32, {2, 1}});
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{0, 0}));
}

TEST(ReferenceMatMul, IntegersAreExactAndWrap) {
  const Tensor y = KernelCase("MatMul")
                       .input(Tensor::from<std::int32_t>({1, 2}, {-3, 1 << 30}))
                       .input(Tensor::from<std::int32_t>({2, 1}, {5, 4}))
                       .run({DType::kI32, {1, 1}});
  EXPECT_EQ(values_of<std::int32_t>(y), (std::vector<std::int32_t>{-15}));
}

TEST(ReferenceMatMul, NanStaysInItsRow) {
  const float nan = std::nanf("");
  const Tensor y = KernelCase("MatMul")
                       .input(floats({2, 1}, {nan, 1}))
                       .input(floats({1, 3}, {0, 1, 2}))
                       .run({DType::kF32, {2, 3}});
  EXPECT_TRUE(std::isnan(y.as<float>()[0]) && std::isnan(y.as<float>()[2]));
  EXPECT_EQ(y.as<float>()[5], 2);
}

TEST(ReferenceGemm, TransposesScaleAndBroadcastAddend) {
  const Tensor a = floats({2, 2}, {1, 2, 3, 4}), b = floats({2, 2}, {5, 6, 7, 8});
  const auto gemm = [&](std::int64_t trans_a, std::int64_t trans_b, const Tensor& c) {
    return values_of<float>(
        KernelCase("Gemm",
                   {{"alpha", 2.0f}, {"beta", 0.5f}, {"transA", trans_a}, {"transB", trans_b}})
            .input(a)
            .input(b)
            .input(c)
            .run({DType::kF32, {2, 2}}));
  };
  EXPECT_EQ(gemm(0, 0, floats({2}, {2, 4})), (std::vector<float>{39, 46, 87, 102}));
  EXPECT_EQ(gemm(1, 0, floats({2, 1}, {2, 4})), (std::vector<float>{53, 61, 78, 90}));
  EXPECT_EQ(gemm(0, 1, floats({}, {0})), (std::vector<float>{34, 46, 78, 106}));
  EXPECT_EQ(gemm(1, 1, floats({2, 2}, {2, 2, 2, 2})), (std::vector<float>{47, 63, 69, 93}));
}

TEST(ReferenceGemm, WithBetaZeroDoesNotReadTheAddend) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor y = KernelCase("Gemm", {{"alpha", 1.0f}, {"beta", 0.0f}})
                       .input(floats({1, 1}, {2}))
                       .input(floats({1, 1}, {3}))
                       .input(floats({1}, {nan}))
                       .run({DType::kF32, {1, 1}});
  EXPECT_EQ(values_of<float>(y), std::vector<float>{6});
}

TEST(ReferenceMatMulInteger, SubtractsZeroPointsPerRowAndColumn) {
  const Tensor y = KernelCase("MatMulInteger")
                       .input(Tensor::from<std::uint8_t>({2, 2}, {11, 7, 3, 10}))
                       .input(Tensor::from<std::int8_t>({2, 2}, {1, 4, 2, 5}))
                       .input(Tensor::from<std::uint8_t>({2}, {12, 3}))
                       .input(Tensor::from<std::int8_t>({2}, {0, 1}))
                       .run({DType::kI32, {2, 2}});
  // Rows [-1, -5] and [0, 7]; columns [1, 2] and [3, 4].
  EXPECT_EQ(values_of<std::int32_t>(y), (std::vector<std::int32_t>{-11, -23, 14, 28}));
}

TEST(ReferenceQLinearMatMul, RescalesRoundsAndSaturates) {
  const auto scalar = [](float v) { return floats({}, {v}); };
  const auto byte = [](std::uint8_t v) { return Tensor::from<std::uint8_t>({}, {v}); };
  const Tensor y = KernelCase("QLinearMatMul")
                       .input(Tensor::from<std::uint8_t>({1, 2}, {130, 126}))
                       .input(scalar(0.5f))
                       .input(byte(128))
                       .input(Tensor::from<std::uint8_t>({2, 3}, {9, 255, 0, 8, 0, 255}))
                       .input(scalar(1))
                       .input(byte(8))
                       .input(scalar(2))
                       .input(byte(100))
                       .run({DType::kU8, {1, 3}});
  // Sums 2·1, 2·247 + 2·8 and -2·8 - 2·247; times 0.25 plus 100.
  EXPECT_EQ(values_of<std::uint8_t>(y), (std::vector<std::uint8_t>{100, 228, 0}));
}

TEST(ReferenceEinsum, ContractsTransposesTracesAndBroadcasts) {
  const Tensor a = floats({2, 3}, {1, 2, 3, 4, 5, 6}), b = floats({3, 2}, {1, 0, 0, 1, 1, 1});
  const auto einsum = [](const std::string& equation) {
    return KernelCase("Einsum", {{"equation", equation}});
  };
  EXPECT_EQ(values_of<float>(einsum("ij,jk->ik").input(a).input(b).run({DType::kF32, {2, 2}})),
            (std::vector<float>{4, 5, 10, 11}));
  EXPECT_EQ(values_of<float>(einsum("ij->ji").input(a).run({DType::kF32, {3, 2}})),
            (std::vector<float>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(
      values_of<float>(einsum("ii").input(floats({2, 2}, {1, 2, 3, 4})).run({DType::kF32, {}})),
      (std::vector<float>{5}));
  EXPECT_EQ(
      values_of<float>(
          einsum("...j, j -> ...").input(a).input(floats({3}, {1, 1, 1})).run({DType::kF32, {2}})),
      (std::vector<float>{6, 15}));
}

}  // namespace
}  // namespace inlay::reference
