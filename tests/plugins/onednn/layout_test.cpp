#include <gtest/gtest.h>

#include "core/host/manifest.h"
#include "tests/plugins/region_case.h"

namespace inlay {
namespace {

std::string block_layout() { return has_cpu_feature("avx512f") ? "aBcd16b" : "aBcd8b"; }

TEST(OnednnConvert, EveryPairOfLayoutsKeepsTheElements) {
  PluginBench bench("onednn", 2);
  for (const std::string& from : {std::string("abcd"), std::string("acdb"), block_layout()}) {
    for (const std::string& to : {std::string("abcd"), std::string("acdb"), block_layout()}) {
      if (from == to) continue;
      for (const std::int64_t channels : {3, 16, 17}) {
        RegionCase c("convert");
        const int x = c.input("X", {2, channels, 5, 7}, from);
        c.apply("inlay.Convert", {x}, {2, channels, 5, 7}, {}, to);
        EXPECT_EQ(c.run(bench), c.values(x))
            << from << " to " << to << ", " << channels << " channels";
      }
    }
  }
}

TEST(OnednnConcat, JoinsAlongTheAxisInEveryLayout) {
  PluginBench bench("onednn", 2);
  for (const std::string& layout : {std::string("abcd"), std::string("acdb"), block_layout()}) {
    RegionCase c("concat");
    const int a = c.input("0", {2, 16, 3, 3}, layout), b = c.input("1", {2, 32, 3, 3}, layout);
    c.apply("Concat", {a, b}, {2, 48, 3, 3}, {{"axis", std::int64_t{1}}}, layout);
    const std::vector<float> y = c.run(bench);
    ASSERT_EQ(y.size(), 2u * 48 * 9);
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::size_t image = i / (48 * 9), channel = i / 9 % 48, pixel = i % 9;
      const float want = channel < 16 ? c.values(a)[(image * 16 + channel) * 9 + pixel]
                                      : c.values(b)[(image * 32 + channel - 16) * 9 + pixel];
      ASSERT_EQ(y[i], want) << layout;
    }
  }
}

TEST(OnednnTranspose, PermutesTheAxes) {
  PluginBench bench("onednn", 2);
  RegionCase c("transpose");
  const int x = c.input("X", {2, 3, 4, 5});
  c.apply("Transpose", {x}, {2, 4, 3, 5}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
  const std::vector<float> y = c.run(bench);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t n = i / 60, h = i / 15 % 4, ch = i / 5 % 3, w = i % 5;
    EXPECT_EQ(y[i], c.values(x)[((n * 3 + ch) * 4 + h) * 5 + w]);
  }
}

TEST(OnednnSoftmax, SumsToOneAlongAnyAxis) {
  PluginBench bench("onednn", 2);
  const std::int64_t outer = 3, middle = 7, inner = 5;
  for (const std::int64_t axis : {0, 1, 2}) {
    SCOPED_TRACE(axis);
    RegionCase c("softmax");
    const int x = c.input("X", {outer, middle, inner});
    c.apply("Softmax", {x}, {outer, middle, inner}, {{"axis", axis}});
    const std::vector<float> y = c.run(bench);
    const std::size_t step = axis == 0 ? middle * inner : axis == 1 ? inner : 1;
    const std::size_t length = axis == 0 ? outer : axis == 1 ? middle : inner;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::size_t first = i - i / step % length * step;
      double sum = 0;
      for (std::size_t j = 0; j < length; ++j)
        sum += std::exp(double{c.values(x)[first + j * step]});
      EXPECT_NEAR(y[i], std::exp(double{c.values(x)[i]}) / sum, 1e-6);
    }
  }
}

TEST(OnednnNormalization, LayerNormalizationOverTheLastAxes) {
  PluginBench bench("onednn", 2);
  const std::int64_t rows = 6, columns = 37;
  RegionCase c("layer_normalization");
  const int x = c.input("X", {2, 3, columns}), s = c.constant("S", {columns}),
            b = c.constant("B", {columns});
  c.apply("LayerNormalization", {x, s, b}, {2, 3, columns},
          {{"axis", std::int64_t{2}}, {"epsilon", 1e-5f}});
  const std::vector<float> y = c.run(bench);
  for (std::int64_t i = 0; i < rows; ++i) {
    double mean = 0, variance = 0;
    for (std::int64_t j = 0; j < columns; ++j)
      mean += c.values(x)[i * columns + j] / double(columns);
    for (std::int64_t j = 0; j < columns; ++j) {
      const double d = c.values(x)[i * columns + j] - mean;
      variance += d * d / double(columns);
    }
    for (std::int64_t j = 0; j < columns; ++j) {
      const double want =
          (c.values(x)[i * columns + j] - mean) / std::sqrt(variance + 1e-5) * c.values(s)[j] +
          c.values(b)[j];
      EXPECT_NEAR(y[static_cast<std::size_t>(i * columns + j)], want,
                  5e-6);  // a mean of 37 in f32, scaled to unit variance
    }
  }
}

TEST(OnednnNormalization, BatchNormalizationWithReluInEveryLayout) {
  PluginBench bench("onednn", 2);
  const std::int64_t ch = 17;
  for (const std::string& layout : {std::string("abcd"), std::string("acdb"), block_layout()}) {
    RegionCase c("batch_normalization_image");
    const int x = c.input("X", {2, ch, 3, 3}, layout);
    const int s = c.constant("S", {ch}), b = c.constant("B", {ch}), m = c.constant("M", {ch});
    const int v = c.constant("V", {ch}, std::vector<float>(ch, 0.25f));
    const int y =
        c.apply("BatchNormalization", {x, s, b, m, v}, {2, ch, 3, 3}, {{"epsilon", 1e-3f}});
    c.apply("Relu", {y}, {2, ch, 3, 3}, {}, layout);
    const std::vector<float> found = c.run(bench);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::size_t k = i / 9 % ch;
      const double want =
          (c.values(x)[i] - double{c.values(m)[k]}) / std::sqrt(0.25 + 1e-3) * c.values(s)[k] +
          c.values(b)[k];
      EXPECT_NEAR(found[i], std::max(want, 0.0), 2e-6) << layout;
    }
  }
}

}  // namespace
}  // namespace inlay
