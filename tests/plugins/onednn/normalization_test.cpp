#include <gtest/gtest.h>

#include "tests/plugins/agreement.h"
#include "tests/plugins/onednn/random_shape.h"

namespace inlay {
namespace {

TEST(OnednnNormalization, SoftmaxAlongAnyAxis) {
  Agreement agreement("onednn", 2);
  for (unsigned seed = 0; seed < 30; ++seed) {
    Draw draw(seed);
    const std::int64_t rank = draw.between(1, 5);
    const Shape x = draw.shape(rank, 1, 7);
    RegionCase c("softmax", seed);
    c.apply("Softmax", {c.input("X", x)}, x, {{"axis", draw.between(0, rank - 1)}});
    EXPECT_EQ(agreement.check(c, seed + 1), "") << "seed " << seed;
  }
}

TEST(OnednnNormalization, LayerNormFromAnyAxis) {
  Agreement agreement("onednn", 2);
  for (unsigned seed = 0; seed < 30; ++seed) {
    Draw draw(seed);
    const std::int64_t rank = draw.between(1, 4), axis = draw.between(0, rank - 1);
    const Shape x = draw.shape(rank, 2, 7);
    const Shape normalized(x.begin() + axis, x.end());
    RegionCase c("layer_normalization", seed);
    std::vector<int> operands{c.input("X", x), c.constant("S", normalized)};
    if (draw.coin()) operands.push_back(c.constant("B", normalized));
    c.apply("LayerNormalization", operands, x, {{"axis", axis}, {"epsilon", 1e-5f}});
    EXPECT_EQ(agreement.check(c, seed + 1), "") << "seed " << seed;
  }
}

TEST(OnednnNormalization, BatchNormUnfoldedInEveryRankAndLayout) {
  Agreement agreement("onednn", 2);
  const std::string blocks = channel_blocks(4, has_cpu_feature("avx512f"));
  for (const auto& [x, layout] : {std::pair<Shape, std::string>{{4, 5}, ""},
                                  {{2, 5, 9}, ""},
                                  {{2, 3, 4, 5}, ""},
                                  {{2, 17, 4, 5}, "acdb"},
                                  {{2, 16, 4, 5}, blocks},
                                  {{1, 3, 2, 4, 5}, ""}}) {
    for (const bool has_relu : {false, true}) {
      RegionCase c(layout.empty() ? "batch_normalization" : "batch_normalization_image");
      const std::int64_t channels = x[1];
      const int variance =
          c.constant("V", {channels}, std::vector<float>(static_cast<std::size_t>(channels), 0.5f));
      const int y = c.apply("BatchNormalization",
                            {c.input("X", x, layout), c.constant("S", {channels}),
                             c.constant("B", {channels}), c.constant("M", {channels}), variance},
                            x, {{"epsilon", 1e-5f}}, has_relu ? "" : layout);
      if (has_relu) c.apply("Relu", {y}, x, {}, layout);
      EXPECT_EQ(agreement.check(c), "") << to_string(TensorType{DType::kF32, x}) << layout;
    }
  }
}

TEST(OnednnNormalization, InstanceNormOfEveryPlane) {
  Agreement agreement("onednn", 2);
  for (const Shape& x : {Shape{1, 3, 5, 6}, Shape{2, 4, 7}, Shape{3, 2, 3, 4, 5}}) {
    RegionCase c("instance_normalization");
    c.apply("InstanceNormalization",
            {c.input("X", x), c.constant("S", {x[1]}), c.constant("B", {x[1]})}, x,
            {{"epsilon", 1e-5f}});
    const std::string found = agreement.check(c);
    EXPECT_EQ(found, "") << to_string(TensorType{DType::kF32, x});
  }
}

TEST(OnednnNormalization, LocalResponseOfNeighbouringChannels) {
  Agreement agreement("onednn", 2);
  const auto check = [&](std::int64_t size) {
    RegionCase c("lrn");
    c.apply("LRN", {c.input("X", {2, 16, 3, 4})}, {2, 16, 3, 4},
            {{"size", size}, {"alpha", 2e-2f}, {"beta", 0.75f}, {"bias", 1.f}});
    return agreement.check(c);
  };
  EXPECT_EQ(check(5), "");
  EXPECT_EQ(check(4), "declined: LRN: a window of even size has no middle");
}

}  // namespace
}  // namespace inlay
