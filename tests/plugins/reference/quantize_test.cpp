#include "tests/plugins/reference/kernel_case.h"

namespace inlay::reference {
namespace {

TEST(ReferenceQuantizeLinear, RoundsHalvesToEvenAndSaturates) {
  const Tensor y = KernelCase("QuantizeLinear", {{"axis", std::int64_t{1}}})
                       .input(floats({6}, {1, 3, 5, -1, 1000, -1000}))
                       .input(floats({}, {2}))
                       .input(Tensor::from<std::uint8_t>({}, {128}))
                       .run({DType::kU8, {6}});
  EXPECT_EQ(values_of<std::uint8_t>(y), (std::vector<std::uint8_t>{128, 130, 130, 128, 255, 0}));
}

TEST(ReferenceQuantizeLinear, ScalesPerAxisAndPerBlock) {
  const Tensor x = floats({2, 4}, {2, 4, 6, 8, 2, 4, 6, 8});
  const Tensor per_axis = KernelCase("QuantizeLinear", {{"axis", std::int64_t{0}}})
                              .input(x)
                              .input(floats({2}, {1, 2}))
                              .run({DType::kI8, {2, 4}});
  // Without a zero point the result's type is the attribute's; zero is assumed.
  EXPECT_EQ(values_of<std::int8_t>(per_axis), (std::vector<std::int8_t>{2, 4, 6, 8, 1, 2, 3, 4}));
  const Tensor blocked =
      KernelCase("DequantizeLinear", {{"axis", std::int64_t{1}}, {"block_size", std::int64_t{2}}})
          .input(Tensor::from<std::int8_t>({1, 4}, {1, 2, 3, 4}))
          .input(floats({1, 2}, {10, 100}))
          .input(Tensor::from<std::int8_t>({1, 2}, {0, 1}))
          .run({DType::kF32, {1, 4}});
  EXPECT_EQ(values_of<float>(blocked), (std::vector<float>{10, 20, 200, 300}));
}

TEST(ReferenceDynamicQuantizeLinear, CoversTheRangeWithZero) {
  const auto y = KernelCase("DynamicQuantizeLinear")
                     .input(floats({3}, {-1, 0, 1.55f}))
                     .run_all({TensorType{DType::kU8, {3}}, TensorType{DType::kF32, {}},
                               TensorType{DType::kU8, {}}});
  EXPECT_NEAR(y[1].as<float>()[0], 0.01, 1e-8);
  EXPECT_EQ(values_of<std::uint8_t>(y[0]), (std::vector<std::uint8_t>{0, 100, 255}));
  EXPECT_EQ(values_of<std::uint8_t>(y[2]), (std::vector<std::uint8_t>{100}));
}

TEST(ReferenceConvInteger, PaddingStandsForTheZeroPoint) {
  const Tensor y =
      KernelCase("ConvInteger", {{"kernel_shape", Ints{1, 2}}, {"pads", Ints{0, 1, 0, 0}}})
          .input(Tensor::from<std::uint8_t>({1, 1, 1, 2}, {5, 7}))
          .input(Tensor::from<std::uint8_t>({1, 1, 1, 2}, {2, 3}))
          .input(Tensor::from<std::uint8_t>({}, {4}))
          .run({DType::kI32, {1, 1, 1, 2}});
  EXPECT_EQ(values_of<std::int32_t>(y), (std::vector<std::int32_t>{3, 11}));
}

TEST(ReferenceQLinearConv, RescalesPerChannel) {
  const auto byte = [](std::uint8_t v) { return Tensor::from<std::uint8_t>({}, {v}); };
  const Tensor y = KernelCase("QLinearConv", {{"kernel_shape", Ints{1, 1}}})
                       .input(Tensor::from<std::uint8_t>({1, 1, 1, 2}, {10, 20}))
                       .input(floats({}, {1}))
                       .input(byte(10))
                       .input(Tensor::from<std::int8_t>({2, 1, 1, 1}, {3, -3}))
                       .input(floats({2}, {1, 0.5f}))
                       .input(Tensor::from<std::int8_t>({2}, {0, 0}))
                       .input(floats({}, {1}))
                       .input(byte(7))
                       .input(Tensor::from<std::int32_t>({2}, {1, 100}))
                       .run({DType::kU8, {1, 2, 1, 2}});
  EXPECT_EQ(values_of<std::uint8_t>(y), (std::vector<std::uint8_t>{8, 38, 57, 42}));
}

}  // namespace
}  // namespace inlay::reference
