#include "graphs/onnx/given_value.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <tuple>

#include "core/base/dtype.h"
#include "core/base/error.h"

namespace inlay {
namespace {

bool holds(DType dtype, double number) {
  try {
    given_value({dtype, {2}}, number, "x");
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("input 'x'"), std::string::npos) << error.what();
    return false;
  }
}

TEST(GivenValue, NoNumberBecomesInfiniteOrNothing) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  struct Range {
    DType dtype;
    double most, too_large, too_small;
  };
  for (const Range& r :
       {Range{DType::kF32, 3.4e38, 3.5e38, 1e-46}, Range{DType::kF16, 65504, 66000, 1e-9},
        Range{DType::kBF16, 3.38e38, 3.4e38, 1e-42}}) {
    for (const double sign : {1.0, -1.0}) {
      EXPECT_TRUE(holds(r.dtype, sign * r.most));
      EXPECT_FALSE(holds(r.dtype, sign * r.too_large));
      EXPECT_FALSE(holds(r.dtype, sign * 1e300));
      EXPECT_FALSE(holds(r.dtype, sign * r.too_small));
      EXPECT_TRUE(holds(r.dtype, sign * kInfinity));
    }
    EXPECT_TRUE(holds(r.dtype, 0));
    EXPECT_TRUE(holds(r.dtype, std::nan("")));
  }
  EXPECT_EQ(given_value({DType::kF32, {}}, -kInfinity, "x"),
            Tensor::from<float>({}, {-std::numeric_limits<float>::infinity()}));
}

TEST(GivenValue, IntegersTakeWhatTheirTypeHolds) {
  for (const auto& [dtype, least, most] :
       {std::tuple(DType::kI8, -128.0, 127.0), std::tuple(DType::kU8, 0.0, 255.0),
        std::tuple(DType::kI16, -32768.0, 32767.0), std::tuple(DType::kU16, 0.0, 65535.0),
        std::tuple(DType::kI32, -2147483648.0, 2147483647.0),
        std::tuple(DType::kU32, 0.0, 4294967295.0), std::tuple(DType::kI64, -0x1p63, 0x1p63 - 1024),
        std::tuple(DType::kBool, 0.0, 1.0)}) {
    EXPECT_TRUE(holds(dtype, least));
    EXPECT_TRUE(holds(dtype, most));
    EXPECT_FALSE(holds(dtype, std::nextafter(least, -1e300)));
    EXPECT_FALSE(holds(dtype, most + (dtype == DType::kI64 ? 1024 : 1)));
    EXPECT_FALSE(holds(dtype, 0.5));
    EXPECT_FALSE(holds(dtype, std::numeric_limits<double>::infinity()));
    EXPECT_FALSE(holds(dtype, std::nan("")));
  }
}

TEST(GivenValue, TextsAreTakenAsTheyAreOrNotAtAll) {
  EXPECT_EQ(parse_given("16000", "x"), 16000);
  EXPECT_EQ(parse_given("-1e-3", "x"), -1e-3);
  EXPECT_EQ(parse_given("true", "x"), 1);
  EXPECT_EQ(parse_given("9007199254740992", "x"), 0x1p53);
  EXPECT_EQ(parse_given("-9223372036854775808", "x"), -0x1p63);
  EXPECT_TRUE(std::isinf(parse_given("-inf", "x")));
  EXPECT_TRUE(std::isnan(parse_given("nan", "x")));
  for (const char* text :
       {"1e999", "-1e999", "1e-999", "", "x", "1x", "0x10", " 1", "+1", "TRUE", "9007199254740993",
        "-9007199254740993", "18446744073709551615", "100000000000000000000000001"}) {
    EXPECT_THROW(parse_given(text, "x"), Error) << text;
  }
}

}  // namespace
}  // namespace inlay
