#include "tests/plugins/reference/kernel_case.h"

namespace inlay::reference {
namespace {

Attributes window(Ints kernel, Ints strides, Ints pads, Ints dilations = {1, 1}) {
  return {{"kernel_shape", kernel},
          {"strides", strides},
          {"pads", pads},
          {"dilations", dilations},
          {"ceil_mode", std::int64_t{1}}};
}

TEST(ReferenceMaxPool, PaddingNeverWins) {
  const Tensor y = KernelCase("MaxPool", window({2, 2}, {1, 1}, {1, 1, 0, 0}))
                       .input(floats({1, 1, 2, 2}, {-4, -3, -2, -1}))
                       .run({DType::kF32, {1, 1, 2, 2}});
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{-4, -3, -2, -1}));
}

TEST(ReferenceMaxPool, IndicesCountThroughTheWholeTensor) {
  const Tensor x = floats({1, 2, 2, 2}, {1, 9, 3, 4, 5, 6, 8, 7});
  const auto y =
      KernelCase("MaxPool", window({2, 2}, {1, 1}, {0, 0, 0, 0}))
          .input(x)
          .run_all({TensorType{DType::kF32, {1, 2, 1, 1}}, TensorType{DType::kI64, {1, 2, 1, 1}}});
  EXPECT_EQ(values_of<float>(y[0]), (std::vector<float>{9, 8}));
  EXPECT_EQ(values_of<std::int64_t>(y[1]), (Ints{1, 6}));
  Attributes column_major = window({2, 2}, {1, 1}, {0, 0, 0, 0});
  column_major["storage_order"] = std::int64_t{1};
  const auto z = KernelCase("MaxPool", column_major)
                     .input(x)
                     .run_all({std::nullopt, TensorType{DType::kI64, {1, 2, 1, 1}}});
  EXPECT_EQ(values_of<std::int64_t>(z[1]), (Ints{2, 5}));
}

TEST(ReferenceMaxPool, DilatesAndReducesIntegers) {
  const Tensor y = KernelCase("MaxPool", {{"kernel_shape", Ints{2}},
                                          {"strides", Ints{1}},
                                          {"pads", Ints{0, 0}},
                                          {"dilations", Ints{2}}})
                       .input(Tensor::from<std::int8_t>({1, 1, 4}, {-5, 7, -6, -8}))
                       .run({DType::kI8, {1, 1, 2}});
  EXPECT_EQ(values_of<std::int8_t>(y), (std::vector<std::int8_t>{-5, 7}));
}

TEST(ReferenceAveragePool, CountsPaddingOnlyWhenAsked) {
  const Tensor x = floats({1, 1, 2, 2}, {1, 2, 3, 4});
  Attributes attributes = window({2, 2}, {2, 2}, {1, 1, 1, 1});
  const Tensor without =
      KernelCase("AveragePool", attributes).input(x).run({DType::kF32, {1, 1, 2, 2}});
  EXPECT_EQ(values_of<float>(without), (std::vector<float>{1, 2, 3, 4}));
  attributes["count_include_pad"] = std::int64_t{1};
  const Tensor with =
      KernelCase("AveragePool", attributes).input(x).run({DType::kF32, {1, 1, 2, 2}});
  EXPECT_EQ(values_of<float>(with), (std::vector<float>{0.25f, 0.5f, 0.75f, 1}));
}

TEST(ReferenceAveragePool, CeilModeIgnoresWhatSticksOut) {
  Attributes attributes{{"kernel_shape", Ints{2}},      {"strides", Ints{2}},
                        {"pads", Ints{0, 0}},           {"dilations", Ints{1}},
                        {"ceil_mode", std::int64_t{1}}, {"count_include_pad", std::int64_t{1}}};
  const Tensor y = KernelCase("AveragePool", attributes)
                       .input(floats({1, 1, 3}, {1, 3, 8}))
                       .run({DType::kF32, {1, 1, 2}});
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{2, 8}));
}

TEST(ReferencePools, ThreeDimensionsAreReducedTogether) {
  std::vector<float> values;
  for (int i = 0; i < 2 * 3 * 4; ++i) values.push_back(static_cast<float>(i));
  const Tensor x = floats({1, 1, 2, 3, 4}, values);
  const Attributes attributes = window({2, 2, 2}, {2, 1, 2}, {1, 0, 0, 1, 0, 0}, {1, 1, 1});
  // The windows hold the plane before or after, for padding counts as nothing: rows r and r + 1,
  // columns c and c + 1 of one plane, which starts at 0 or 12.
  const Tensor mean =
      KernelCase("AveragePool", attributes).input(x).run({DType::kF32, {1, 1, 2, 2, 2}});
  EXPECT_EQ(values_of<float>(mean),
            (std::vector<float>{2.5f, 4.5f, 6.5f, 8.5f, 14.5f, 16.5f, 18.5f, 20.5f}));
  const Tensor largest =
      KernelCase("MaxPool", attributes).input(x).run({DType::kF32, {1, 1, 2, 2, 2}});
  EXPECT_EQ(values_of<float>(largest), (std::vector<float>{5, 7, 9, 11, 17, 19, 21, 23}));
}

TEST(ReferenceLpPool, TakesTheNormOfEachWindow) {
  Attributes attributes = window({1, 2}, {1, 2}, {0, 0, 0, 0});
  attributes["p"] = std::int64_t{2};
  const Tensor y = KernelCase("LpPool", attributes)
                       .input(floats({1, 1, 1, 4}, {3, -4, 5, 12}))
                       .run({DType::kF32, {1, 1, 1, 2}});
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{5, 13}));
}

TEST(ReferenceGlobalPools, ReducePlanes) {
  const Tensor x = floats({1, 2, 1, 3}, {1, 2, 6, -1, -2, -6});
  EXPECT_EQ(
      values_of<float>(KernelCase("GlobalAveragePool").input(x).run({DType::kF32, {1, 2, 1, 1}})),
      (std::vector<float>{3, -3}));
  EXPECT_EQ(values_of<float>(KernelCase("GlobalMaxPool").input(x).run({DType::kF32, {1, 2, 1, 1}})),
            (std::vector<float>{6, -1}));
}

}  // namespace
}  // namespace inlay::reference
