#include "tests/plugins/reference/kernel_case.h"

namespace inlay::reference {
namespace {

Tensor ints(Shape shape, const Ints& values) {
  return Tensor::from<std::int64_t>(std::move(shape), values);
}

TEST(ReferenceGather, TakesNegativeIndicesAlongAnyAxis) {
  const Tensor x = floats({2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(values_of<float>(KernelCase("Gather", {{"axis", std::int64_t{1}}})
                                 .input(x)
                                 .input(ints({2}, {-1, 0}))
                                 .run({DType::kF32, {2, 2}})),
            (std::vector<float>{2, 0, 5, 3}));
  EXPECT_EQ(values_of<float>(KernelCase("Gather", {{"axis", std::int64_t{0}}})
                                 .input(x)
                                 .input(ints({}, {1}))
                                 .run({DType::kF32, {3}})),
            (std::vector<float>{3, 4, 5}));
}

TEST(ReferenceGather, AgreesWithSlices) {
  Rng rng(1);
  const Tensor x = random_floats(rng, {3, 7, 4});
  const Tensor gathered = KernelCase("Gather", {{"axis", std::int64_t{1}}})
                              .input(x)
                              .input(ints({3}, {5, 3, 1}))
                              .run({DType::kF32, {3, 3, 4}});
  const Tensor sliced =
      KernelCase("Slice",
                 {{"starts", Ints{5}}, {"axes", Ints{1}}, {"steps", Ints{-2}}, {"ends", Ints{0}}})
          .input(x)
          .run({DType::kF32, {3, 3, 4}});
  EXPECT_TRUE(gathered == sliced);
}

TEST(ReferenceGather, NamesNodeAndIndexThatLieOutside) {
  for (const char* op : {"Gather", "GatherElements"}) {
    KernelCase c(op, {{"axis", std::int64_t{0}}});
    c.input(floats({3}, {1, 2, 3})).input(ints({2}, {0, 3}));
    try {
      c.run({DType::kF32, {2}});
      FAIL() << op;
    } catch (const std::exception& error) {
      EXPECT_EQ(error.what(), std::string(op) + " 'n': index 3 at position 1 is outside [-3, 2]");
    }
  }
}

TEST(ReferenceGatherElements, FollowsTheIndexTensor) {
  const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(values_of<float>(KernelCase("GatherElements", {{"axis", std::int64_t{1}}})
                                 .input(x)
                                 .input(ints({2, 2}, {0, -1, 2, 1}))
                                 .run({DType::kF32, {2, 2}})),
            (std::vector<float>{1, 3, 6, 5}));
  EXPECT_EQ(values_of<float>(KernelCase("GatherElements", {{"axis", std::int64_t{0}}})
                                 .input(x)
                                 .input(ints({1, 2}, {1, 0}))
                                 .run({DType::kF32, {1, 2}})),
            (std::vector<float>{4, 2}));
}

TEST(ReferenceGatherNd, HonoursBatchDimensions) {
  const Tensor x = floats({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(values_of<float>(KernelCase("GatherND", {{"batch_dims", std::int64_t{0}}})
                                 .input(x)
                                 .input(ints({2, 2}, {0, 1, 1, -2}))
                                 .run({DType::kF32, {2, 2}})),
            (std::vector<float>{2, 3, 4, 5}));
  EXPECT_EQ(values_of<float>(KernelCase("GatherND", {{"batch_dims", std::int64_t{1}}})
                                 .input(x)
                                 .input(ints({2, 1}, {1, 0}))
                                 .run({DType::kF32, {2, 2}})),
            (std::vector<float>{2, 3, 4, 5}));
}

std::vector<float> scatter(const std::string& reduction, const Ints& indices,
                           const std::vector<float>& updates) {
  const Shape shape{static_cast<std::int64_t>(indices.size())};
  return values_of<float>(
      KernelCase("ScatterElements", {{"axis", std::int64_t{0}}, {"reduction", reduction}})
          .input(floats({3}, {1, 2, 3}))
          .input(ints(shape, indices))
          .input(floats(shape, updates))
          .run({DType::kF32, {3}}));
}

TEST(ReferenceScatterElements, CombinesRepeatedIndices) {
  EXPECT_EQ(scatter("none", {-1, 0}, {9, 8}), (std::vector<float>{8, 2, 9}));
  EXPECT_EQ(scatter("add", {1, 1}, {10, 20}), (std::vector<float>{1, 32, 3}));
  EXPECT_EQ(scatter("mul", {1, 1}, {3, 5}), (std::vector<float>{1, 30, 3}));
  EXPECT_EQ(scatter("max", {0, 2}, {5, 1}), (std::vector<float>{5, 2, 3}));
  EXPECT_EQ(scatter("min", {0, 2}, {5, 1}), (std::vector<float>{1, 2, 1}));
  EXPECT_THROW(scatter("none", {3}, {1}), std::out_of_range);
}

TEST(ReferenceScatterNd, WritesWholeSlices) {
  const Tensor y = KernelCase("ScatterND", {{"reduction", std::string("none")}})
                       .input(floats({3, 2}, {1, 2, 3, 4, 5, 6}))
                       .input(ints({2, 1}, {2, 0}))
                       .input(floats({2, 2}, {7, 8, 9, 10}))
                       .run({DType::kF32, {3, 2}});
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{9, 10, 3, 4, 7, 8}));
  const Tensor sum = KernelCase("ScatterND", {{"reduction", std::string("add")}})
                         .input(floats({2, 2}, {1, 2, 3, 4}))
                         .input(ints({2, 2}, {1, 1, 1, 1}))
                         .input(floats({2}, {10, 20}))
                         .run({DType::kF32, {2, 2}});
  EXPECT_EQ(values_of<float>(sum), (std::vector<float>{1, 2, 3, 34}));
}

TEST(ReferenceOneHot, IgnoresIndicesOutside) {
  const Tensor y = KernelCase("OneHot", {{"axis", std::int64_t{1}}, {"depth", std::int64_t{3}}})
                       .input(ints({3}, {1, -1, 7}))
                       .input(floats({2}, {0.5f, 2}))
                       .run({DType::kF32, {3, 3}});
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{.5f, 2, .5f, .5f, .5f, 2, .5f, .5f, .5f}));
}

TEST(ReferenceTopK, BreaksTiesByTheLowerIndex) {
  const Tensor x = floats({2, 4}, {1, 3, 3, 2, 5, 5, 5, 5});
  const auto largest =
      KernelCase("TopK", {{"axis", std::int64_t{1}},
                          {"k", std::int64_t{3}},
                          {"largest", std::int64_t{1}},
                          {"sorted", std::int64_t{1}}})
          .input(x)
          .run_all({TensorType{DType::kF32, {2, 3}}, TensorType{DType::kI64, {2, 3}}});
  EXPECT_EQ(values_of<float>(largest[0]), (std::vector<float>{3, 3, 2, 5, 5, 5}));
  EXPECT_EQ(values_of<std::int64_t>(largest[1]), (Ints{1, 2, 3, 0, 1, 2}));
  const auto least = KernelCase("TopK", {{"axis", std::int64_t{0}},
                                         {"k", std::int64_t{1}},
                                         {"largest", std::int64_t{0}},
                                         {"sorted", std::int64_t{1}}})
                         .input(x)
                         .run_all({std::nullopt, TensorType{DType::kI64, {1, 4}}});
  EXPECT_EQ(values_of<std::int64_t>(least[1]), (Ints{0, 0, 0, 0}));
}

}  // namespace
}  // namespace inlay::reference
