#include "core/run/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/error.h"

namespace inlay {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Tensor floats(const std::vector<float>& values) {
  return Tensor::from<float>({static_cast<std::int64_t>(values.size())}, values);
}

float up(float value, int ulps) {
  for (int i = 0; i < ulps; ++i) value = std::nextafter(value, kInf);
  return value;
}

bool equal(float want, float got, const char* tolerance) {
  return compare(floats({want}), floats({got}), parse_tolerance(tolerance)).is_equal();
}

TEST(Compare, ExactAllowsSignedZeroAndNothingElse) {
  EXPECT_TRUE(equal(1, 1, "exact"));
  EXPECT_TRUE(equal(0.0f, -0.0f, "exact"));
  EXPECT_FALSE(equal(1, up(1, 1), "exact"));
}

TEST(Compare, ElementwiseAllowsTwoUlp) {
  for (const float want : {1.0f, 1.7f, 1e-30f, -3e7f, 1e-44f, 0.0f}) {
    EXPECT_TRUE(equal(want, up(want, 2), "elementwise")) << want;
    EXPECT_FALSE(equal(want, up(want, 3), "elementwise")) << want;
  }
}

TEST(Compare, TranscendentalAllowsTheLargerOfItsBounds) {
  EXPECT_TRUE(equal(1e-3f, 1e-3f + 0.99e-6f, "transcendental"));
  EXPECT_FALSE(equal(1e-3f, 1e-3f + 1.01e-6f, "transcendental"));
  EXPECT_TRUE(equal(1e6f, up(1e6f, 16), "transcendental"));
  EXPECT_FALSE(equal(1e6f, up(1e6f, 17), "transcendental"));
}

TEST(Compare, AccumFollowsTheMagnitude) {
  const Tensor want = floats({1, 1});
  const Tensor magnitude = floats({1000, 1});
  const Tolerance tolerance = parse_tolerance("accum", 100);
  // 2 * 100 * 2^-24 * 1000 = 1.2e-2 for the first, 1.2e-5 for the second
  EXPECT_TRUE(compare(want, floats({1.0118f, 1.0000118f}), tolerance, &magnitude).is_equal());
  const Comparison first = compare(want, floats({1.0122f, 1}), tolerance, &magnitude);
  EXPECT_EQ(first.failures, 1);
  EXPECT_EQ(first.first.index, 0);
  EXPECT_EQ(compare(want, floats({1, 1.0000123f}), tolerance, &magnitude).first.index, 1);
}

TEST(Compare, AccumAllowsTheRoundingOfTheResult) {
  const Tolerance tolerance = parse_tolerance("accum", 1);
  const Tensor zero = floats({0});
  EXPECT_TRUE(compare(floats({1}), floats({up(1, 1)}), tolerance, &zero).is_equal());
  EXPECT_FALSE(compare(floats({1}), floats({up(1, 2)}), tolerance, &zero).is_equal());
  Tensor half = Tensor::from<std::uint16_t>({1}, {0x3c00});  // 1 and 1 + 2^-10
  Tensor next = Tensor::from<std::uint16_t>({1}, {0x3c01});
  half = Tensor({DType::kF16, {1}}, std::shared_ptr<const std::byte>(half.data(), [half](auto) {}));
  next = Tensor({DType::kF16, {1}}, std::shared_ptr<const std::byte>(next.data(), [next](auto) {}));
  EXPECT_TRUE(compare(half, next, tolerance, &zero).is_equal());
}

TEST(Compare, AccumNeedsAMagnitude) {
  EXPECT_THROW(compare(floats({1}), floats({1}), parse_tolerance("accum", 3)), Error);
  const Tensor other = floats({1, 2});
  EXPECT_THROW(compare(floats({1}), floats({1}), parse_tolerance("accum", 3), &other), Error);
}

TEST(Compare, ReducedAndEndToEndAreRelativeToTheLargest) {
  const Tensor want = floats({100, 0, kInf});
  EXPECT_TRUE(
      compare(want, floats({100, 0.99f, kInf}), parse_tolerance("reduced:1e-2")).is_equal());
  EXPECT_FALSE(
      compare(want, floats({100, 1.01f, kInf}), parse_tolerance("reduced:1e-2")).is_equal());
  EXPECT_TRUE(compare(want, floats({100.09f, 0, kInf}), parse_tolerance("end_to_end")).is_equal());
  EXPECT_FALSE(compare(want, floats({100.11f, 0, kInf}), parse_tolerance("end_to_end")).is_equal());
}

TEST(Compare, MatchesNanWithNanAndInfinityWithItsSign) {
  for (const char* tolerance :
       {"exact", "elementwise", "transcendental", "reduced:0.5", "end_to_end"}) {
    EXPECT_TRUE(equal(kNan, -kNan, tolerance));
    EXPECT_TRUE(equal(kInf, kInf, tolerance));
    EXPECT_FALSE(equal(kInf, -kInf, tolerance));
    EXPECT_FALSE(equal(kNan, 1, tolerance));
    EXPECT_FALSE(equal(1, kNan, tolerance));
    EXPECT_FALSE(equal(3e38f, kInf, tolerance));
    EXPECT_FALSE(equal(kInf, 3e38f, tolerance));
  }
}

TEST(Compare, TellsLargeIntegersApart) {
  const std::int64_t large = (std::int64_t{1} << 60) + 1;
  const Tensor want = Tensor::from<std::int64_t>({2}, {large, -large});
  EXPECT_TRUE(compare(want, want, parse_tolerance("end_to_end")).is_equal());
  const Tensor got = Tensor::from<std::int64_t>({2}, {large, -large + 1});
  EXPECT_EQ(compare(want, got, parse_tolerance("end_to_end")).first.index, 1);
}

TEST(Compare, ReportsFirstAndWorst) {
  const Comparison c =
      compare(floats({1, 2, 3, 4}), floats({1, 2.5f, 3, 9}), parse_tolerance("exact"));
  EXPECT_EQ(c.count, 4);
  EXPECT_EQ(c.failures, 2);
  EXPECT_EQ(c.first, (Deviation{1, 2.5, 2, 0}));
  const Comparison d =
      compare(floats({1, 2, 3, 4}), floats({1, 2.5f, 3, 9}), parse_tolerance("end_to_end"));
  EXPECT_EQ(d.worst.index, 3);
  EXPECT_DOUBLE_EQ(d.worst_ratio, 5 / (4e-3));
  EXPECT_EQ(describe(d),
            "2 of 4 elements out of bounds, first at 1: got 2.5, want 2, bound 0.004; worst at 3: "
            "got 9, want 4, bound 0.004");
}

TEST(Compare, RefusesOtherTypes) {
  EXPECT_THROW(compare(floats({1}), floats({1, 2}), {}), Error);
  EXPECT_THROW(compare(floats({1}), Tensor::from<std::int32_t>({1}, {1}), {}), Error);
}

TEST(Compare, OfNothingIsEqual) { EXPECT_TRUE(compare(floats({}), floats({}), {}).is_equal()); }

TEST(ParseTolerance, RefusesOtherWords) {
  for (const char* text : {"", "exactly", "reduced", "reduced:", "reduced:-1", "reduced:x",
                           "reduced:1x", "reduced:inf", "reduced:nan"}) {
    EXPECT_THROW(parse_tolerance(text), Error) << text;
  }
  EXPECT_EQ(to_string(parse_tolerance("reduced:0.05")), "reduced:0.05");
}

}  // namespace
}  // namespace inlay
