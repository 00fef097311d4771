#include <gtest/gtest.h>

#include "tests/plugins/agreement.h"
#include "tests/plugins/onednn/random_shape.h"

namespace inlay {
namespace {

using Ints = std::vector<std::int64_t>;

std::string layout_of(std::int64_t choice, std::size_t rank) {
  if (choice == 0) return dense_layout(rank);
  return choice == 1 ? channels_last(rank) : channel_blocks(rank, has_cpu_feature("avx512f"));
}

// The pattern that offers a layout: row-major ones are offered at any rank.
std::string pool_pattern(std::int64_t choice, std::size_t spatial) {
  if (choice == 0) return "pool";
  return spatial == 1 ? "pool_sequence" : spatial == 2 ? "pool_image" : "pool_volume";
}

TEST(OnednnRandomWindow, PoolsInOneTwoAndThreeDimensions) {
  Agreement agreement("onednn", 2);
  int taken = 0;
  constexpr unsigned kCases = 90;
  for (unsigned seed = 0; seed < kCases; ++seed) {
    Draw draw(seed);
    const auto spatial = static_cast<std::size_t>(draw.between(1, 3));
    const auto rank = static_cast<std::int64_t>(spatial);
    const std::int64_t choice = draw.between(0, 2);
    const std::int64_t channels = draw.one_of<std::int64_t>({1, 3, 16, 17});
    const std::string op = draw.one_of<std::string>({"MaxPool", "AveragePool"});
    const bool counts_padding = op == "AveragePool" && draw.coin();
    const bool is_ceil = !counts_padding && draw.coin();
    const Shape extents = draw.shape(rank, 4, 7);
    Ints kernel = draw.shape(rank, 1, 3), strides = draw.shape(rank, 1, 4), pads, begin, end;
    Shape x{2, channels}, y{2, channels};
    for (std::size_t i = 0; i < spatial; ++i) {
      begin.push_back(draw.between(0, (kernel[i] - 1) / 2));
      end.push_back(draw.between(0, (kernel[i] - 1) / 2));
      const std::int64_t room = extents[i] + begin[i] + end[i] - kernel[i];
      std::int64_t extent = (room + (is_ceil ? strides[i] - 1 : 0)) / strides[i] + 1;
      // A window that would start in the padding at the end is not there.
      if ((extent - 1) * strides[i] >= extents[i] + begin[i]) --extent;
      x.push_back(extents[i]);
      y.push_back(extent);
    }
    pads = begin;
    pads.insert(pads.end(), end.begin(), end.end());
    Attributes attributes{{"kernel_shape", kernel},
                          {"strides", strides},
                          {"dilations", Ints(spatial, 1)},
                          {"pads", pads},
                          {"ceil_mode", std::int64_t{is_ceil}}};
    attributes[op == "MaxPool" ? "storage_order" : "count_include_pad"] =
        std::int64_t{counts_padding};
    const std::string layout = layout_of(choice, spatial + 2);
    RegionCase c(pool_pattern(choice, spatial), seed);
    c.apply(op, {c.input("X", x, layout)}, y, attributes, layout);
    const std::string found = agreement.check(c, seed + 1);
    if (found.starts_with("declined: ")) continue;
    EXPECT_EQ(found, "") << "seed " << seed << ", " << op << " in " << layout;
    ++taken;
  }
  // Declined are windows past padding that counts, and blocks that have no kernel for 1-D.
  EXPECT_GE(taken, static_cast<int>(kCases) * 3 / 4);
}

TEST(OnednnRandomWindow, GlobalPoolsOfEachChannel) {
  Agreement agreement("onednn", 2);
  for (const std::string op : {"GlobalAveragePool", "GlobalMaxPool"})
    for (std::size_t spatial = 1; spatial <= 3; ++spatial)
      for (std::int64_t choice = 0; choice < 3; ++choice) {
        const std::string layout = layout_of(choice, spatial + 2);
        Shape x{2, 32}, y{2, 32};
        for (std::size_t i = 0; i < spatial; ++i) {
          x.push_back(3 + static_cast<std::int64_t>(i));
          y.push_back(1);
        }
        RegionCase c(pool_pattern(choice, spatial));
        c.apply(op, {c.input("X", x, layout)}, y, {}, layout);
        EXPECT_EQ(agreement.check(c), "") << op << " in " << layout;
      }
}

TEST(OnednnRandomWindow, SumsFollowPoolsInsideThePrimitive) {
  Agreement agreement("onednn", 2);
  const Shape x{2, 32, 5, 5};
  const Attributes attributes{
      {"kernel_shape", Ints{3, 3}},   {"strides", Ints{1, 1}},
      {"dilations", Ints{1, 1}},      {"pads", Ints{1, 1, 1, 1}},
      {"ceil_mode", std::int64_t{0}}, {"count_include_pad", std::int64_t{0}}};
  for (std::int64_t choice = 1; choice < 3; ++choice) {
    const std::string layout = layout_of(choice, 4);
    RegionCase c("pool_image");
    const int pool = c.apply("AveragePool", {c.input("X", x, layout)}, x, attributes);
    const int sum = c.apply("Add", {pool, c.input("P", x, layout)}, x);
    c.apply("Relu", {sum}, x, {}, layout);
    EXPECT_EQ(agreement.check(c), "") << layout;
  }
}

TEST(OnednnRandomWindow, ReducesAnyAxes) {
  Agreement agreement("onednn", 2);
  for (unsigned seed = 0; seed < 90; ++seed) {
    Draw draw(seed);
    const std::int64_t rank = draw.between(1, 5);
    const Shape x = draw.shape(rank, 1, 6);
    const bool keeps = draw.coin();
    Ints axes;
    Shape y;
    for (std::int64_t axis = 0; axis < rank; ++axis) {
      if (draw.coin()) {
        axes.push_back(axis);
        if (keeps) y.push_back(1);
      } else {
        y.push_back(x[static_cast<std::size_t>(axis)]);
      }
    }
    if (axes.empty()) continue;
    const std::string op =
        draw.one_of<std::string>({"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd",
                                  "ReduceL1", "ReduceL2", "ReduceSumSquare"});
    RegionCase c("reduce", seed);
    c.apply(op, {c.input("X", x)}, y, {{"axes", axes}, {"keepdims", std::int64_t{keeps}}});
    const std::string found = agreement.check(c, seed + 1);
    if (found.ends_with(": nothing is reduced")) continue;
    EXPECT_EQ(found, "") << "seed " << seed << ", " << op;
  }
}

struct ResizeCase {
  std::string mode, coordinates, rounding;
  float scale;
  std::string reason;  // of its decline
};

TEST(OnednnRandomWindow, ResizesWhereTheDefinitionsMeet) {
  const std::string other = "declined: Resize: nearest elements chosen otherwise than oneDNN does";
  const std::string linear = "declined: Resize: only linear at half_pixel without antialias";
  const ResizeCase cases[] = {
      {"nearest", "half_pixel", "round_prefer_floor", 2, ""},
      {"nearest", "half_pixel", "round_prefer_ceil", 3, ""},
      {"nearest", "asymmetric", "floor", 2, ""},
      {"nearest", "asymmetric", "floor", 1.5f, other},
      {"nearest", "asymmetric", "ceil", 2, other},
      {"nearest", "align_corners", "floor", 2, other},
      {"linear", "half_pixel", "floor", 2, ""},
      {"linear", "half_pixel", "floor", 1.5f, ""},
      {"linear", "half_pixel", "floor", 0.5f, ""},
      {"linear", "align_corners", "floor", 2, linear},
      {"linear", "asymmetric", "floor", 2, linear},
      {"cubic", "half_pixel", "floor", 2, linear},
  };
  Agreement agreement("onednn", 2);
  for (const ResizeCase& r : cases)
    for (std::size_t spatial = 1; spatial <= 3; ++spatial) {
      Shape x{2, 3}, y{2, 3};
      std::vector<float> scales{1, 1};
      for (std::size_t i = 0; i < spatial; ++i) {
        x.push_back(4 + 2 * static_cast<std::int64_t>(i));
        y.push_back(static_cast<std::int64_t>(static_cast<float>(x.back()) * r.scale));
        scales.push_back(r.scale);
      }
      RegionCase c("resize");
      c.apply("Resize", {c.input("X", x)}, y,
              {{"mode", r.mode},
               {"coordinate_transformation_mode", r.coordinates},
               {"nearest_mode", r.rounding},
               {"scales", scales},
               {"cubic_coeff_a", -0.75f},
               {"extrapolation_value", 0.f},
               {"exclude_outside", std::int64_t{0}},
               {"antialias", std::int64_t{0}}});
      EXPECT_EQ(agreement.check(c), r.reason)
          << r.mode << ", " << r.coordinates << ", " << r.rounding << " by " << r.scale << ", "
          << spatial << "-D";
    }
}

}  // namespace
}  // namespace inlay
