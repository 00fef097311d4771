#include <gtest/gtest.h>

#include <limits>

#include "tests/plugins/conv_case.h"

namespace inlay {
namespace {

double relu(double v) { return std::max(v, 0.0); }

std::vector<float> transposed(const std::vector<float>& values, std::int64_t rows,
                              std::int64_t columns) {
  std::vector<float> result(values.size());
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      result[static_cast<std::size_t>(j * rows + i)] =
          values[static_cast<std::size_t>(i * columns + j)];
  return result;
}

TEST(OpenblasGemm, TakesEveryTranspositionScaleAndShapeOfC) {
  const std::int64_t k = 33;
  for (const int threads : {1, 2}) {
    PluginBench bench("openblas", threads);
    for (const auto& [m, n] :
         {std::pair<std::int64_t, std::int64_t>{1, 50}, {3, 17}, {130, 65}, {65, 130}, {50, 1}}) {
      for (const std::int64_t trans_a : {0, 1}) {
        for (const std::int64_t trans_b : {0, 1}) {
          for (const Shape& addend : {Shape{n}, Shape{m, 1}, Shape{m, n}, Shape{}, Shape{1, n}}) {
            SCOPED_TRACE(testing::Message()
                         << m << "x" << n << " " << trans_a << trans_b << " " << to_string(addend));
            RegionCase c("gemm");
            const int a = c.input("A", trans_a ? Shape{k, m} : Shape{m, k});
            const int b = c.constant("B", trans_b ? Shape{n, k} : Shape{k, n});
            const int d = c.input("C", addend);
            c.apply("Gemm", {a, b, d}, {m, n},
                    {{"alpha", 0.5f}, {"beta", 2.f}, {"transA", trans_a}, {"transB", trans_b}});
            Expectation want =
                expected_product(1, m, n, k, trans_a ? transposed(c.values(a), k, m) : c.values(a),
                                 trans_b ? transposed(c.values(b), n, k) : c.values(b));
            want = want.map([](double v) { return v / 2; });
            std::vector<float> spread;
            for (std::int64_t i = 0; i < m * n; ++i) {
              const std::int64_t at = addend.empty()          ? 0
                                      : addend == Shape{m, n} ? i
                                      : addend == Shape{m, 1} ? i / n
                                                              : i % n;
              spread.push_back(2 * c.values(d)[static_cast<std::size_t>(at)]);
            }
            expect_near(c.run(bench), want.plus(spread));
          }
        }
      }
    }
  }
}

TEST(OpenblasMatmul, AddsBiasAndResidualThenActivates) {
  const std::int64_t batch = 2, m = 40, k = 70, n = 96;
  std::vector<Activation> activations = common_activations();
  activations.push_back({"Gelu", {{"approximate", "tanh"}}, [](double v) {
                           const double inner = v + 0.044715 * v * v * v;
                           return 0.5 * v * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * inner));
                         }});
  for (const int threads : {1, 2}) {
    PluginBench bench("openblas", threads);
    for (const Activation& activation : activations) {
      SCOPED_TRACE(activation.op);
      RegionCase c("matmul_add");
      const int a = c.input("A", {batch, m, k}), b = c.constant("B", {k, n}),
                bias = c.constant("C", {n});
      const int r = c.input("R", {batch, m, n});
      const int y = c.apply("MatMul", {a, b}, {batch, m, n});
      const int sum = c.apply("Add", {bias, y}, {batch, m, n});
      const int whole = c.apply("Add", {sum, r}, {batch, m, n});
      c.apply(activation.op, {whole}, {batch, m, n}, activation.attributes);
      const Expectation product = expected_product(1, batch * m, n, k, c.values(a), c.values(b));
      expect_near(c.run(bench),
                  product.plus(c.values(bias)).plus(c.values(r)).map(activation.function));
    }
  }
}

TEST(OpenblasMatmul, StacksBroadcastBothWays) {
  const std::int64_t m = 5, k = 9, n = 7;
  for (const int threads : {1, 2}) {
    PluginBench bench("openblas", threads);
    RegionCase c("matmul_add");
    const int a = c.input("A", {3, 1, m, k}), b = c.input("B", {2, k, n}),
              mask = c.input("C", {2, 1, n});
    const int y = c.apply("MatMul", {a, b}, {3, 2, m, n});
    c.apply("Add", {y, mask}, {3, 2, m, n});
    const std::vector<float> found = c.run(bench);
    ASSERT_EQ(found.size(), static_cast<std::size_t>(6 * m * n));
    for (std::int64_t i = 0; i < 6; ++i)
      for (std::int64_t row = 0; row < m; ++row)
        for (std::int64_t column = 0; column < n; ++column) {
          double sum = c.values(mask)[static_cast<std::size_t>(i % 2 * n + column)];
          for (std::int64_t l = 0; l < k; ++l) {
            sum += double{c.values(a)[static_cast<std::size_t>((i / 2 * m + row) * k + l)]} *
                   c.values(b)[static_cast<std::size_t>((i % 2 * k + l) * n + column)];
          }
          ASSERT_NEAR(found[static_cast<std::size_t>((i * m + row) * n + column)], sum,
                      product_bound(k, k + 1.0));
        }
  }
}

TEST(OpenblasMatmul, NanStaysNanInTheActivation) {
  PluginBench bench("openblas", 1);
  RegionCase c("matmul");
  const int a =
      c.input("A", {2, 1}, std::vector<float>{std::numeric_limits<float>::quiet_NaN(), -1});
  const int y = c.apply("MatMul", {a, c.constant("B", {1, 1}, std::vector<float>{1})}, {2, 1});
  c.apply("Relu", {y}, {2, 1});
  const std::vector<float> found = c.run(bench);
  EXPECT_TRUE(std::isnan(found[0]));
  EXPECT_EQ(found[1], 0);
}

std::vector<ConvShape> shapes() {
  return {
      stem_shape(),
      {.n = 3, .c = 5, .h = 7, .w = 9, .o = 3, .kernel_h = 1, .kernel_w = 1},
      {.n = 1, .c = 64, .h = 20, .w = 20, .o = 48, .kernel_h = 1, .kernel_w = 1},
      {.n = 2, .c = 8, .h = 8, .w = 8, .o = 4, .kernel_h = 1, .kernel_w = 1, .strides = {2, 2}},
      {.n = 2,
       .c = 16,
       .h = 12,
       .w = 31,
       .o = 16,
       .kernel_h = 3,
       .kernel_w = 3,
       .pads = {1, 1, 1, 1}},
      dilated_shape(),
      // The padding is wider than the image, and the window reads past both sides.
      {.n = 1,
       .c = 2,
       .h = 3,
       .w = 3,
       .o = 2,
       .kernel_h = 5,
       .kernel_w = 5,
       .strides = {3, 3},
       .pads = {4, 4, 4, 4}},
      // Several tiles of output pixels: a window of 576 leaves 455 of them.
      {.n = 1,
       .c = 64,
       .h = 40,
       .w = 41,
       .o = 8,
       .kernel_h = 3,
       .kernel_w = 3,
       .pads = {1, 1, 1, 1}},
  };
}

TEST(OpenblasConv, MatchesTheDefinitionInBothLayouts) {
  for (const int threads : {1, 2}) {
    PluginBench bench("openblas", threads);
    for (std::size_t i = 0; i < shapes().size(); ++i) {
      const ConvShape s = shapes()[i];
      for (const std::string layout : {"abcd", "acdb"}) {
        SCOPED_TRACE(testing::Message() << "shape " << i << " in " << layout << " on " << threads);
        RegionCase c("conv");
        const int x = c.input("X", s.input(), layout), w = c.constant("W", s.weights()),
                  b = c.constant("B", {s.o});
        c.apply("Conv", {x, w, b}, s.output(), s.attributes(), layout);
        expect_near(c.run(bench), expected_conv(s, c.values(x), c.values(w), c.values(b)));
      }
    }
  }
}

TEST(OpenblasConv, ResidualIsAddedBeforeTheActivation) {
  for (const int threads : {1, 2}) {
    PluginBench bench("openblas", threads);
    for (const std::size_t i : {0u, 1u, 4u}) {
      const ConvShape s = shapes()[i];
      for (const std::string layout : {"abcd", "acdb"}) {
        SCOPED_TRACE(testing::Message() << "shape " << i << " in " << layout);
        RegionCase c("conv_add");
        const int x = c.input("X", s.input(), layout), r = c.input("R", s.output(), layout);
        const int w = c.constant("W", s.weights());
        const int y = c.apply("Conv", {x, w}, s.output(), s.attributes());
        const int sum = c.apply("Add", {y, r}, s.output());
        c.apply("Relu", {sum}, s.output(), {}, layout);
        expect_near(c.run(bench),
                    expected_conv(s, c.values(x), c.values(w), {}).plus(c.values(r)).map(relu));
      }
    }
  }
}

TEST(OpenblasConv, TwoInstancesRunAtOnce) {
  PluginBench bench("openblas", 2);
  const ConvShape s = shapes()[7];
  ConvCase c(s);
  const std::vector<float> found = run_at_once(c.region, bench);
  expect_near(found, expected_conv(s, c.region.values(c.x), c.region.values(c.w), {}));
}

TEST(OpenblasConv, DeclinesGroups) {
  PluginBench bench("openblas", 1);
  const ConvShape s{
      .n = 1, .c = 4, .h = 4, .w = 4, .o = 4, .kernel_h = 1, .kernel_w = 1, .group = 4};
  EXPECT_EQ(ConvCase(s).region.reason_declined(bench),
            "conv: 'Conv.group == 1' does not hold");
}

}  // namespace
}  // namespace inlay
