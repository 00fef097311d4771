#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "core/host/manifest.h"
#include "tests/plugins/region_case.h"

namespace inlay {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The class "transcendental": max(1e-6, 16 ulp).
double transcendental_bound(double value) {
  return std::max(1e-6, std::ldexp(std::abs(value), -19));
}

// Which of the plugin's patterns has the operator.
std::string pattern_of(const std::string& op) {
  static const std::set<std::string> kArithmetic = {"LeakyRelu", "Abs", "Neg", "Round", "Sqrt"};
  if (op == "Relu" || op == "Clip") return "clip";
  return kArithmetic.count(op) != 0 ? "unary_arithmetic" : "unary";
}

TEST(OnednnEltwise, UnaryOperatorsKeepTheirToleranceClass) {
  PluginBench bench("onednn", 2);
  struct Case {
    std::string op;
    Attributes attributes;
    double (*function)(double);
  };
  const Case cases[] = {
      {"Sigmoid", {}, [](double v) { return 1 / (1 + std::exp(-v)); }},
      {"Tanh", {}, [](double v) { return std::tanh(v); }},
      {"HardSwish", {}, [](double v) { return v * std::clamp(v / 6 + 0.5, 0.0, 1.0); }},
      {"Elu", {{"alpha", 1.5f}}, [](double v) { return v < 0 ? 1.5 * std::expm1(v) : v; }},
      {"Gelu",
       {{"approximate", "none"}},
       [](double v) { return 0.5 * v * std::erfc(-v / std::sqrt(2.0)); }},
      {"Gelu",
       {{"approximate", "tanh"}},
       [](double v) {
         return 0.5 * v *
                (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (v + 0.044715 * v * v * v)));
       }},
      {"Swish", {{"alpha", 1.f}}, [](double v) { return v / (1 + std::exp(-v)); }},
      {"Mish", {}, [](double v) { return v * std::tanh(std::log1p(std::exp(v))); }},
      {"LeakyRelu", {{"alpha", 0.1f}}, [](double v) { return v < 0 ? double{0.1f} * v : v; }},
      {"Abs", {}, [](double v) { return std::abs(v); }},
      {"Neg", {}, [](double v) { return -v; }},
      {"Round", {}, [](double v) { return std::nearbyint(v); }},
  };
  std::vector<float> points;
  for (int i = -400; i <= 400; ++i) points.push_back(static_cast<float>(i) / 40);
  const Shape shape{static_cast<std::int64_t>(points.size())};
  for (const Case& unary : cases) {
    SCOPED_TRACE(unary.op);
    RegionCase c(pattern_of(unary.op));
    const int x = c.input("X", shape, points);
    c.apply(unary.op, {x}, shape, unary.attributes);
    const std::vector<float> y = c.run(bench);
    ASSERT_EQ(y.size(), points.size());
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double want = unary.function(points[i]);
      EXPECT_NEAR(y[i], want, transcendental_bound(want)) << "at " << points[i];
    }
  }
}

TEST(OnednnEltwise, SquareRootOfPositiveValues) {
  PluginBench bench("onednn", 1);
  std::vector<float> points;
  for (int i = 1; i <= 300; ++i) points.push_back(static_cast<float>(i) / 9);
  const Shape shape{static_cast<std::int64_t>(points.size())};
  RegionCase c("unary_arithmetic");
  c.apply("Sqrt", {c.input("X", shape, points)}, shape);
  const std::vector<float> y = c.run(bench);
  for (std::size_t i = 0; i < y.size(); ++i)
    EXPECT_EQ(y[i], std::sqrt(points[i])) << "at " << points[i];
}

TEST(OnednnEltwise, RunsInItsInputsMemoryWhereTheManifestSaysSo) {
  PluginBench bench("onednn", 2);
  const Shape shape{2, 17, 5, 5};
  const std::vector<std::pair<std::string, std::string>> cases{
      {"clip", "Relu"},        {"unary", "Tanh"},
      {"unary", "Gelu"},       {"unary_arithmetic", "Neg"},
      {"softmax", "Softmax"},  {"binary_image", "Add"},
      {"binary_image", "Sub"}, {"layer_normalization", "LayerNormalization"}};
  for (const auto& [pattern, op] : cases) {
    RegionCase c(pattern);
    const int x = c.input("X", shape);
    std::vector<int> operands{x};
    if (pattern == "binary_image") operands.push_back(c.input("B", shape));
    if (pattern == "layer_normalization") operands.push_back(c.constant("S", {5}));
    Attributes attributes;
    if (op == "Softmax" || pattern == "layer_normalization") attributes["axis"] = std::int64_t{3};
    c.apply(op, operands, shape, attributes);
    std::string reason;
    const std::unique_ptr<Program> program = c.compile(bench, &reason);
    ASSERT_TRUE(program) << op << ": " << reason;
    EXPECT_EQ(c.run(*program, Place::kFirstInput), c.run(*program)) << op;
  }
}

TEST(OnednnEltwise, NanStaysNan) {
  PluginBench bench("onednn", 1);
  const std::vector<float> points{kNan, -kInfinity, -1, 0, 2, kInfinity, kNan, 3};
  for (const std::string op : {"Relu", "Clip", "LeakyRelu", "Sigmoid", "Tanh", "HardSwish", "Elu",
                               "Gelu", "Swish", "Mish", "Sqrt", "Abs", "Neg", "Round"}) {
    RegionCase c(pattern_of(op));
    Attributes attributes;
    if (op == "Clip") attributes = {{"min", -0.5f}, {"max", 2.5f}};
    c.apply(op, {c.input("X", {8}, points)}, {8}, attributes);
    const std::vector<float> y = c.run(bench);
    EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[6])) << op << " gives " << y[0];
  }
}

TEST(OnednnEltwise, ClipKeepsItsBoundsExactly) {
  PluginBench bench("onednn", 2);
  RegionCase c("clip");
  const std::vector<float> points{-kInfinity, -1, 0.25f, 2, kInfinity};
  c.apply("Clip", {c.input("X", {5}, points)}, {5}, {{"max", 0.5f}});
  EXPECT_EQ(c.run(bench), (std::vector<float>{-kInfinity, -1, 0.25f, 0.5f, 0.5f}));
}

TEST(OnednnEltwise, ClipDeclinesToFillThePaddingOfBlocks) {
  PluginBench bench("onednn", 1);
  RegionCase c("clip_image");
  const int x = c.input("X", {1, 17, 2, 2}, "aBcd16b");
  c.apply("Clip", {x}, {1, 17, 2, 2}, {{"min", 0.5f}}, "aBcd16b");
  EXPECT_EQ(c.reason_declined(bench), "Clip: the padding of a blocked layout would not stay zero");
}

TEST(OnednnEltwise, ActivationsOfBlocksLeaveThePaddingZero) {
  PluginBench bench("onednn", 2);
  const std::string block = has_cpu_feature("avx512f") ? "aBcd16b" : "aBcd8b";
  RegionCase c("unary_image");
  const int x = c.input("X", {2, 17, 3, 3}, block);
  c.apply("Sigmoid", {x}, {2, 17, 3, 3}, {}, block);
  const std::vector<float> y = c.run(bench);
  for (std::size_t i = 0; i < y.size(); ++i)
    EXPECT_NEAR(y[i], 1 / (1 + std::exp(-double{c.values(x)[i]})), 1e-6);
}

double apply_binary(const std::string& op, double a, double b) {
  if (op == "Add") return a + b;
  if (op == "Sub") return a - b;
  if (op == "Mul") return a * b;
  if (op == "Div") return a / b;
  return op == "Max" ? std::max(a, b) : std::min(a, b);
}

TEST(OnednnEltwise, BinaryOperatorsBroadcastTheSmallerOperand) {
  PluginBench bench("onednn", 2);
  const std::int64_t n = 2, ch = 5, s = 3;
  const std::vector<Shape> others{{n, ch, s, s}, {ch, 1, 1}, {1}, {s}, {n, ch, 1, 1}, {}};
  for (const std::string op : {"Add", "Sub", "Mul", "Div", "Max", "Min"}) {
    for (const Shape& other : others) {
      SCOPED_TRACE(op + " " + to_string(other));
      RegionCase c("binary");
      const int a = c.input("A", {n, ch, s, s}), b = c.input("B", other);
      c.apply(op, {a, b}, {n, ch, s, s});
      if (const std::string reason = c.reason_declined(bench); !reason.empty()) {
        ADD_FAILURE() << reason;
        continue;
      }
      const std::vector<float> y = c.run(bench);
      for (std::size_t i = 0; i < y.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        std::int64_t from = at;
        if (other == Shape{ch, 1, 1}) from = at / (s * s) % ch;
        if (other == Shape{s}) from = at % s;
        if (other == Shape{n, ch, 1, 1}) from = at / (s * s);
        if (element_count(other) == 1) from = 0;
        const double want =
            apply_binary(op, c.values(a)[i], c.values(b)[static_cast<std::size_t>(from)]);
        ASSERT_NEAR(y[i], want, std::ldexp(std::abs(want), -22) + 1e-12);
      }
    }
  }
}

TEST(OnednnEltwise, BinaryOnBlocksWithChannelScale) {
  PluginBench bench("onednn", 2);
  const std::string block = has_cpu_feature("avx512f") ? "aBcd16b" : "aBcd8b";
  for (const std::string& layout : {std::string("acdb"), block}) {
    RegionCase c("scale_channels_image");
    const int a = c.input("A", {2, 17, 4, 4}, layout), b = c.input("B", {2, 17, 1, 1}, layout);
    c.apply("Mul", {a, b}, {2, 17, 4, 4}, {}, layout);
    const std::vector<float> y = c.run(bench);
    for (std::size_t i = 0; i < y.size(); ++i)
      EXPECT_EQ(y[i], c.values(a)[i] * c.values(b)[i / 16]) << layout;
  }
}

}  // namespace
}  // namespace inlay
