#include <gtest/gtest.h>

#include <limits>

#include "core/host/manifest.h"
#include "tests/plugins/expected.h"
#include "tests/plugins/region_case.h"

namespace inlay {
namespace {

std::string block_layout() { return has_cpu_feature("avx512f") ? "aBcd16b" : "aBcd8b"; }

struct PoolShape {
  std::int64_t n, c, h, w, kernel, stride;
  std::vector<std::int64_t> pads{0, 0, 0, 0};
  std::int64_t out_h, out_w;

  Attributes attributes(std::int64_t counts_padding) const {
    return {{"kernel_shape", std::vector<std::int64_t>{kernel, kernel}},
            {"strides", std::vector<std::int64_t>{stride, stride}},
            {"dilations", std::vector<std::int64_t>{1, 1}},
            {"pads", pads},
            {"ceil_mode", std::int64_t{0}},
            {"count_include_pad", counts_padding}};
  }
};

std::vector<double> expected_pool(const PoolShape& s, const std::vector<float>& x, bool is_max,
                                  bool counts_padding) {
  std::vector<double> result;
  for (std::int64_t plane = 0; plane < s.n * s.c; ++plane)
    for (std::int64_t y = 0; y < s.out_h; ++y)
      for (std::int64_t z = 0; z < s.out_w; ++z) {
        double best = -std::numeric_limits<double>::infinity(), sum = 0;
        std::int64_t inside = 0;
        for (std::int64_t i = 0; i < s.kernel; ++i)
          for (std::int64_t j = 0; j < s.kernel; ++j) {
            const std::int64_t row = y * s.stride - s.pads[0] + i,
                               column = z * s.stride - s.pads[1] + j;
            if (row < 0 || row >= s.h || column < 0 || column >= s.w) continue;
            const double value = x[static_cast<std::size_t>((plane * s.h + row) * s.w + column)];
            best = std::max(best, value);
            sum += value;
            ++inside;
          }
        result.push_back(
            is_max ? best
                   : sum / static_cast<double>(counts_padding ? s.kernel * s.kernel : inside));
      }
  return result;
}

TEST(OnednnPool, MatchesTheDefinitionInEveryLayout) {
  const PoolShape shapes[] = {
      {.n = 1,
       .c = 3,
       .h = 8,
       .w = 9,
       .kernel = 3,
       .stride = 2,
       .pads = {1, 1, 1, 1},
       .out_h = 4,
       .out_w = 5},
      {.n = 2, .c = 17, .h = 6, .w = 6, .kernel = 2, .stride = 2, .out_h = 3, .out_w = 3},
      // ceil_mode: the last window reaches past the input
      {.n = 1, .c = 5, .h = 6, .w = 6, .kernel = 3, .stride = 2, .out_h = 3, .out_w = 3},
      // asymmetric
      {.n = 1,
       .c = 16,
       .h = 5,
       .w = 5,
       .kernel = 2,
       .stride = 1,
       .pads = {0, 0, 1, 1},
       .out_h = 5,
       .out_w = 5},
  };
  for (const int threads : {1, 2}) {
    PluginBench bench("onednn", threads);
    for (const PoolShape& s : shapes) {
      for (const std::string& layout : {std::string("abcd"), std::string("acdb"), block_layout()}) {
        for (const std::string op : {"MaxPool", "AveragePool"}) {
          SCOPED_TRACE(op + " " + layout + " channels " + std::to_string(s.c));
          RegionCase c("pool");
          const int x = c.input("X", {s.n, s.c, s.h, s.w}, layout);
          c.apply(op, {x}, {s.n, s.c, s.out_h, s.out_w}, s.attributes(0), layout);
          const std::vector<double> want = expected_pool(s, c.values(x), op == "MaxPool", false);
          const std::vector<float> y = c.run(bench);
          ASSERT_EQ(y.size(), want.size());
          // An average of at most 9 values below 1.
          for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], want[i], 1e-6) << i;
        }
      }
    }
  }
}

TEST(OnednnPool, CountsPaddingWhereAsked) {
  PluginBench bench("onednn", 1);
  const PoolShape s{.n = 1,
                    .c = 3,
                    .h = 8,
                    .w = 9,
                    .kernel = 3,
                    .stride = 2,
                    .pads = {1, 1, 1, 1},
                    .out_h = 4,
                    .out_w = 5};
  RegionCase c("pool");
  const int x = c.input("X", {s.n, s.c, s.h, s.w});
  c.apply("AveragePool", {x}, {s.n, s.c, s.out_h, s.out_w}, s.attributes(1));
  const std::vector<double> want = expected_pool(s, c.values(x), false, true);
  const std::vector<float> y = c.run(bench);
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], want[i], 1e-6);
}

TEST(OnednnPool, DeclinesAveragesPastThePaddingThatCounts) {
  PluginBench bench("onednn", 1);
  const PoolShape s{
      .n = 1, .c = 5, .h = 6, .w = 6, .kernel = 3, .stride = 2, .out_h = 3, .out_w = 3};
  RegionCase c("pool");
  c.apply("AveragePool", {c.input("X", {1, 5, 6, 6})}, {1, 5, 3, 3}, s.attributes(1));
  EXPECT_EQ(c.reason_declined(bench),
            "a window reaches past the padding that counts in its average");
}

TEST(OnednnPool, GlobalAverageOfEachChannel) {
  PluginBench bench("onednn", 2);
  for (const std::string& layout : {std::string("abcd"), std::string("acdb"), block_layout()}) {
    RegionCase c("pool");
    const int x = c.input("X", {2, 17, 5, 7}, layout);
    c.apply("GlobalAveragePool", {x}, {2, 17, 1, 1}, {}, layout);
    const std::vector<float> y = c.run(bench);
    for (std::size_t i = 0; i < y.size(); ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < 35; ++j) sum += c.values(x)[i * 35 + j];
      EXPECT_NEAR(y[i], sum / 35, 1e-6) << layout;
    }
  }
}

TEST(OnednnReduce, ReducesTheAxesNamed) {
  PluginBench bench("onednn", 2);
  for (const std::string op : {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"}) {
    SCOPED_TRACE(op);
    RegionCase c("reduce");
    const int x = c.input("X", {3, 5, 4, 4});
    c.apply(op, {x}, {3, 5},
            {{"axes", std::vector<std::int64_t>{2, 3}}, {"keepdims", std::int64_t{0}}});
    const std::vector<float> y = c.run(bench);
    ASSERT_EQ(y.size(), 15u);
    for (std::size_t i = 0; i < y.size(); ++i) {
      double sum = 0, low = 2, high = -2;
      for (std::size_t j = 0; j < 16; ++j) {
        const double v = c.values(x)[i * 16 + j];
        sum += v, low = std::min(low, v), high = std::max(high, v);
      }
      const double want = op == "ReduceMean"  ? sum / 16
                          : op == "ReduceSum" ? sum
                          : op == "ReduceMax" ? high
                                              : low;
      EXPECT_NEAR(y[i], want, 1e-5);  // 16 terms below 1: 16 * 16 * 2^-24
    }
  }
}

TEST(OnednnResize, DoublesByRepeatingElements) {
  PluginBench bench("onednn", 2);
  for (const std::string& layout : {std::string("abcd"), std::string("acdb"), block_layout()}) {
    RegionCase c("resize");
    const int x = c.input("X", {1, 5, 3, 4}, layout);
    c.apply("Resize", {x}, {1, 5, 6, 8},
            {{"mode", "nearest"},
             {"coordinate_transformation_mode", "asymmetric"},
             {"nearest_mode", "floor"},
             {"scales", std::vector<float>{1, 1, 2, 2}}},
            layout);
    const std::vector<float> y = c.run(bench);
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::size_t plane = i / 48, row = i % 48 / 8, column = i % 8;
      EXPECT_EQ(y[i], c.values(x)[plane * 12 + row / 2 * 4 + column / 2]) << layout;
    }
  }
}

TEST(OnednnResize, LinearSamplesAtPixelCentres) {
  PluginBench bench("onednn", 1);
  RegionCase c("resize");
  const int x = c.input("X", {1, 2, 3, 4});
  c.apply("Resize", {x}, {1, 2, 6, 8},
          {{"mode", "linear"},
           {"coordinate_transformation_mode", "half_pixel"},
           {"scales", std::vector<float>{1, 1, 2, 2}}});
  const std::vector<float> y = c.run(bench);
  const auto sample = [&](std::size_t plane, double row, double column) {
    row = std::clamp(row, 0.0, 2.0), column = std::clamp(column, 0.0, 3.0);
    const auto at = [&](double r, double q) {
      return double{
          c.values(x)[plane * 12 + static_cast<std::size_t>(r) * 4 + static_cast<std::size_t>(q)]};
    };
    const double top = std::floor(row), left = std::floor(column), down = std::min(top + 1, 2.0),
                 right = std::min(left + 1, 3.0);
    const double v = row - top, u = column - left;
    return (1 - v) * ((1 - u) * at(top, left) + u * at(top, right)) +
           v * ((1 - u) * at(down, left) + u * at(down, right));
  };
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double row = (static_cast<double>(i % 48 / 8) + 0.5) / 2 - 0.5,
                 column = (static_cast<double>(i % 8) + 0.5) / 2 - 0.5;
    EXPECT_NEAR(y[i], sample(i / 48, row, column), 1e-6);
  }
}

TEST(OnednnResize, DeclinesOtherRoundingOfNearest) {
  PluginBench bench("onednn", 1);
  RegionCase c("resize");
  c.apply("Resize", {c.input("X", {1, 1, 2, 2})}, {1, 1, 3, 3},
          {{"mode", "nearest"},
           {"coordinate_transformation_mode", "asymmetric"},
           {"nearest_mode", "floor"},
           {"scales", std::vector<float>{1, 1, 1.5f, 1.5f}}});
  EXPECT_EQ(c.reason_declined(bench), "Resize: nearest elements chosen otherwise than oneDNN does");
}

}  // namespace
}  // namespace inlay
