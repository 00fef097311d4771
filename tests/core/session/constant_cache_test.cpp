#include "core/session/constant_cache.h"

#include <gtest/gtest.h>

namespace inlay {
namespace {

struct Constants {
  std::vector<PlanConstant> constants;
  Weights weights;
};

Constants make(const std::vector<Tensor>& tensors) {
  WeightsBuilder builder;
  for (const Tensor& tensor : tensors) builder.add("w", tensor);
  return {builder.constants(), builder.weights()};
}

Weights share(ConstantCache& cache, const Constants& c) {
  return cache.share(c.constants, c.weights);
}

TEST(ConstantCache, EqualContentsOfTwoPlansAreOnePieceOfMemory) {
  ConstantCache cache;
  const Weights a =
      share(cache, make({Tensor::from<float>({2}, {1, 2}), Tensor::from<float>({2}, {3, 4})}));
  const Weights b =
      share(cache, make({Tensor::from<float>({2}, {3, 4}), Tensor::from<float>({2}, {5, 6})}));
  EXPECT_EQ(b.tensors[0].data(), a.tensors[1].data());
  EXPECT_EQ(b.tensors[0], Tensor::from<float>({2}, {3, 4}));
  EXPECT_NE(b.tensors[1].data(), a.tensors[0].data());
  EXPECT_EQ(cache.size_bytes(), 3 * 8u);
}

TEST(ConstantCache, EqualBytesOfDifferentTypesKeepTheirTypes) {
  ConstantCache cache;
  const Weights a = share(cache, make({Tensor::from<float>({2}, {0, 0})}));
  const Weights b = share(cache, make({Tensor::from<std::int32_t>({2}, {0, 0})}));
  EXPECT_EQ(b.tensors[0].type(), (TensorType{DType::kI32, {2}}));
}

TEST(ConstantCache, KeepsNothingAlive) {
  ConstantCache cache;
  std::weak_ptr<const std::byte> seen;
  {
    const Weights a = share(cache, make({Tensor::from<float>({2}, {1, 2})}));
    seen = a.tensors[0].shared_data();
    EXPECT_EQ(cache.size_bytes(), 8u);
  }
  EXPECT_TRUE(seen.expired());
  EXPECT_EQ(cache.size_bytes(), 0u);
}

}  // namespace
}  // namespace inlay
