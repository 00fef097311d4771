#include <gtest/gtest.h>

#include "tests/plugins/agreement.h"
#include "tests/plugins/onednn/random_shape.h"

namespace inlay {
namespace {

constexpr unsigned kCases = 60;

TEST(OnednnMovement, SlicesOfAnyStartAndStep) {
  Agreement agreement("onednn", 2);
  for (unsigned seed = 0; seed < kCases; ++seed) {
    Draw draw(seed);
    const std::int64_t rank = draw.between(1, 5);
    const Shape x = draw.shape(rank, 1, 6);
    Shape y = x;
    std::vector<std::int64_t> starts, ends, axes, steps;
    for (std::int64_t axis = 0; axis < rank; ++axis) {
      if (draw.coin()) continue;
      const auto i = static_cast<std::size_t>(axis);
      axes.push_back(axis);
      starts.push_back(draw.between(0, x[i] - 1));
      steps.push_back(draw.between(1, 3));
      y[i] = draw.between(1, (x[i] - starts.back() + steps.back() - 1) / steps.back());
      ends.push_back(starts.back() + y[i] * steps.back());
    }
    const DType type = draw.one_of<DType>({DType::kF32, DType::kI32, DType::kBool, DType::kU8});
    RegionCase c("slice");
    c.apply_all("Slice", {c.input("X", {type, x})}, {{type, y}},
                {{"starts", starts}, {"ends", ends}, {"axes", axes}, {"steps", steps}});
    EXPECT_EQ(agreement.check(c), "") << "seed " << seed;
  }
}

TEST(OnednnMovement, SliceDeclinesToWalkBackwards) {
  Agreement agreement("onednn", 1);
  RegionCase c("slice");
  using Ints = std::vector<std::int64_t>;
  c.apply("Slice", {c.input("X", {4})}, {4},
          {{"starts", Ints{3}}, {"ends", Ints{-5}}, {"axes", Ints{0}}, {"steps", Ints{-1}}});
  EXPECT_EQ(agreement.check(c), "declined: Slice: oneDNN has no negative strides");
}

TEST(OnednnMovement, SplitsIntoUnequalParts) {
  Agreement agreement("onednn", 2);
  for (unsigned seed = 0; seed < kCases / 2; ++seed) {
    Draw draw(seed);
    const std::int64_t rank = draw.between(1, 4), axis = draw.between(0, rank - 1);
    Shape x = draw.shape(rank, 1, 5);
    std::vector<std::int64_t> split;
    for (std::int64_t i = draw.between(1, 4); i > 0; --i) split.push_back(draw.between(1, 3));
    std::vector<TensorType> parts;
    std::int64_t total = 0;
    for (const std::int64_t extent : split) {
      Shape part = x;
      part[static_cast<std::size_t>(axis)] = extent;
      parts.push_back({DType::kF32, part});
      total += extent;
    }
    x[static_cast<std::size_t>(axis)] = total;
    RegionCase c("split");
    c.apply_all("Split", {c.input("0", x)}, parts, {{"axis", axis}, {"split", split}});
    EXPECT_EQ(agreement.check(c), "") << "seed " << seed;
  }
}

std::string check_gather(Agreement& agreement, const Shape& x, std::int64_t axis,
                         const Shape& indices, const std::vector<std::int64_t>& chosen) {
  Shape y(x.begin(), x.begin() + axis);
  y.insert(y.end(), indices.begin(), indices.end());
  y.insert(y.end(), x.begin() + axis + 1, x.end());
  RegionCase c("gather");
  c.apply("Gather", {c.input("X", x), c.constant("I", Tensor::from<std::int64_t>(indices, chosen))},
          y, {{"axis", axis}});
  return agreement.check(c);
}

TEST(OnednnMovement, GatherOfOneIndexIsASlice) {
  Agreement agreement("onednn", 1);
  EXPECT_EQ(check_gather(agreement, {3, 4, 5}, 1, {}, {2}), "");
  EXPECT_EQ(check_gather(agreement, {3, 4, 5}, 0, {1}, {-1}), "");
  EXPECT_EQ(check_gather(agreement, {7}, 0, {1, 1}, {6}), "");
  EXPECT_EQ(check_gather(agreement, {7}, 0, {2}, {6, 0}),
            "declined: Gather: oneDNN has none; one constant index is a slice");
}

TEST(OnednnMovement, TransposesOfAnyOrder) {
  Agreement agreement("onednn", 2);
  for (unsigned seed = 0; seed < kCases / 2; ++seed) {
    Draw draw(seed);
    const std::int64_t rank = draw.between(1, 6);
    const Shape x = draw.shape(rank, 1, 5);
    const std::vector<std::int64_t> perm = draw.permutation(rank);
    Shape y;
    for (const std::int64_t axis : perm) y.push_back(x[static_cast<std::size_t>(axis)]);
    const DType type = draw.one_of<DType>({DType::kF32, DType::kI32, DType::kBool});
    RegionCase c("transpose");
    c.apply_all("Transpose", {c.input("X", {type, x})}, {{type, y}}, {{"perm", perm}});
    EXPECT_EQ(agreement.check(c), "") << "seed " << seed;
  }
}

TEST(OnednnMovement, TilesAndExpands) {
  Agreement agreement("onednn", 2);
  using Ints = std::vector<std::int64_t>;
  RegionCase tile("repeat");
  tile.apply("Tile", {tile.input("0", {2, 3, 1})}, {4, 3, 5}, {{"repeats", Ints{2, 1, 5}}});
  EXPECT_EQ(agreement.check(tile), "");
  RegionCase expand("repeat");
  expand.apply_all("Expand", {expand.input("0", {DType::kI32, {3, 1}})},
                   {{DType::kI32, {2, 3, 4}}});
  EXPECT_EQ(agreement.check(expand), "");
  RegionCase many("repeat");
  many.apply("Expand", {many.input("0", {1, 3})}, {40, 3});
  EXPECT_EQ(agreement.check(many), "declined: Expand: 40 copies, each a reorder of its own");
}

TEST(OnednnMovement, DepthBecomesSpaceAndBack) {
  Agreement agreement("onednn", 2);
  for (const char* mode : {"DCR", "CRD"}) {
    RegionCase c("depth");
    c.apply("DepthToSpace", {c.input("0", {2, 12, 3, 5})}, {2, 3, 6, 10},
            {{"blocksize", std::int64_t{2}}, {"mode", std::string(mode)}});
    EXPECT_EQ(agreement.check(c), "") << mode;
  }
  RegionCase back("depth");
  back.apply("SpaceToDepth", {back.input("0", {2, 3, 6, 9})}, {2, 27, 2, 3},
             {{"blocksize", std::int64_t{3}}});
  EXPECT_EQ(agreement.check(back), "");
}

TEST(OnednnMovement, ConcatenatesAlongAnyAxis) {
  Agreement agreement("onednn", 2);
  for (unsigned seed = 0; seed < kCases / 2; ++seed) {
    Draw draw(seed);
    const std::int64_t rank = draw.between(1, 5), axis = draw.between(0, rank - 1);
    const auto i = static_cast<std::size_t>(axis);
    Shape y = draw.shape(rank, 1, 5);
    y[i] = 0;
    RegionCase c("concat", seed);
    std::vector<int> operands;
    for (std::int64_t k = draw.between(1, 9); k > 0; --k) {
      Shape x = y;
      x[i] = draw.between(1, 4);
      y[i] += x[i];
      operands.push_back(draw.between(0, 4) == 0 ? c.constant("", x) : c.input("", x));
    }
    c.apply("Concat", operands, y, {{"axis", axis}});
    EXPECT_EQ(agreement.check(c), "") << "seed " << seed;
  }
}

TEST(OnednnMovement, ConcatenatesChannelsInTheirLayouts) {
  Agreement agreement("onednn", 2);
  for (const std::string& layout :
       {channels_last(4), channel_blocks(4, has_cpu_feature("avx512f"))}) {
    RegionCase c("concat_image");
    const std::vector<int> operands{c.input("0", {2, 16, 3, 5}, layout),
                                    c.input("1", {2, 32, 3, 5}, layout),
                                    c.input("2", {2, 16, 3, 5}, layout)};
    c.apply("Concat", operands, {2, 64, 3, 5}, {{"axis", std::int64_t{1}}}, layout);
    EXPECT_EQ(agreement.check(c), "") << layout;
  }
}

TEST(OnednnMovement, PadsWithANumberTheEdgeOrAReflection) {
  Agreement agreement("onednn", 2);
  for (unsigned seed = 0; seed < kCases; ++seed) {
    Draw draw(seed);
    const std::string mode = draw.one_of<std::string>({"constant", "edge", "reflect"});
    const std::int64_t rank = draw.between(1, 4), low = mode == "constant" ? -1 : 0;
    const Shape x = draw.shape(rank, 4, 6);
    Shape y = x;
    std::vector<std::int64_t> pads(static_cast<std::size_t>(2 * rank));
    for (std::size_t i = 0; i < pads.size(); ++i) {
      pads[i] = draw.between(low, 2);
      y[i % x.size()] += pads[i];
    }
    RegionCase c("pad");
    c.apply("Pad", {c.input("0", x)}, y, {{"pads", pads}, {"mode", mode}, {"value", 1.5f}});
    EXPECT_EQ(agreement.check(c), "") << "seed " << seed << ", " << mode;
  }
}

TEST(OnednnMovement, PadDeclinesWhatTakesTooManyReorders) {
  Agreement agreement("onednn", 1);
  const auto reason = [&](const std::string& mode) {
    RegionCase c("pad");
    c.apply("Pad", {c.input("0", {40})}, {60},
            {{"pads", std::vector<std::int64_t>{10, 10}}, {"mode", mode}, {"value", 0.f}});
    return agreement.check(c);
  };
  EXPECT_EQ(reason("reflect"), "declined: Pad: 20 borders, each a reorder of its own");
  EXPECT_EQ(reason("wrap"), "declined: Pad: wrapped around");
}

TEST(OnednnMovement, SmallIntegersAndBoolsBecomeFloats) {
  Agreement agreement("onednn", 2);
  for (const DType type : {DType::kBool, DType::kU8, DType::kI8, DType::kI32}) {
    RegionCase c("cast");
    c.apply("Cast", {c.input("X", {type, {3, 5, 7}})}, {3, 5, 7},
            {{"to", std::int64_t{1}}, {"saturate", std::int64_t{1}}});
    EXPECT_EQ(agreement.check(c), "") << to_string(TensorType{type, {}});
  }
}

}  // namespace
}  // namespace inlay
