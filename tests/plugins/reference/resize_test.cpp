#include "tests/plugins/reference/kernel_case.h"

namespace inlay::reference {
namespace {

Tensor resize(const Tensor& x, const std::string& mode, const std::string& coordinates,
              const std::vector<float>& scales, Shape shape,
              const std::string& nearest = "round_prefer_floor", Attributes more = {}) {
  more.merge(Attributes{{"mode", mode},
                        {"coordinate_transformation_mode", coordinates},
                        {"nearest_mode", nearest},
                        {"scales", scales}});
  return KernelCase("Resize", more).input(x).run({x.dtype(), std::move(shape)});
}

TEST(ReferenceResize, NearestModesDifferAtHalves) {
  const Tensor x = floats({4}, {0, 1, 2, 3});
  // half_pixel at scale 1/2: coordinates 0.5 and 2.5.
  EXPECT_EQ(values_of<float>(resize(x, "nearest", "half_pixel", {0.5f}, {2})),
            (std::vector<float>{0, 2}));
  EXPECT_EQ(values_of<float>(resize(x, "nearest", "half_pixel", {0.5f}, {2}, "round_prefer_ceil")),
            (std::vector<float>{1, 3}));
  EXPECT_EQ(values_of<float>(resize(x, "nearest", "half_pixel", {0.5f}, {2}, "floor")),
            (std::vector<float>{0, 2}));
  EXPECT_EQ(values_of<float>(resize(x, "nearest", "half_pixel", {0.5f}, {2}, "ceil")),
            (std::vector<float>{1, 3}));
  EXPECT_EQ(values_of<float>(resize(x, "nearest", "asymmetric", {2}, {8}, "floor")),
            (std::vector<float>{0, 0, 1, 1, 2, 2, 3, 3}));
}

TEST(ReferenceResize, RoundedScalesStandForTheExactQuotient) {
  // 0.6 in f32 is a little large; 3 / it would floor to 4 rather than 5 without the quotient.
  const Tensor y = resize(floats({10}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), "nearest", "asymmetric",
                          {0.6f}, {6}, "floor");
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{0, 1, 3, 5, 6, 8}));
}

TEST(ReferenceResize, LinearCoordinateModes) {
  const Tensor x = floats({2}, {0, 4});
  EXPECT_EQ(values_of<float>(resize(x, "linear", "half_pixel", {2}, {4})),
            (std::vector<float>{0, 1, 3, 4}));
  EXPECT_EQ(values_of<float>(resize(x, "linear", "asymmetric", {2}, {4})),
            (std::vector<float>{0, 2, 4, 4}));
  expect_close(resize(x, "linear", "align_corners", {2}, {4}), {0, 4.0 / 3, 8.0 / 3, 4});
  EXPECT_EQ(values_of<float>(resize(x, "linear", "pytorch_half_pixel", {0.5f}, {1})),
            (std::vector<float>{0}));
}

TEST(ReferenceResize, CubicReproducesStraightLinesInside) {
  // Keys' kernel has linear precision: a ramp stays a ramp away from the borders.
  const Tensor y = resize(floats({6}, {0, 1, 2, 3, 4, 5}), "cubic", "half_pixel", {2}, {12},
                          "round_prefer_floor", {{"cubic_coeff_a", -0.5f}});
  for (int i = 4; i < 8; ++i) EXPECT_NEAR(y.as<float>()[i], (i + 0.5) / 2 - 0.5, 1e-6);
}

TEST(ReferenceResize, SeparatesDimensions) {
  Rng rng(1);
  const Tensor x = random_floats(rng, {1, 2, 3, 4});
  const Tensor both = resize(x, "linear", "half_pixel", {1, 1, 2, 3}, {1, 2, 6, 12});
  const Tensor rows = resize(x, "linear", "half_pixel", {1, 1, 2, 1}, {1, 2, 6, 4});
  const Tensor then = resize(rows, "linear", "half_pixel", {1, 1, 1, 3}, {1, 2, 6, 12});
  // The intermediate tensor is rounded to f32 once more.
  for (std::size_t i = 0; i < both.as<float>().size(); ++i)
    ASSERT_NEAR(both.as<float>()[i], then.as<float>()[i], 2e-7);
}

TEST(ReferenceResize, AntialiasedReductionAverages) {
  const Tensor y = resize(floats({4}, {1, 1, 5, 5}), "linear", "half_pixel", {0.5f}, {2},
                          "round_prefer_floor", {{"antialias", std::int64_t{1}}});
  // Triangle of half width 2 around 0.5: weights .25 (outside, clamped to 0), .75, .75, .25 over
  // their sum.
  expect_close(y,
               {(0.25 + 0.75 + 0.75 + 0.25 * 5) / 2, (0.25 + 0.75 * 5 + 0.75 * 5 + 0.25 * 5) / 2});
}

TEST(ReferenceResize, CropExtrapolatesOutside) {
  const Tensor y =
      resize(floats({3}, {1, 2, 3}), "linear", "tf_crop_and_resize", {1}, {3}, "round_prefer_floor",
             {{"roi", std::vector<float>{0.5f, 1.5f}}, {"extrapolation_value", 9.0f}});
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{2, 3, 9}));
}

TEST(ReferenceGridSample, IdentityGridReturnsTheImage) {
  const Tensor x = floats({1, 1, 2, 2}, {1, 2, 3, 4});
  const Tensor grid = floats({1, 2, 2, 2}, {-1, -1, 1, -1, -1, 1, 1, 1});
  for (const char* mode : {"linear", "nearest", "cubic"}) {
    const Tensor y = KernelCase("GridSample", {{"mode", std::string(mode)},
                                               {"padding_mode", std::string("zeros")},
                                               {"align_corners", std::int64_t{1}}})
                         .input(x)
                         .input(grid)
                         .run({DType::kF32, {1, 1, 2, 2}});
    EXPECT_EQ(values_of<float>(y), values_of<float>(x)) << mode;
  }
}

TEST(ReferenceGridSample, PaddingModes) {
  const Tensor x = floats({1, 1, 1, 2}, {1, 3});
  const Tensor grid = floats({1, 1, 2, 2}, {-2, 0, 0, 0});
  const auto sample = [&](const std::string& padding) {
    return values_of<float>(KernelCase("GridSample", {{"mode", std::string("linear")},
                                                      {"padding_mode", padding},
                                                      {"align_corners", std::int64_t{0}}})
                                .input(x)
                                .input(grid)
                                .run({DType::kF32, {1, 1, 1, 2}}));
  };
  // x = -1.5: outside, clamped to 0, and mirrored at -0.5 to 0.5; the middle is 2.
  EXPECT_EQ(sample("zeros"), (std::vector<float>{0, 2}));
  EXPECT_EQ(sample("border"), (std::vector<float>{1, 2}));
  EXPECT_EQ(sample("reflection"), (std::vector<float>{2, 2}));
}

}  // namespace
}  // namespace inlay::reference
