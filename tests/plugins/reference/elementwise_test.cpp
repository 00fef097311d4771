#include <limits>

#include "tests/plugins/reference/kernel_case.h"

namespace inlay::reference {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> unary(const std::string& op, const std::vector<float>& x,
                         const Attributes& attributes = {}) {
  const Shape shape{static_cast<std::int64_t>(x.size())};
  return values_of<float>(
      KernelCase(op, attributes).input(floats(shape, x)).run({DType::kF32, shape}));
}

template <typename T>
std::vector<T> binary(const std::string& op, const std::vector<T>& a, const std::vector<T>& b,
                      const Attributes& attributes = {}) {
  const Shape shape{static_cast<std::int64_t>(a.size())};
  return values_of<T>(KernelCase(op, attributes)
                          .input(Tensor::from<T>(shape, a))
                          .input(Tensor::from<T>(shape, b))
                          .run({dtype_of<T>(), shape}));
}

TEST(ReferenceUnary, ReluAndClipKeepNan) {
  const auto relu = unary("Relu", {kNan, -1, 2, -kInfinity});
  EXPECT_TRUE(std::isnan(relu[0]));
  EXPECT_EQ(relu[1], 0);
  EXPECT_EQ(relu[2], 2);
  EXPECT_EQ(relu[3], 0);
  const auto clip = unary("Clip", {kNan, -5, 7, 0.5f}, {{"min", 0.0f}, {"max", 6.0f}});
  EXPECT_TRUE(std::isnan(clip[0]));
  EXPECT_EQ(std::vector<float>(clip.begin() + 1, clip.end()), (std::vector<float>{0, 6, 0.5f}));
}

TEST(ReferenceUnary, ClipWithCrossedBoundsGivesTheUpper) {
  EXPECT_EQ(unary("Clip", {0, 5}, {{"min", 3.0f}, {"max", 1.0f}}), (std::vector<float>{1, 1}));
}

TEST(ReferenceUnary, ClipTakesIntegerBoundsAsOperands) {
  const Tensor y = KernelCase("Clip")
                       .input(Tensor::from<std::int64_t>({3}, {-9, 0, 9}))
                       .absent()
                       .input(Tensor::from<std::int64_t>({}, {4}))
                       .run({DType::kI64, {3}});
  EXPECT_EQ(values_of<std::int64_t>(y), (Ints{-9, 0, 4}));
}

TEST(ReferenceUnary, RoundTakesHalvesToEven) {
  EXPECT_EQ(unary("Round", {0.5f, 1.5f, 2.5f, -0.5f, -2.5f}),
            (std::vector<float>{0, 2, 2, -0.0f, -2}));
}

TEST(ReferenceUnary, NegativeZeroSurvivesNeg) {
  EXPECT_TRUE(std::signbit(unary("Neg", {0.0f})[0]));
}

TEST(ReferenceUnary, KnownValuesOfTheActivations) {
  // Values from tables: erf(1), tanh(1), gelu(1) = Φ(1), softplus(0) = ln 2, mish(1) = tanh(ln(1 +
  // e)).
  expect_close(floats({1}, unary("Erf", {1})), {0.8427007929497149});
  expect_close(floats({1}, unary("Gelu", {1})), {0.8413447460685429});
  expect_close(floats({1}, unary("Gelu", {1}, {{"approximate", std::string("tanh")}})),
               {0.8411919906082768});
  expect_close(floats({2}, unary("Softplus", {0, 1000})), {0.6931471805599453, 1000});
  expect_close(floats({1}, unary("Mish", {1})), {0.8650983882673103});
  expect_close(floats({3}, unary("Sigmoid", {0, -1000, 1000})), {0.5, 0, 1});
  expect_close(floats({5}, unary("HardSwish", {-4, -3, 0, 3, 4})), {0, 0, 0, 3, 4});
  expect_close(floats({3}, unary("HardSigmoid", {-4, 0, 4}, {{"alpha", 0.25f}, {"beta", 0.5f}})),
               {0, 0.5, 1});
  expect_close(floats({2}, unary("Elu", {-1, 2}, {{"alpha", 2.0f}})), {2 * std::expm1(-1.0), 2});
  expect_close(floats({3}, unary("Shrink", {-2, 0, 2}, {{"lambd", 1.0f}, {"bias", 0.5f}})),
               {-1.5, 0, 1.5});
  expect_close(floats({2}, unary("LeakyRelu", {-4, 4}, {{"alpha", 0.25f}})), {-1, 4});
}

TEST(ReferenceUnary, IsInfHonoursTheSigns) {
  const Tensor y = KernelCase("IsInf", {{"detect_negative", std::int64_t{0}},
                                        {"detect_positive", std::int64_t{1}}})
                       .input(floats({4}, {kInfinity, -kInfinity, kNan, 1}))
                       .run({DType::kBool, {4}});
  EXPECT_EQ(values_of<bool>(y), (std::vector<bool>{true, false, false, false}));
}

TEST(ReferenceBinary, MaximumAndMinimumKeepNanFromEitherSide) {
  for (const char* op : {"Max", "Min"}) {
    const auto y = binary<float>(op, {kNan, 1, 3}, {1, kNan, 2});
    EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1])) << op;
    EXPECT_EQ(y[2], op == std::string("Max") ? 3 : 2);
  }
}

TEST(ReferenceBinary, IntegersWrapAndNeverTrap) {
  constexpr std::int32_t kLow = std::numeric_limits<std::int32_t>::min();
  constexpr std::int64_t kLow64 = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kHigh64 = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(binary<std::int32_t>("Div", {7, -7, 5, kLow}, {2, 2, 0, -1}),
            (std::vector<std::int32_t>{3, -3, 0, kLow}));
  EXPECT_EQ(binary<std::int64_t>("Div", {kLow64, 1}, {-1, 0}), (Ints{kLow64, 0}));
  EXPECT_EQ(binary<std::int64_t>("Add", {kHigh64}, {1}), (Ints{kLow64}));
  EXPECT_EQ(binary<std::int64_t>("Mul", {kLow64, 3}, {-1, -4}), (Ints{kLow64, -12}));
  EXPECT_EQ(binary<std::uint8_t>("Sub", {1}, {2}), (std::vector<std::uint8_t>{255}));
  EXPECT_EQ(binary<std::int64_t>("Pow", {2, -1, 0, 3}, {62, -3, -1, 4}),
            (Ints{std::int64_t{1} << 62, -1, 0, 81}));
  EXPECT_EQ(
      binary<std::uint8_t>("BitShift", {255, 255}, {1, 9}, {{"direction", std::string("LEFT")}}),
      (std::vector<std::uint8_t>{254, 0}));
}

TEST(ReferenceBinary, ShiftsByTheWidthLeaveTheSign) {
  const Attributes right{{"direction", std::string("RIGHT")}};
  EXPECT_EQ(binary<std::int8_t>("BitShift", {-5, 5, -5}, {1, 70, 70}, right),
            (std::vector<std::int8_t>{-3, 0, -1}));
  EXPECT_EQ(binary<std::uint32_t>("BitShift", {256, 1}, {8, 32}, right),
            (std::vector<std::uint32_t>{1, 0}));
}

TEST(ReferenceBinary, ModFollowsTheDivisorUnlessFmod) {
  EXPECT_EQ(binary<std::int32_t>("Mod", {-7, 7, -7, 5}, {3, -3, -3, 0}),
            (std::vector<std::int32_t>{2, -2, -1, 0}));
  const Attributes fmod{{"fmod", std::int64_t{1}}};
  EXPECT_EQ(binary<std::int32_t>("Mod", {-7, 7}, {3, -3}, fmod),
            (std::vector<std::int32_t>{-1, 1}));
  EXPECT_EQ(binary<float>("Mod", {-7.5f}, {2}, fmod), (std::vector<float>{-1.5f}));
}

TEST(ReferenceBinary, BroadcastsAnyRanks) {
  const Tensor y = KernelCase("Add")
                       .input(Tensor::from<std::int32_t>({2, 1, 3}, {0, 1, 2, 10, 11, 12}))
                       .input(Tensor::from<std::int32_t>({2, 1}, {100, 200}))
                       .run({DType::kI32, {2, 2, 3}});
  EXPECT_EQ(values_of<std::int32_t>(y), (std::vector<std::int32_t>{100, 101, 102, 200, 201, 202,
                                                                   110, 111, 112, 210, 211, 212}));
  const Tensor scalar =
      KernelCase("Mul").input(floats({}, {3})).input(floats({}, {4})).run({DType::kF32, {}});
  EXPECT_EQ(values_of<float>(scalar), (std::vector<float>{12}));
  const Tensor none = KernelCase("Add")
                          .input(floats({0, 3}, {}))
                          .input(floats({1}, {1}))
                          .run({DType::kF32, {0, 3}});
  EXPECT_EQ(none.size_bytes(), 0u);
}

TEST(ReferenceBinary, LongBroadcastRowsMatchTheFormula) {
  Rng rng(7);
  const Tensor a = random_floats(rng, {5, 1, 1201}), b = random_floats(rng, {7, 1});
  const Tensor y = KernelCase("Sub").input(a).input(b).run({DType::kF32, {5, 7, 1201}});
  for (std::int64_t i = 0; i < 5 * 7 * 1201; ++i) {
    const float expected =
        a.as<float>()[i / (7 * 1201) * 1201 + i % 1201] - b.as<float>()[i / 1201 % 7];
    ASSERT_EQ(y.as<float>()[i], expected);
  }
}

TEST(ReferenceBinary, OneValueMayBeBothOperands) {
  const Tensor y = KernelCase("Sub").input(floats({2}, {3, 4})).again(0).run({DType::kF32, {2}});
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{0, 0}));
}

TEST(ReferenceBinary, PowerMixesTypes) {
  const Tensor y = KernelCase("Pow")
                       .input(floats({2}, {2, 9}))
                       .input(Tensor::from<std::int64_t>({2}, {-1, 2}))
                       .run({DType::kF32, {2}});
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{0.5f, 81}));
}

TEST(ReferenceWhere, BroadcastsAllThreeOperands) {
  const Tensor y = KernelCase("Where")
                       .input(Tensor::from<bool>({2, 1}, {true, false}))
                       .input(floats({3}, {1, 2, 3}))
                       .input(floats({}, {9}))
                       .run({DType::kF32, {2, 3}});
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{1, 2, 3, 9, 9, 9}));
}

template <typename To, typename From>
std::vector<To> cast(const std::vector<From>& x) {
  const Shape shape{static_cast<std::int64_t>(x.size())};
  return values_of<To>(
      KernelCase("Cast").input(Tensor::from<From>(shape, x)).run({dtype_of<To>(), shape}));
}

TEST(ReferenceCast, FloatsToIntegersTruncateAndSaturate) {
  EXPECT_EQ((cast<std::int32_t, float>({-1.9f, 1.9f, kNan, 1e20f, -kInfinity})),
            (std::vector<std::int32_t>{-1, 1, 0, std::numeric_limits<std::int32_t>::max(),
                                       std::numeric_limits<std::int32_t>::min()}));
  EXPECT_EQ((cast<std::uint8_t, float>({300, -1, 255.5f})),
            (std::vector<std::uint8_t>{255, 0, 255}));
  EXPECT_EQ((cast<std::int64_t, double>({9.3e18})),
            (Ints{std::numeric_limits<std::int64_t>::max()}));
}

TEST(ReferenceCast, IntegersWrapAndRoundOnce) {
  EXPECT_EQ((cast<std::uint8_t, std::int32_t>({-1, 256})), (std::vector<std::uint8_t>{255, 0}));
  EXPECT_EQ((cast<bool, float>({0.0f, -0.0f, 0.5f, kNan})),
            (std::vector<bool>{false, false, true, true}));
  // 2^60 + 2^36 + 1 lies just above half way between two floats; by way of double it would be a tie
  // and round down.
  const std::int64_t value = (std::int64_t{1} << 60) + (std::int64_t{1} << 36) + 1;
  EXPECT_EQ((cast<float, std::int64_t>({value})), (std::vector<float>{0x1p60f + 0x1p37f}));
}

Tensor cast_bits(const Tensor& x, DType to) {
  return KernelCase("Cast").input(x).run({to, x.shape()});
}

TEST(ReferenceCast, EveryHalfSurvivesTheWayThroughFloat) {
  Tensor x = Tensor::zeros({DType::kF16, {65536}});
  auto* bits = reinterpret_cast<std::uint16_t*>(x.mutable_bytes().data());
  for (int i = 0; i < 65536; ++i) bits[i] = static_cast<std::uint16_t>(i);
  const Tensor wide = cast_bits(x, DType::kF32);
  const Tensor back = cast_bits(wide, DType::kF16);
  const auto* returned = reinterpret_cast<const std::uint16_t*>(back.data());
  for (int i = 0; i < 65536; ++i) {
    const bool is_nan = (i & 0x7c00) == 0x7c00 && (i & 0x3ff) != 0;
    ASSERT_EQ(std::isnan(wide.as<float>()[i]), is_nan);
    if (is_nan) continue;
    ASSERT_EQ(wide.as<float>()[i], f16_to_f32(static_cast<std::uint16_t>(i))) << i;
    ASSERT_EQ(returned[i], i);
  }
}

TEST(ReferenceCast, DoublesRoundToHalfOnce) {
  // Just above a tie between 1 and the next half; rounding to float first would make it the tie.
  const Tensor x = Tensor::from<double>({3}, {1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-11, 65519.999});
  const Tensor kept = cast_bits(x, DType::kF16);
  const auto* bits = reinterpret_cast<const std::uint16_t*>(kept.data());
  EXPECT_EQ(bits[0], 0x3c01);
  EXPECT_EQ(bits[1], 0x3c00);
  EXPECT_EQ(bits[2], 0x7bff);
}

TEST(ReferenceKernels, DeclineUnknownOperatorsByName) {
  KernelCase c("Frobnicate");
  c.input(floats({1}, {1}));
  EXPECT_THROW(c.run({DType::kF32, {1}}), sdk::Decline);
}

}  // namespace
}  // namespace inlay::reference
