#include <limits>

#include "tests/plugins/reference/kernel_case.h"

namespace inlay::reference {
namespace {

std::vector<float> reduce(const std::string& op, const Tensor& x, const Ints& axes, Shape shape) {
  return values_of<float>(KernelCase(op, {{"axes", axes}, {"keepdims", std::int64_t{1}}})
                              .input(x)
                              .run({DType::kF32, std::move(shape)}));
}

TEST(ReferenceReduce, EveryKindOnAKnownVector) {
  const Tensor x = floats({2}, {-3, 4});
  EXPECT_EQ(reduce("ReduceSum", x, {0}, {1})[0], 1);
  EXPECT_EQ(reduce("ReduceMean", x, {0}, {1})[0], 0.5f);
  EXPECT_EQ(reduce("ReduceMax", x, {0}, {1})[0], 4);
  EXPECT_EQ(reduce("ReduceMin", x, {0}, {1})[0], -3);
  EXPECT_EQ(reduce("ReduceProd", x, {0}, {1})[0], -12);
  EXPECT_EQ(reduce("ReduceL1", x, {0}, {1})[0], 7);
  EXPECT_EQ(reduce("ReduceL2", x, {0}, {1})[0], 5);
  EXPECT_EQ(reduce("ReduceSumSquare", x, {0}, {1})[0], 25);
  EXPECT_EQ(reduce("ReduceLogSum", x, {0}, {1})[0], 0);
  expect_close(floats({1}, reduce("ReduceLogSumExp", floats({2}, {1000, 1000}), {0}, {1})),
               {1000 + std::log(2.0)});
}

TEST(ReferenceReduce, AnyAxesMatchTheIndexFormula) {
  Rng rng(1);
  const Shape dims{3, 4, 2, 5};
  const Tensor x = random_floats(rng, dims);
  for (int mask = 0; mask < 16; ++mask) {
    Ints axes;
    Shape shape = dims;
    for (int d = 0; d < 4; ++d) {
      if ((mask >> d) % 2 == 0) continue;
      axes.push_back(d);
      shape[d] = 1;
    }
    std::vector<double> expected(static_cast<std::size_t>(element_count(shape)));
    for (std::int64_t i = 0; i < 120; ++i) {
      std::int64_t rest = i, to = 0, stride = 1;
      for (int d = 3; d >= 0; --d) {
        if (shape[d] != 1) {
          to += rest % dims[d] * stride;
          stride *= dims[d];
        }
        rest /= dims[d];
      }
      expected[to] += x.as<float>()[i];
    }
    expect_close(floats(shape, reduce("ReduceSum", x, axes, shape)), expected);
  }
}

TEST(ReferenceReduce, EmptySetsGiveTheNeutralElement) {
  const Tensor x = floats({2, 0}, {});
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(reduce("ReduceSum", x, {1}, {2, 1}), (std::vector<float>{0, 0}));
  EXPECT_EQ(reduce("ReduceProd", x, {1}, {2, 1}), (std::vector<float>{1, 1}));
  EXPECT_EQ(reduce("ReduceMax", x, {1}, {2, 1}), (std::vector<float>{-kInfinity, -kInfinity}));
  EXPECT_EQ(reduce("ReduceMin", x, {1}, {2, 1}), (std::vector<float>{kInfinity, kInfinity}));
  EXPECT_EQ(reduce("ReduceLogSumExp", x, {1}, {2, 1}),
            (std::vector<float>{-kInfinity, -kInfinity}));
  EXPECT_TRUE(std::isnan(reduce("ReduceMean", x, {1}, {2, 1})[0]));
  const Tensor lowest = KernelCase("ReduceMax", {{"axes", Ints{0}}})
                            .input(Tensor::from<std::int32_t>({0}, {}))
                            .run({DType::kI32, {}});
  EXPECT_EQ(values_of<std::int32_t>(lowest),
            (std::vector<std::int32_t>{std::numeric_limits<std::int32_t>::min()}));
}

TEST(ReferenceReduce, IntegersDoNotPassThroughDouble) {
  const std::int64_t big = (std::int64_t{1} << 60) + 1;
  const Tensor y = KernelCase("ReduceSum", {{"axes", Ints{0}}})
                       .input(Tensor::from<std::int64_t>({2}, {big, 1}))
                       .run({DType::kI64, {}});
  EXPECT_EQ(values_of<std::int64_t>(y), (Ints{big + 1}));
}

TEST(ReferenceReduce, MaximumKeepsNan) {
  EXPECT_TRUE(std::isnan(reduce("ReduceMax", floats({3}, {1, std::nanf(""), 2}), {0}, {1})[0]));
}

TEST(ReferenceArgMax, SelectsFirstOrLastOfEqualOnes) {
  const Tensor x = floats({2, 3}, {1, 5, 5, 2, 2, 0});
  const auto arg = [&](const std::string& op, std::int64_t last) {
    return values_of<std::int64_t>(KernelCase(op, {{"axis", std::int64_t{1}},
                                                   {"keepdims", std::int64_t{0}},
                                                   {"select_last_index", last}})
                                       .input(x)
                                       .run({DType::kI64, {2}}));
  };
  EXPECT_EQ(arg("ArgMax", 0), (Ints{1, 0}));
  EXPECT_EQ(arg("ArgMax", 1), (Ints{2, 1}));
  EXPECT_EQ(arg("ArgMin", 0), (Ints{0, 2}));
}

TEST(ReferenceCumSum, ExclusiveAndReverse) {
  const auto cumsum = [](std::int64_t exclusive, std::int64_t reverse) {
    return values_of<float>(
        KernelCase("CumSum",
                   {{"axis", std::int64_t{0}}, {"exclusive", exclusive}, {"reverse", reverse}})
            .input(floats({3, 1}, {1, 2, 3}))
            .run({DType::kF32, {3, 1}}));
  };
  EXPECT_EQ(cumsum(0, 0), (std::vector<float>{1, 3, 6}));
  EXPECT_EQ(cumsum(1, 0), (std::vector<float>{0, 1, 3}));
  EXPECT_EQ(cumsum(0, 1), (std::vector<float>{6, 5, 3}));
  EXPECT_EQ(cumsum(1, 1), (std::vector<float>{5, 3, 0}));
}

}  // namespace
}  // namespace inlay::reference
