#include "core/base/tensor.h"

#include <gtest/gtest.h>

namespace inlay {
namespace {

TEST(Tensor, HoldsTheValuesItWasMadeFrom) {
  const Tensor tensor = Tensor::from<float>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(to_string(tensor.type()), "f32[2x2]");
  EXPECT_EQ(tensor.size_bytes(), 16u);
  EXPECT_EQ(tensor.as<float>()[3], 4.0f);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data()) % 64, 0u);
}

TEST(Tensor, RefusesAWrongNumberOfValuesAndAWrongType) {
  EXPECT_THROW(Tensor::from<float>({3}, {1, 2}), Error);
  EXPECT_THROW(Tensor::from<float>({1}, {1}).as<std::int32_t>(), Error);
}

TEST(Tensor, CopiesShareBytesAndCompareByContent) {
  const Tensor a = Tensor::from<float>({2}, {1, 2});
  const Tensor copy = a;
  EXPECT_EQ(copy.data(), a.data());
  EXPECT_EQ(a, Tensor::from<float>({2}, {1, 2}));
  EXPECT_FALSE(a == Tensor::from<float>({2}, {1, 3}));
  EXPECT_FALSE(a == Tensor::from<float>({1, 2}, {1, 2}));
  EXPECT_EQ(Tensor::zeros({DType::kF32, {0}}), Tensor::zeros({DType::kF32, {0}}));
}

TEST(Tensor, RefusesElementsWithoutASizeAndSizesBeyond63Bits) {
  EXPECT_THROW(dense_bytes({DType::kString, {1}}), Error);
  EXPECT_THROW(dense_bytes({DType::kF64, {std::int64_t{1} << 61}}), Error);
}

}  // namespace
}  // namespace inlay
