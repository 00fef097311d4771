#include "core/base/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "core/base/rng.h"

namespace inlay {
namespace {

constexpr DType kAll[] = {DType::kF32, DType::kU8,  DType::kI8,   DType::kU16,   DType::kI16,
                          DType::kI32, DType::kI64, DType::kBool, DType::kF16,   DType::kF64,
                          DType::kU32, DType::kU64, DType::kBF16, DType::kString};

// A 16-bit float by its definition, in double: no trick that the code under test might share.
double value_of(std::uint16_t bits, int exponent_bits, int mantissa_bits) {
  const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == (1 << exponent_bits) - 1) {
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  const double fraction = std::ldexp(mantissa, -mantissa_bits);
  return exponent == 0 ? sign * std::ldexp(fraction, 1 - bias)
                       : sign * std::ldexp(1.0 + fraction, exponent - bias);
}

// The nearest by search over the finite values of that sign: the even one of two equally near; the
// infinity from half an ulp above the largest on.
std::uint16_t nearest(float value, int exponent_bits, int mantissa_bits) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const auto infinity = static_cast<std::uint16_t>(((1 << exponent_bits) - 1) << mantissa_bits);
  const double magnitude = std::fabs(static_cast<double>(value));
  const auto as_double = [&](std::uint16_t bits) {
    return value_of(bits, exponent_bits, mantissa_bits);
  };
  std::uint16_t low = 0;  // the largest value not above
  std::uint16_t high = infinity;
  while (high - low > 1) {
    const auto middle = static_cast<std::uint16_t>((low + high) / 2);
    (as_double(middle) <= magnitude ? low : high) = middle;
  }
  // The value that would follow the largest one if the exponent went on.
  const double above =
      high == infinity
          ? 2.0 * as_double(static_cast<std::uint16_t>(infinity - (1 << mantissa_bits)))
          : as_double(high);
  const double down = magnitude - as_double(low);
  const double up = above - magnitude;
  const bool is_up = up < down || (up == down && (low & 1) != 0);
  return sign | (is_up ? high : low);
}

TEST(DType, NamesAreReadBack) {
  for (const DType dtype : kAll) EXPECT_EQ(parse_dtype(name_of(dtype)), dtype);
  EXPECT_EQ(parse_dtype("float"), std::nullopt);
  EXPECT_EQ(name_of(static_cast<DType>(99)), "none");
}

TEST(DType, FloatsAndIntegersAreApart) {
  for (const DType dtype : kAll) EXPECT_FALSE(is_float(dtype) && is_integer(dtype));
  EXPECT_TRUE(is_float(DType::kBF16));
  EXPECT_TRUE(is_integer(DType::kU64));
  EXPECT_FALSE(is_integer(DType::kBool));
  EXPECT_FALSE(is_integer(DType::kString));
}

TEST(DType, Float16ValuesFollowTheDefinitionAndComeBack) {
  for (std::uint32_t i = 0; i <= 0xFFFF; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float value = f16_to_f32(bits);
    const double expected = value_of(bits, 5, 10);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(value));
      EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(value))));
    } else {
      ASSERT_EQ(static_cast<double>(value), expected) << i;
      ASSERT_EQ(std::signbit(value), (bits & 0x8000) != 0) << i;
      ASSERT_EQ(f32_to_f16(value), bits);
    }
  }
}

TEST(DType, BFloat16ValuesFollowTheDefinitionAndComeBack) {
  for (std::uint32_t i = 0; i <= 0xFFFF; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float value = bf16_to_f32(bits);
    const double expected = value_of(bits, 8, 7);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(value));
      EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(value))));
    } else {
      ASSERT_EQ(static_cast<double>(value), expected) << i;
      ASSERT_EQ(f32_to_bf16(value), bits);
    }
  }
}

TEST(DType, RoundingTakesTheNearestAndTheEvenOfTwo) {
  Rng rng(4);
  for (int i = 0; i < 100000; ++i) {
    auto bits = static_cast<std::uint32_t>(rng.next());
    // Half of them near the 16-bit grids, where the ties are.
    if (i % 2 == 0) bits &= i % 4 == 0 ? 0xFFFFF000u : 0xFFFF8000u;
    const auto value = std::bit_cast<float>(bits);
    if (std::isnan(value)) continue;
    ASSERT_EQ(f32_to_f16(value), nearest(value, 5, 10)) << value;
    if (std::isinf(value)) continue;
    ASSERT_EQ(f32_to_bf16(value), nearest(value, 8, 7)) << value;
  }
}

TEST(DType, RoundingAtTheEdgesOfFloat16) {
  EXPECT_EQ(f32_to_f16(65504.0f), 0x7BFF);
  EXPECT_EQ(f32_to_f16(65519.96f), 0x7BFF);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7C00);  // half way to what would be 65536: to even, infinity
  EXPECT_EQ(f32_to_f16(0x1p-25f), 0x0000);  // half the smallest: to even, zero
  EXPECT_EQ(f32_to_f16(std::nextafter(0x1p-25f, 1.0f)), 0x0001);
  EXPECT_EQ(f32_to_f16(-0.0f), 0x8000);
  EXPECT_EQ(f32_to_f16(std::nextafter(0x1p-14f, 0.0f)), 0x0400);  // up into the normal numbers
}

}  // namespace
}  // namespace inlay
