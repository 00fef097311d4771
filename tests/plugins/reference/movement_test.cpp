#include <numeric>

#include "tests/plugins/reference/kernel_case.h"

namespace inlay::reference {
namespace {

Tensor iota(Shape shape) {
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  std::iota(values.begin(), values.end(), 0.0f);
  return floats(std::move(shape), values);
}

TEST(ReferenceTranspose, MatchesTheIndexFormulaForEveryPermutation) {
  const Tensor x = iota({2, 3, 4, 5});
  Ints perm{0, 1, 2, 3};
  const std::vector<std::int64_t> strides{60, 20, 5, 1};
  do {
    Shape shape;
    for (const std::int64_t d : perm) shape.push_back(x.shape()[d]);
    const Tensor y = KernelCase("Transpose", {{"perm", perm}}).input(x).run({DType::kF32, shape});
    std::size_t at = 0;
    for (std::int64_t a = 0; a < shape[0]; ++a)
      for (std::int64_t b = 0; b < shape[1]; ++b)
        for (std::int64_t c = 0; c < shape[2]; ++c)
          for (std::int64_t d = 0; d < shape[3]; ++d) {
            const std::int64_t source = a * strides[perm[0]] + b * strides[perm[1]] +
                                        c * strides[perm[2]] + d * strides[perm[3]];
            ASSERT_EQ(y.as<float>()[at++], static_cast<float>(source));
          }
  } while (std::next_permutation(perm.begin(), perm.end()));
}

TEST(ReferenceTranspose, MovesEveryElementSize) {
  const Attributes swap{{"perm", Ints{1, 0}}};
  EXPECT_EQ(values_of<std::int8_t>(KernelCase("Transpose", swap)
                                       .input(Tensor::from<std::int8_t>({2, 2}, {1, 2, 3, 4}))
                                       .run({DType::kI8, {2, 2}})),
            (std::vector<std::int8_t>{1, 3, 2, 4}));
  EXPECT_EQ(values_of<std::int16_t>(KernelCase("Transpose", swap)
                                        .input(Tensor::from<std::int16_t>({2, 2}, {1, 2, 3, 4}))
                                        .run({DType::kI16, {2, 2}})),
            (std::vector<std::int16_t>{1, 3, 2, 4}));
  EXPECT_EQ(values_of<double>(KernelCase("Transpose", swap)
                                  .input(Tensor::from<double>({2, 2}, {1, 2, 3, 4}))
                                  .run({DType::kF64, {2, 2}})),
            (std::vector<double>{1, 3, 2, 4}));
}

TEST(ReferenceReshape, KeepsElementsAndTakesScalars) {
  EXPECT_EQ(values_of<float>(KernelCase("Reshape").input(iota({2, 3})).run({DType::kF32, {3, 2}})),
            (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(values_of<float>(KernelCase("Reshape").input(floats({1}, {7})).run({DType::kF32, {}})),
            (std::vector<float>{7}));
}

TEST(ReferenceConcat, SplitTakesItApartAgain) {
  Rng rng(1);
  const Tensor a = random_floats(rng, {2, 3, 2}), b = random_floats(rng, {2, 0, 2}),
               c = random_floats(rng, {2, 5, 2});
  const Tensor joined = KernelCase("Concat", {{"axis", std::int64_t{1}}})
                            .input(a)
                            .input(b)
                            .input(c)
                            .run({DType::kF32, {2, 8, 2}});
  EXPECT_EQ(joined.as<float>()[16], a.as<float>()[6]);
  const auto parts = KernelCase("Split", {{"axis", std::int64_t{1}}, {"split", Ints{3, 0, 5}}})
                         .input(joined)
                         .run_all({a.type(), b.type(), c.type()});
  EXPECT_TRUE(parts[0] == a);
  EXPECT_TRUE(parts[1] == b);
  EXPECT_TRUE(parts[2] == c);
}

TEST(ReferenceSplit, LeavesUnreadResultsOut) {
  const auto parts = KernelCase("Split", {{"axis", std::int64_t{0}}, {"split", Ints{1, 2}}})
                         .input(iota({3}))
                         .run_all({std::nullopt, TensorType{DType::kF32, {2}}});
  EXPECT_EQ(values_of<float>(parts[1]), (std::vector<float>{1, 2}));
}

Tensor slice(const Tensor& x, const Ints& starts, const Ints& axes, const Ints& steps,
             Shape shape) {
  return KernelCase(
             "Slice",
             {{"starts", starts}, {"axes", axes}, {"steps", steps}, {"ends", Ints(starts.size())}})
      .input(x)
      .run({x.dtype(), std::move(shape)});
}

TEST(ReferenceSlice, ReversesAndSteps) {
  EXPECT_EQ(values_of<float>(slice(iota({5}), {4}, {0}, {-2}, {3})), (std::vector<float>{4, 2, 0}));
  EXPECT_EQ(values_of<float>(slice(iota({3, 4}), {1, 0}, {1, 0}, {2, 2}, {2, 2})),
            (std::vector<float>{1, 3, 9, 11}));
  EXPECT_EQ(slice(iota({3}), {3}, {0}, {1}, {0}).size_bytes(), 0u);
}

TEST(ReferenceSlice, DeclinesToReadOutside) {
  EXPECT_THROW(slice(iota({3}), {2}, {0}, {1}, {2}), sdk::Decline);
}

Tensor pad(const Tensor& x, const Ints& pads, const std::string& mode, float value, Shape shape) {
  return KernelCase("Pad", {{"pads", pads}, {"mode", mode}, {"value", value}})
      .input(x)
      .run({x.dtype(), std::move(shape)});
}

TEST(ReferencePad, AllModes) {
  const Tensor x = floats({3}, {1, 2, 3});
  EXPECT_EQ(values_of<float>(pad(x, {2, 1}, "constant", 9, {6})),
            (std::vector<float>{9, 9, 1, 2, 3, 9}));
  EXPECT_EQ(values_of<float>(pad(x, {2, 1}, "edge", 0, {6})),
            (std::vector<float>{1, 1, 1, 2, 3, 3}));
  EXPECT_EQ(values_of<float>(pad(x, {2, 2}, "reflect", 0, {7})),
            (std::vector<float>{3, 2, 1, 2, 3, 2, 1}));
  EXPECT_EQ(values_of<float>(pad(x, {2, 1}, "wrap", 0, {6})),
            (std::vector<float>{2, 3, 1, 2, 3, 1}));
  EXPECT_EQ(values_of<float>(pad(x, {-1, 1}, "constant", 0, {3})), (std::vector<float>{2, 3, 0}));
}

TEST(ReferencePad, NegativePadsUndoIt) {
  Rng rng(2);
  const Tensor x = random_floats(rng, {2, 3, 4});
  const Tensor wide = pad(x, {1, 0, 2, 0, 3, 1}, "constant", -1, {3, 6, 7});
  EXPECT_TRUE(pad(wide, {-1, 0, -2, 0, -3, -1}, "constant", 0, {2, 3, 4}) == x);
  EXPECT_TRUE(slice(wide, {1, 0, 2}, {0, 1, 2}, {1, 1, 1}, {2, 3, 4}) == x);
}

TEST(ReferencePad, IntegersTakeTheValueAsOperand) {
  const Tensor y =
      KernelCase("Pad", {{"pads", Ints{1, 0}}, {"mode", std::string("constant")}, {"value", 0.0f}})
          .input(Tensor::from<std::int64_t>({1}, {5}))
          .input(Tensor::from<std::int64_t>({}, {-7}))
          .run({DType::kI64, {2}});
  EXPECT_EQ(values_of<std::int64_t>(y), (Ints{-7, 5}));
}

TEST(ReferenceExpandAndTile, RepeatElements) {
  EXPECT_EQ(values_of<float>(
                KernelCase("Expand").input(floats({2, 1}, {1, 2})).run({DType::kF32, {2, 2, 2}})),
            (std::vector<float>{1, 1, 2, 2, 1, 1, 2, 2}));
  EXPECT_EQ(values_of<float>(KernelCase("Tile", {{"repeats", Ints{2, 2}}})
                                 .input(floats({1, 2}, {1, 2}))
                                 .run({DType::kF32, {2, 4}})),
            (std::vector<float>{1, 2, 1, 2, 1, 2, 1, 2}));
}

TEST(ReferenceDepthToSpace, SpaceToDepthInvertsDcr) {
  const Tensor x = iota({1, 8, 2, 3});
  const Tensor y =
      KernelCase("DepthToSpace", {{"blocksize", std::int64_t{2}}, {"mode", std::string("DCR")}})
          .input(x)
          .run({DType::kF32, {1, 2, 4, 6}});
  EXPECT_EQ(y.as<float>()[1], 12);  // block column 1 comes from depth 2
  EXPECT_TRUE(KernelCase("SpaceToDepth", {{"blocksize", std::int64_t{2}}}).input(y).run(x.type()) ==
              x);
  const Tensor crd =
      KernelCase("DepthToSpace", {{"blocksize", std::int64_t{2}}, {"mode", std::string("CRD")}})
          .input(x)
          .run({DType::kF32, {1, 2, 4, 6}});
  EXPECT_EQ(crd.as<float>()[1], 6);  // and from depth 1
}

TEST(ReferenceTrilu, KeepsOneSideOfTheDiagonal) {
  const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto trilu = [&](std::int64_t upper, std::int64_t k) {
    return values_of<float>(
        KernelCase("Trilu", {{"upper", upper}, {"k", k}}).input(x).run({DType::kF32, {2, 3}}));
  };
  EXPECT_EQ(trilu(1, 0), (std::vector<float>{1, 2, 3, 0, 5, 6}));
  EXPECT_EQ(trilu(0, -1), (std::vector<float>{0, 0, 0, 4, 0, 0}));
}

TEST(ReferenceEyeLike, PutsOnesOnTheDiagonal) {
  const Tensor y = KernelCase("EyeLike", {{"dtype", std::int64_t{7}}, {"k", std::int64_t{1}}})
                       .input(iota({2, 3}))
                       .run({DType::kI64, {2, 3}});
  EXPECT_EQ(values_of<std::int64_t>(y), (Ints{0, 1, 0, 0, 0, 1}));
}

}  // namespace
}  // namespace inlay::reference
