#include <gtest/gtest.h>

#include "core/host/manifest.h"
#include "tests/plugins/conv_case.h"

namespace inlay {
namespace {

struct LayoutCase {
  std::string x, y;
};

std::string block_layout() { return has_cpu_feature("avx512f") ? "aBcd16b" : "aBcd8b"; }

std::vector<LayoutCase> layouts() {
  return {{"abcd", "abcd"}, {"acdb", "acdb"}, {block_layout(), block_layout()}};
}

std::vector<ConvShape> shapes() {
  return {
      stem_shape(),
      {.n = 2, .c = 5, .h = 7, .w = 9, .o = 3, .kernel_h = 1, .kernel_w = 1},
      {.n = 2,
       .c = 32,
       .h = 8,
       .w = 8,
       .o = 16,
       .kernel_h = 3,
       .kernel_w = 3,
       .pads = {1, 1, 1, 1}},
      dilated_shape(),
      {.n = 2,
       .c = 32,
       .h = 9,
       .w = 9,
       .o = 32,
       .kernel_h = 3,
       .kernel_w = 3,
       .group = 32,
       .pads = {1, 1, 1, 1}},
      {.n = 1,
       .c = 32,
       .h = 6,
       .w = 6,
       .o = 64,
       .kernel_h = 3,
       .kernel_w = 3,
       .group = 2,
       .pads = {1, 1, 1, 1}},
  };
}

// Runs one shape in one pair of layouts; false if oneDNN declined it, which it may except where
// `must_run`.
bool check_conv(PluginBench& bench, const ConvShape& s, const LayoutCase& layout) {
  RegionCase c("conv");
  const int x = c.input("X", s.input(), layout.x);
  const int w = c.constant("W", s.weights()), b = c.constant("B", {s.o});
  c.apply("Conv", {x, w, b}, s.output(), s.attributes(), layout.y);
  if (!c.reason_declined(bench).empty()) return false;
  expect_near(c.run(bench), expected_conv(s, c.values(x), c.values(w), c.values(b)));
  return true;
}

TEST(OnednnConv, MatchesTheDefinitionInEveryLayoutOnOneAndTwoThreads) {
  for (const int threads : {1, 2}) {
    PluginBench bench("onednn", threads);
    for (std::size_t i = 0; i < shapes().size(); ++i) {
      int ran = 0;
      for (const LayoutCase& layout : layouts()) {
        SCOPED_TRACE(testing::Message() << "shape " << i << ", " << layout.x << " to " << layout.y);
        ran += check_conv(bench, shapes()[i], layout) ? 1 : 0;
      }
      EXPECT_GE(ran, 2) << "shape " << i << " runs in too few layouts";
    }
  }
}

TEST(OnednnConv, StemGoesFromRowMajorToBlocks) {
  PluginBench bench("onednn", 2);
  EXPECT_TRUE(check_conv(bench, shapes()[0], {"abcd", block_layout()}));
}

TEST(OnednnConv, ActivationsFollowInsideThePrimitive) {
  PluginBench bench("onednn", 2);
  const ConvShape s = shapes()[0];
  std::vector<Activation> activations = common_activations();
  activations.push_back(
      {"HardSwish", {}, [](double v) { return v * std::clamp(v / 6 + 0.5, 0.0, 1.0); }});
  activations.push_back({"HardSigmoid", {{"alpha", 0.2f}, {"beta", 0.5f}}, [](double v) {
                           return std::clamp(0.2 * v + 0.5, 0.0, 1.0);
                         }});
  activations.push_back(
      {"Elu", {{"alpha", 1.f}}, [](double v) { return v < 0 ? std::expm1(v) : v; }});
  for (const Activation& activation : activations) {
    SCOPED_TRACE(activation.op);
    // The stem has 17 output channels: Sigmoid of the padding's zeros would be one half.
    for (const LayoutCase& layout :
         {LayoutCase{"acdb", "acdb"}, LayoutCase{"abcd", block_layout()}}) {
      RegionCase c("conv");
      const int x = c.input("X", s.input(), layout.x);
      const int w = c.constant("W", s.weights()), b = c.constant("B", {s.o});
      const int y = c.apply("Conv", {x, w, b}, s.output(), s.attributes());
      c.apply(activation.op, {y}, s.output(), activation.attributes, layout.y);
      const Expectation conv = expected_conv(s, c.values(x), c.values(w), c.values(b));
      expect_near(c.run(bench), conv.map(activation.function));
    }
  }
}

TEST(OnednnConv, SpeltOutSwishFollowsInsideThePrimitive) {
  PluginBench bench("onednn", 1);
  const ConvShape s = shapes()[2];
  ConvCase c(s);
  const int gate = c.region.apply("Sigmoid", {c.y}, s.output());
  c.region.apply("Mul", {c.y, gate}, s.output());
  const Expectation conv = expected_conv(s, c.region.values(c.x), c.region.values(c.w), {});
  expect_near(c.region.run(bench), conv.map([](double v) { return v / (1 + std::exp(-v)); }));
}

TEST(OnednnConv, ResidualIsAddedAndLeftAlone) {
  for (const int threads : {1, 2}) {
    PluginBench bench("onednn", threads);
    for (const std::size_t i : {1u, 2u, 4u}) {
      const ConvShape s = shapes()[i];
      for (const LayoutCase& layout : layouts()) {
        SCOPED_TRACE(testing::Message() << "shape " << i << " in " << layout.x);
        RegionCase c("conv");
        const int x = c.input("X", s.input(), layout.x), r = c.input("R", s.output(), layout.y);
        const int w = c.constant("W", s.weights()), b = c.constant("B", {s.o});
        const int y = c.apply("Conv", {x, w, b}, s.output(), s.attributes());
        const int sum = c.apply("Add", {r, y}, s.output());
        c.apply("Relu", {sum}, s.output(), {}, layout.y);
        if (const std::string reason = c.reason_declined(bench); !reason.empty()) {
          EXPECT_EQ(layout.x, "abcd") << reason;  // no kernel of its own for depthwise row-major
          continue;
        }
        const Expectation conv =
            expected_conv(s, c.values(x), c.values(w), c.values(b)).plus(c.values(r));
        expect_near(c.run(bench), conv.map([](double v) { return std::max(v, 0.0); }));
      }
    }
  }
}

TEST(OnednnConv, TwoInstancesRunAtOnce) {
  PluginBench bench("onednn", 2);
  const ConvShape s{.n = 1,
                    .c = 32,
                    .h = 28,
                    .w = 28,
                    .o = 32,
                    .kernel_h = 3,
                    .kernel_w = 3,
                    .pads = {1, 1, 1, 1}};
  ConvCase c(s);
  const std::vector<float> found = run_at_once(c.region, bench);
  expect_near(found, expected_conv(s, c.region.values(c.x), c.region.values(c.w), {}));
}

TEST(OnednnConv, TransposedConvolutionScattersItsInput) {
  PluginBench bench("onednn", 2);
  constexpr std::int64_t kIn = 6, kOut = 4, kSize = 5, kKernel = 3, kStride = 2, kGroup = 2;
  constexpr std::int64_t kOutSize =
      (kSize - 1) * kStride + kKernel - 2 + 1;  // pads 1, output_padding 1
  RegionCase c("conv_transpose");
  const int x = c.input("X", {1, kIn, kSize, kSize});
  const int w = c.constant("W", {kIn, kOut / kGroup, kKernel, kKernel});
  c.apply("ConvTranspose", {x, w}, {1, kOut, kOutSize, kOutSize},
          {{"strides", std::vector<std::int64_t>{kStride, kStride}},
           {"dilations", std::vector<std::int64_t>{1, 1}},
           {"pads", std::vector<std::int64_t>{1, 1, 1, 1}},
           {"output_padding", std::vector<std::int64_t>{1, 1}},
           {"group", kGroup}});
  if (const std::string reason = c.reason_declined(bench); !reason.empty()) GTEST_SKIP() << reason;
  Expectation expected;
  expected.values.assign(kOut * kOutSize * kOutSize, 0);
  expected.bounds.assign(expected.values.size(),
                         product_bound(kIn * kKernel * kKernel, kIn * kKernel * kKernel));
  for (std::int64_t i = 0; i < kIn; ++i)
    for (std::int64_t o = 0; o < kOut / kGroup; ++o)
      for (std::int64_t at = 0; at < kSize * kSize; ++at)
        for (std::int64_t tap = 0; tap < kKernel * kKernel; ++tap) {
          const std::int64_t row = at / kSize * kStride + tap / kKernel - 1;
          const std::int64_t column = at % kSize * kStride + tap % kKernel - 1;
          if (row < 0 || row >= kOutSize || column < 0 || column >= kOutSize) continue;
          const std::int64_t channel = i / (kIn / kGroup) * (kOut / kGroup) + o;
          expected.values[(channel * kOutSize + row) * kOutSize + column] +=
              double{c.values(x)[i * kSize * kSize + at]} *
              c.values(w)[(i * (kOut / kGroup) + o) * kKernel * kKernel + tap];
        }
  expect_near(c.run(bench), expected);
}

TEST(OnednnConv, DeclinesNegativePadding) {
  PluginBench bench("onednn", 1);
  const ConvShape s{
      .n = 1, .c = 4, .h = 8, .w = 8, .o = 4, .kernel_h = 1, .kernel_w = 1, .pads = {-1, 0, 0, 0}};
  EXPECT_EQ(ConvCase(s).region.reason_declined(bench), "negative padding");
}

}  // namespace
}  // namespace inlay
