#include "tests/plugins/reference/kernel_case.h"

namespace inlay::reference {
namespace {

struct Conv2d {
  std::int64_t n, c, h, w, o, kh, kw, group;
  Ints strides, dilations, pads;

  std::int64_t out(int d) const {
    const std::int64_t in = d == 0 ? h : w, k = d == 0 ? kh : kw;
    return (in + pads[d] + pads[d + 2] - (k - 1) * dilations[d] - 1) / strides[d] + 1;
  }
  Attributes attributes() const {
    return {{"kernel_shape", Ints{kh, kw}},
            {"strides", strides},
            {"dilations", dilations},
            {"pads", pads},
            {"group", group}};
  }
};

Conv2d random_conv(Rng& rng) {
  const auto pick = [&](int low, int high) {
    return low + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(high - low + 1)));
  };
  Conv2d s{};
  s.group = pick(1, 3);
  s.n = pick(1, 2);
  s.c = s.group * pick(1, 3);
  s.o = s.group * pick(1, 3);
  s.kh = pick(1, 3);
  s.kw = pick(1, 4);
  s.strides = {pick(1, 3), pick(1, 3)};
  s.dilations = {pick(1, 2), pick(1, 2)};
  s.pads = {pick(0, 2), pick(0, 3), pick(0, 2), pick(0, 3)};
  s.h = pick(6, 15);
  s.w = pick(7, 15);
  return s;
}

// The definition: seven loops in double.
std::vector<double> naive_conv(const Conv2d& s, std::span<const float> x, std::span<const float> w,
                               std::span<const float> bias) {
  std::vector<double> y;
  const std::int64_t in_group = s.c / s.group, out_group = s.o / s.group;
  for (std::int64_t n = 0; n < s.n; ++n)
    for (std::int64_t o = 0; o < s.o; ++o)
      for (std::int64_t i = 0; i < s.out(0); ++i)
        for (std::int64_t j = 0; j < s.out(1); ++j) {
          double sum = bias[o];
          for (std::int64_t c = 0; c < in_group; ++c)
            for (std::int64_t a = 0; a < s.kh; ++a)
              for (std::int64_t b = 0; b < s.kw; ++b) {
                const std::int64_t row = i * s.strides[0] - s.pads[0] + a * s.dilations[0];
                const std::int64_t column = j * s.strides[1] - s.pads[1] + b * s.dilations[1];
                if (row < 0 || row >= s.h || column < 0 || column >= s.w) continue;
                const std::int64_t channel = o / out_group * in_group + c;
                sum += double{x[((n * s.c + channel) * s.h + row) * s.w + column]} *
                       w[((o * in_group + c) * s.kh + a) * s.kw + b];
              }
          y.push_back(sum);
        }
  return y;
}

TEST(ReferenceConv, MatchesTheDefinitionOnRandomShapes) {
  Rng rng(1);
  for (int round = 0; round < 60; ++round) {
    const Conv2d s = random_conv(rng);
    const Tensor x = random_floats(rng, {s.n, s.c, s.h, s.w});
    const Tensor w = random_floats(rng, {s.o, s.c / s.group, s.kh, s.kw});
    const Tensor b = random_floats(rng, {s.o});
    const Tensor y = KernelCase("Conv", s.attributes())
                         .input(x)
                         .input(w)
                         .input(b)
                         .run({DType::kF32, {s.n, s.o, s.out(0), s.out(1)}});
    expect_close(y, naive_conv(s, x.as<float>(), w.as<float>(), b.as<float>()));
  }
}

TEST(ReferenceConv, CrossesBlockBordersOfRowsDepthAndColumns) {
  Rng rng(2);
  const Conv2d s{1, 33, 19, 23, 70, 3, 3, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}};
  const Tensor x = random_floats(rng, {1, 33, 19, 23}), w = random_floats(rng, {70, 33, 3, 3});
  const Tensor b = random_floats(rng, {70});
  const Tensor y = KernelCase("Conv", s.attributes())
                       .input(x)
                       .input(w)
                       .input(b)
                       .run({DType::kF32, {1, 70, 19, 23}});
  expect_close(y, naive_conv(s, x.as<float>(), w.as<float>(), b.as<float>()));
}

TEST(ReferenceConv, OneAndThreeSpatialDimensionsAgreeWithTwo) {
  Rng rng(3);
  const Tensor x = random_floats(rng, {1, 2, 1, 9}), w = random_floats(rng, {3, 2, 1, 3});
  const Tensor flat = KernelCase("Conv", {{"pads", Ints{0, 1, 0, 1}}, {"strides", Ints{1, 2}}})
                          .input(x)
                          .input(w)
                          .run({DType::kF32, {1, 3, 1, 5}});
  const Tensor line = KernelCase("Conv", {{"pads", Ints{1, 1}}, {"strides", Ints{2}}})
                          .input(floats({1, 2, 9}, values_of<float>(x)))
                          .input(floats({3, 2, 3}, values_of<float>(w)))
                          .run({DType::kF32, {1, 3, 5}});
  const Tensor volume =
      KernelCase("Conv", {{"pads", Ints{0, 0, 1, 0, 0, 1}}, {"strides", Ints{1, 1, 2}}})
          .input(floats({1, 2, 1, 1, 9}, values_of<float>(x)))
          .input(floats({3, 2, 1, 1, 3}, values_of<float>(w)))
          .run({DType::kF32, {1, 3, 1, 1, 5}});
  EXPECT_EQ(values_of<float>(flat), values_of<float>(line));
  EXPECT_EQ(values_of<float>(flat), values_of<float>(volume));
}

TEST(ReferenceConv, ThreeDimensionsMatchTheDefinition) {
  Rng rng(5);
  // Every extent, stride, pad and kernel differs, so that none can stand for another.
  const Ints in{5, 6, 7}, kernel{2, 3, 4}, strides{1, 2, 3}, before{1, 0, 2}, after{0, 2, 1};
  Ints out, pads = before;
  pads.insert(pads.end(), after.begin(), after.end());
  for (int d = 0; d < 3; ++d) {
    out.push_back((in[d] + before[d] + after[d] - kernel[d]) / strides[d] + 1);
  }
  const Tensor x = random_floats(rng, {1, 2, 5, 6, 7}), w = random_floats(rng, {3, 2, 2, 3, 4});
  const Tensor y = KernelCase("Conv", {{"pads", pads}, {"strides", strides}})
                       .input(x)
                       .input(w)
                       .run({DType::kF32, {1, 3, out[0], out[1], out[2]}});
  const auto tap = [&](std::int64_t o, const Ints& at, std::int64_t c, const Ints& k) {
    Ints p;
    for (int d = 0; d < 3; ++d) p.push_back(at[d] * strides[d] - before[d] + k[d]);
    for (int d = 0; d < 3; ++d) {
      if (p[d] < 0 || p[d] >= in[d]) return 0.0;
    }
    return double{x.as<float>()[((c * 5 + p[0]) * 6 + p[1]) * 7 + p[2]]} *
           w.as<float>()[(((o * 2 + c) * 2 + k[0]) * 3 + k[1]) * 4 + k[2]];
  };
  std::vector<double> expected;
  for (std::int64_t i = 0; i < 3 * out[0] * out[1] * out[2]; ++i) {
    const std::int64_t plane = i / out[2] / out[1];
    const Ints at{plane % out[0], i / out[2] % out[1], i % out[2]};
    double sum = 0;
    for (std::int64_t t = 0; t < 2 * 2 * 3 * 4; ++t) {
      sum += tap(plane / out[0], at, t / 24, {t / 12 % 2, t / 4 % 3, t % 4});
    }
    expected.push_back(sum);
  }
  expect_close(y, expected);
}

TEST(ReferenceConv, NegativePadsCrop) {
  const Tensor y = KernelCase("Conv", {{"pads", Ints{-1, 0, -1, 0}}})
                       .input(floats({1, 1, 3, 1}, {1, 2, 3}))
                       .input(floats({1, 1, 1, 1}, {10}))
                       .run({DType::kF32, {1, 1, 1, 1}});
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{20}));
}

TEST(ReferenceConv, EmptyBatchGivesNothing) {
  Rng rng(4);
  const Tensor y = KernelCase("Conv")
                       .input(random_floats(rng, {0, 2, 4, 4}))
                       .input(random_floats(rng, {3, 2, 3, 3}))
                       .run({DType::kF32, {0, 3, 2, 2}});
  EXPECT_EQ(y.size_bytes(), 0u);
}

TEST(ReferenceConv, DeclinesChannelsThatDoNotFit) {
  Rng rng(5);
  KernelCase c("Conv");
  c.input(random_floats(rng, {1, 3, 4, 4})).input(random_floats(rng, {3, 2, 3, 3}));
  EXPECT_THROW(c.run({DType::kF32, {1, 3, 2, 2}}), sdk::Decline);
}

// <Conv(x), y> = <x, ConvTranspose(y)> for the same weights: the transposed convolution is the
// adjoint.
TEST(ReferenceConvTranspose, IsTheAdjointOfConv) {
  Rng rng(6);
  for (int round = 0; round < 40; ++round) {
    const Conv2d s = random_conv(rng);
    const Tensor x = random_floats(rng, {s.n, s.c, s.h, s.w});
    const Tensor w = random_floats(rng, {s.o, s.c / s.group, s.kh, s.kw});
    const Tensor z = random_floats(rng, {s.n, s.o, s.out(0), s.out(1)});
    const Tensor y = KernelCase("Conv", s.attributes()).input(x).input(w).run(z.type());
    // The extent that the strides cut off comes back as output_padding.
    const Tensor back = KernelCase("ConvTranspose", s.attributes()).input(z).input(w).run(x.type());
    double left = 0, right = 0, magnitude = 0;
    for (std::size_t i = 0; i < y.as<float>().size(); ++i)
      left += double{y.as<float>()[i]} * z.as<float>()[i];
    for (std::size_t i = 0; i < x.as<float>().size(); ++i) {
      right += double{back.as<float>()[i]} * x.as<float>()[i];
      magnitude += std::fabs(double{back.as<float>()[i]} * x.as<float>()[i]);
    }
    // Each element of y and of the adjoint was rounded to f32 once.
    EXPECT_NEAR(left, right, 4 * 0x1p-24 * (magnitude + std::fabs(left) + 10));
  }
}

TEST(ReferenceConvTranspose, SpreadsOneElementOverTheKernel) {
  const Tensor y =
      KernelCase("ConvTranspose", {{"strides", Ints{2, 2}}, {"pads", Ints{0, 0, 0, 0}}})
          .input(floats({1, 1, 1, 2}, {1, 10}))
          .input(floats({1, 1, 2, 2}, {1, 2, 3, 4}))
          .input(floats({1}, {0.5f}))
          .run({DType::kF32, {1, 1, 2, 4}});
  EXPECT_EQ(values_of<float>(y),
            (std::vector<float>{1.5f, 2.5f, 10.5f, 20.5f, 3.5f, 4.5f, 30.5f, 40.5f}));
}

}  // namespace
}  // namespace inlay::reference
