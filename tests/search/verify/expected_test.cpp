#include "search/verify/expected.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "core/base/error.h"
#include "core/run/random_inputs.h"
#include "tests/search/verify/region_of.h"

namespace inlay {
namespace {

using Floats = std::vector<float>;

TensorType f32(Shape shape) { return {DType::kF32, std::move(shape)}; }

Floats floats(const Tensor& tensor) {
  return {tensor.as<float>().begin(), tensor.as<float>().end()};
}

// What the tests' own kernels compute with: plain f32, every operation rounded.
Floats matmul(const Floats& a, const Floats& b, int m, int k, int n, bool is_backwards) {
  Floats c(static_cast<std::size_t>(m * n));
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      volatile float sum = 0;
      for (int step = 0; step < k; ++step) {
        const int p = is_backwards ? k - 1 - step : step;
        sum = sum + a[static_cast<std::size_t>(i * k + p)] * b[static_cast<std::size_t>(p * n + j)];
      }
      c[static_cast<std::size_t>(i * n + j)] = sum;
    }
  }
  return c;
}

Floats softmax(const Floats& x, std::size_t row) {
  Floats y(x.size());
  for (std::size_t r = 0; r < x.size(); r += row) {
    float largest = x[r];
    for (std::size_t i = 0; i < row; ++i) largest = std::max(largest, x[r + i]);
    float sum = 0;
    for (std::size_t i = 0; i < row; ++i) sum += y[r + i] = std::exp(x[r + i] - largest);
    for (std::size_t i = 0; i < row; ++i) y[r + i] /= sum;
  }
  return y;
}

class ExpectedTest : public ::testing::Test {
 protected:
  // The region's answer by `kernel` is right on every trial.
  void expect_right(const Region& region, const std::string& tolerance,
                    const std::function<Floats(const std::vector<Tensor>&)>& kernel) {
    const Expected expected = expect(region, tolerance, host_, 1);
    ASSERT_EQ(expected.trials.size(), 3u);
    for (const Trial& trial : expected.trials) {
      const Tensor result = Tensor::from<float>(trial.outputs[0].shape(), kernel(trial.inputs));
      EXPECT_EQ(difference(expected, trial, {result}), "");
    }
  }

  // `change` in one element of the reference's own answer is found on every trial.
  void expect_caught(
      const Region& region, const std::string& tolerance,
      const std::function<float(float value, const Expected&, const Trial&)>& change) {
    const Expected expected = expect(region, tolerance, host_, 1);
    for (const Trial& trial : expected.trials) {
      Floats values = floats(trial.outputs[0]);
      values[1] = change(values[1], expected, trial);
      const Tensor result = Tensor::from<float>(trial.outputs[0].shape(), values);
      EXPECT_NE(difference(expected, trial, {result}), "") << trial.name;
    }
  }

  // The largest error that passes at element 1.
  static float bound(const Expected& expected, const Trial& trial) {
    return static_cast<float>(2 * static_cast<double>(expected.tolerance.depth) * 0x1p-24 *
                              static_cast<double>(trial.magnitudes[0].as<float>()[1]));
  }

  NullLog log_;
  PluginHost host_{log_,
                   {.search_path = {std::filesystem::path(INLAY_PLUGIN_DIR) / "reference.so"},
                    .exclude = {},
                    .threads = 1,
                    .parallel_for = {}}};
};

constexpr int kRows = 4;
constexpr int kInner = 300;
constexpr int kColumns = 5;

struct MatMulCase {
  Region region;
  Floats weight;
};

MatMulCase matmul_case() {
  Rng rng(9);
  const Tensor weight = random_tensor(f32({kInner, kColumns}), rng);
  GraphBuilder b("matmul");
  const ValueId x = b.input("x", f32({kRows, kInner}));
  b.output(b.node("mm", "MatMul", {x, b.constant("w", weight)}));
  return {region_of(b.build()), floats(weight)};
}

TEST_F(ExpectedTest, AcceptsAMatMulSummedInEitherDirection) {
  const MatMulCase c = matmul_case();
  for (const bool is_backwards : {false, true}) {
    expect_right(c.region, "accum", [&](const std::vector<Tensor>& in) {
      return matmul(floats(in[0]), c.weight, kRows, kInner, kColumns, is_backwards);
    });
  }
}

TEST_F(ExpectedTest, CatchesAnErrorAboveTheBoundOfAMatMul) {
  expect_caught(matmul_case().region, "accum", [](float v, const Expected& e, const Trial& t) {
    return v + 1.5f * bound(e, t) + 1e-5f * std::fabs(v);
  });
}

TEST_F(ExpectedTest, CatchesAMatMulThatForgetsOneProduct) {
  const MatMulCase c = matmul_case();
  const Expected expected = expect(c.region, "accum", host_, 1);
  for (const Trial& trial : expected.trials) {
    Floats x = floats(trial.inputs[0]);
    for (int i = 0; i < kRows; ++i) x[static_cast<std::size_t>(i * kInner + kInner - 1)] = 0;
    const Floats y = matmul(x, c.weight, kRows, kInner, kColumns, false);
    EXPECT_NE(difference(expected, trial, {Tensor::from<float>({kRows, kColumns}, y)}), "");
  }
}

TEST_F(ExpectedTest, BoundOfAMatMulIsTightEnoughToTellHalfPrecision) {
  expect_caught(matmul_case().region, "accum", [](float v, const Expected&, const Trial&) {
    return f16_to_f32(f32_to_f16(v)) + v * 0x1p-9f;
  });
}

TEST_F(ExpectedTest, AcceptsEveryActivationComputedInSinglePrecision) {
  const std::pair<const char*, std::function<float(float)>> activations[] = {
      {"Sigmoid", [](float x) { return 1.0f / (1.0f + std::exp(-x)); }},
      // The textbook form loses digits near zero: an absolute error of some 1e-7.
      {"Tanh",
       [](float x) {
         const float e = std::exp(-2 * std::fabs(x));
         return std::copysign((1 - e) / (1 + e), x);
       }},
      {"HardSwish", [](float x) { return x * std::min(std::max(x / 6 + 0.5f, 0.0f), 1.0f); }},
      {"Softplus", [](float x) { return x > 20 ? x : std::log(1 + std::exp(x)); }}};
  for (const auto& [op, function] : activations) {
    Rng rng(9);
    const Tensor weight = random_tensor(f32({kInner, kColumns}), rng);
    GraphBuilder b("activation");
    const ValueId x = b.input("x", f32({kRows, kInner}));
    b.output(b.node("f", op, {b.node("mm", "MatMul", {x, b.constant("w", weight)})}));
    expect_right(region_of(b.build()), "accum",
                 [&, &function = function](const std::vector<Tensor>& in) {
                   Floats y = matmul(floats(in[0]), floats(weight), kRows, kInner, kColumns, false);
                   for (float& v : y) v = function(v);
                   return y;
                 });
  }
}

TEST_F(ExpectedTest, AcceptsSoftmaxInSinglePrecisionAndCatchesOneInAThousand) {
  GraphBuilder b("softmax");
  const ValueId x = b.input("x", f32({8, 64}));
  b.output(b.node("softmax", "Softmax", {x}, {{"axis", std::int64_t{1}}}));
  const Region region = region_of(b.build());
  expect_right(region, "accum",
               [](const std::vector<Tensor>& in) { return softmax(floats(in[0]), 64); });
  expect_caught(region, "accum", [](float v, const Expected&, const Trial& t) {
    float largest = 0;
    for (const float o : t.outputs[0].as<float>()) largest = std::max(largest, o);
    return v + 1e-3f * largest;
  });
}

// The scores reach hundreds in the wide trial, where softmax multiplies their rounding errors.
TEST_F(ExpectedTest, AcceptsAttentionInSinglePrecision) {
  constexpr int kTokens = 16;
  constexpr int kWidth = 64;
  GraphBuilder b("attention");
  const ValueId q = b.input("q", f32({kTokens, kWidth}));
  const ValueId k = b.input("k", f32({kWidth, kTokens}));
  const ValueId v = b.input("v", f32({kTokens, kWidth}));
  const ValueId scale = b.constant("scale", Tensor::from<float>({1}, {0.125f}));
  const ValueId scores = b.node("scale", "Mul", {b.node("qk", "MatMul", {q, k}), scale});
  b.output(b.node("av", "MatMul",
                  {b.node("softmax", "Softmax", {scores}, {{"axis", std::int64_t{1}}}), v}));
  expect_right(region_of(b.build()), "accum", [](const std::vector<Tensor>& in) {
    Floats s = matmul(floats(in[0]), floats(in[1]), kTokens, kWidth, kTokens, true);
    for (float& e : s) e *= 0.125f;
    return matmul(softmax(s, kTokens), floats(in[2]), kTokens, kTokens, kWidth, true);
  });
}

TEST_F(ExpectedTest, AcceptsLayerNormalizationInSinglePrecision) {
  constexpr std::size_t kWidth = 256;
  GraphBuilder b("norm");
  const ValueId x = b.input("x", f32({4, kWidth}));
  Rng rng(9);
  const Tensor scale = random_tensor(f32({kWidth}), rng);
  b.output(b.node("norm", "LayerNormalization", {x, b.constant("s", scale)},
                  {{"axis", std::int64_t{1}}, {"epsilon", 1e-5f}}));
  expect_right(region_of(b.build()), "accum", [&](const std::vector<Tensor>& in) {
    Floats y = floats(in[0]);
    for (std::size_t r = 0; r < y.size(); r += kWidth) {
      float sum = 0;
      float squares = 0;
      for (std::size_t i = 0; i < kWidth; ++i) {
        sum += y[r + i];
        squares += y[r + i] * y[r + i];
      }
      const float mean = sum / kWidth;
      const float factor = 1 / std::sqrt(squares / kWidth - mean * mean + 1e-5f);
      for (std::size_t i = 0; i < kWidth; ++i)
        y[r + i] = (y[r + i] - mean) * factor * scale.as<float>()[i];
    }
    return y;
  });
}

TEST_F(ExpectedTest, CountsUlpsForOneElementwiseOperator) {
  GraphBuilder b("add");
  const ValueId x = b.input("x", f32({16}));
  b.output(b.node("mul", "Mul", {x, b.input("y", f32({16}))}));
  const Region region = region_of(b.build());
  const Expected expected = expect(region, "elementwise", host_, 1);
  for (const Trial& trial : expected.trials) {
    Floats values = floats(trial.outputs[0]);
    const float up = std::numeric_limits<float>::infinity();
    for (int i = 0; i < 2; ++i) values[3] = std::nextafter(values[3], up);
    EXPECT_EQ(difference(expected, trial, {Tensor::from<float>({16}, values)}), "");
    values[3] = std::nextafter(values[3], up);
    EXPECT_NE(difference(expected, trial, {Tensor::from<float>({16}, values)}), "");
  }
}

// (x + y) - x in one rounding is y; with every step rounded it may be any number of ulp away.
TEST_F(ExpectedTest, AcceptsAFusedElementwiseChainThatCancels) {
  GraphBuilder b("chain");
  const ValueId x = b.input("x", f32({64}));
  const ValueId big = b.constant("big", Tensor::from<float>({1}, {1000.0f}));
  const ValueId y = b.input("y", f32({64}));
  const ValueId scaled = b.node("scale", "Mul", {x, big});
  b.output(b.node("sub", "Sub", {b.node("add", "Add", {scaled, y}), scaled}));
  expect_right(region_of(b.build()), "elementwise",
               [](const std::vector<Tensor>& in) { return floats(in[1]); });
}

TEST_F(ExpectedTest, WantsEqualValuesWhereThePatternSaysExact) {
  GraphBuilder b("transpose");
  const ValueId x = b.input("x", f32({4, 4}));
  b.output(b.node("t", "Transpose", {x}, {{"perm", std::vector<std::int64_t>{1, 0}}}));
  const Region region = region_of(b.build());
  expect_caught(region, "exact", [](float v, const Expected&, const Trial&) {
    return std::nextafter(v, std::numeric_limits<float>::infinity());
  });
}

TEST_F(ExpectedTest, HoldsAReducedPatternToItsOwnClaim) {
  const Region region = matmul_case().region;
  const auto off_by = [](float share) {
    return [share](float v, const Expected&, const Trial& t) {
      float largest = 0;
      for (const float o : t.outputs[0].as<float>()) largest = std::max(largest, std::fabs(o));
      return v + share * largest;
    };
  };
  expect_caught(region, "reduced:0.01", off_by(0.011f));
  const Expected expected = expect(region, "reduced:0.01", host_, 1);
  for (const Trial& trial : expected.trials) {
    Floats values = floats(trial.outputs[0]);
    values[1] = off_by(0.009f)(values[1], expected, trial);
    EXPECT_EQ(difference(expected, trial, {Tensor::from<float>({kRows, kColumns}, values)}), "");
  }
}

TEST_F(ExpectedTest, RefusesAnUnknownTolerance) {
  EXPECT_THROW(expect(matmul_case().region, "roughly", host_, 1), Error);
}

}  // namespace
}  // namespace inlay
