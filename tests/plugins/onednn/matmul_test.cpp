#include <gtest/gtest.h>

#include "tests/plugins/expected.h"
#include "tests/plugins/region_case.h"

namespace inlay {
namespace {

double relu(double v) { return std::max(v, 0.0); }

// The last two of `dims` exchanged, in every matrix of the stack.
std::vector<float> transposed(const std::vector<float>& values, std::int64_t rows,
                              std::int64_t columns) {
  std::vector<float> result(values.size());
  const auto matrix = static_cast<std::size_t>(rows * columns);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i % matrix) / columns,
               column = static_cast<std::int64_t>(i % matrix) % columns;
    result[i / matrix * matrix + static_cast<std::size_t>(column * rows + row)] = values[i];
  }
  return result;
}

TEST(OnednnMatmul, GemmTakesBiasActivationAndTransposedWeights) {
  for (const int threads : {1, 2}) {
    PluginBench bench("onednn", threads);
    for (const std::int64_t m : {1, 3, 64}) {
      const std::int64_t k = 65, n = 17;
      RegionCase c("gemm");
      const int a = c.input("A", {m, k}), b = c.constant("B", {n, k}), bias = c.constant("C", {n});
      const int y = c.apply("Gemm", {a, b, bias}, {m, n},
                            {{"transA", std::int64_t{0}},
                             {"transB", std::int64_t{1}},
                             {"alpha", 1.f},
                             {"beta", 1.f}});
      c.apply("Relu", {y}, {m, n});
      const Expectation product =
          expected_product(1, m, n, k, c.values(a), transposed(c.values(b), n, k));
      expect_near(c.run(bench), product.plus(c.values(bias)).map(relu));
    }
  }
}

TEST(OnednnMatmul, StackTimesOneMatrixWithBiasAndResidual) {
  PluginBench bench("onednn", 2);
  const std::int64_t batch = 2, m = 5, k = 33, n = 19;
  RegionCase c("matmul");
  const int a = c.input("A", {batch, m, k}), b = c.constant("B", {k, n}),
            bias = c.constant("C", {n});
  const int r = c.input("R", {batch, m, n});
  const int y = c.apply("MatMul", {a, b}, {batch, m, n});
  const int sum = c.apply("Add", {bias, y}, {batch, m, n});
  c.apply("Add", {sum, r}, {batch, m, n});
  const Expectation product = expected_product(1, batch * m, n, k, c.values(a), c.values(b));
  expect_near(c.run(bench), product.plus(c.values(bias)).plus(c.values(r)));
}

TEST(OnednnMatmul, BroadcastsOneMatrixOfTheStack) {
  PluginBench bench("onednn", 2);
  const std::int64_t batch = 3, m = 4, k = 8, n = 16;
  RegionCase c("matmul");
  const int a = c.input("A", {batch, m, k}), b = c.input("B", {1, k, n});
  c.apply("MatMul", {a, b}, {batch, m, n});
  expect_near(c.run(bench), expected_product(batch, m, n, k, c.values(a), c.values(b)));
}

TEST(OnednnMatmul, AttentionScoresWithTransposedKeyScaleAndMask) {
  PluginBench bench("onednn", 2);
  const std::int64_t heads = 3, m = 7, k = 16, n = 9;
  RegionCase c("matmul_transposed");
  const int a = c.input("A", {1, heads, m, k}), b = c.input("B", {1, heads, n, k});
  const int scale = c.constant("S", {}, std::vector<float>{8});
  const int mask = c.input("M", {1, 1, 1, n});
  const int t = c.apply("Transpose", {b}, {1, heads, k, n},
                        {{"perm", std::vector<std::int64_t>{0, 1, 3, 2}}});
  const int y = c.apply("MatMul", {a, t}, {1, heads, m, n});
  const int scaled = c.apply("Div", {y, scale}, {1, heads, m, n});
  c.apply("Add", {scaled, mask}, {1, heads, m, n});
  const Expectation product =
      expected_product(heads, m, n, k, c.values(a), transposed(c.values(b), n, k));
  expect_near(c.run(bench), product.map([](double v) { return v / 8; }).plus(c.values(mask)));
}

TEST(OnednnMatmul, ReadsHeadsInPlaceOfTransposingThem) {
  PluginBench bench("onednn", 1);
  const std::int64_t heads = 2, m = 5, k = 16;
  RegionCase c("matmul_both_transposed");
  const int a = c.input("A", {1, m, heads, k}), b = c.input("B", {1, m, heads, k});
  const int p = c.apply("Transpose", {a}, {1, heads, m, k},
                        {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
  const int q = c.apply("Transpose", {b}, {1, heads, k, m},
                        {{"perm", std::vector<std::int64_t>{0, 2, 3, 1}}});
  c.apply("MatMul", {p, q}, {1, heads, m, m});
  Expectation expected;
  for (std::int64_t h = 0; h < heads; ++h)
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < m; ++j) {
        double sum = 0, magnitude = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          const double product =
              double{c.values(a)[(i * heads + h) * k + l]} * c.values(b)[(j * heads + h) * k + l];
          sum += product;
          magnitude += std::abs(product);
        }
        expected.values.push_back(sum);
        expected.bounds.push_back(product_bound(k, magnitude));
      }
  expect_near(c.run(bench), expected);
}

TEST(OnednnMatmul, DeclinesAMatrixForGemmsC) {
  PluginBench bench("onednn", 1);
  RegionCase c("gemm");
  const int a = c.input("A", {4, 8}), b = c.constant("B", {8, 4}), bias = c.input("C", {4, 4});
  c.apply("Gemm", {a, b, bias}, {4, 4});
  EXPECT_EQ(c.reason_declined(bench), "Gemm: C is not one row");
}

}  // namespace
}  // namespace inlay
