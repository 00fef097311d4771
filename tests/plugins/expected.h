// What a test of a plugin expects: values computed in doubles straight from the operator's
// definition, and how far off each may be.
//
//   const Expectation conv = expected_conv(shape, x, w, bias).plus(residual).map(relu);
//   expect_near(c.run(bench), conv);
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/base/attribute.h"

namespace inlay {

// What a test expects, and how far off each element may be.
struct Expectation {
  std::vector<double> values;
  std::vector<double> bounds;

  // Applies `function`, whose slope is at most `slope`, computed with at most `error` of its own.
  template <typename Function>
  Expectation map(const Function& function, double slope = 1.2, double error = 1e-6) const {
    Expectation mapped = *this;
    for (double& value : mapped.values) value = function(value);
    for (double& bound : mapped.bounds) bound = bound * slope + error;
    return mapped;
  }

  Expectation plus(const std::vector<float>& other) const {
    Expectation sum = *this;
    for (std::size_t i = 0; i < sum.values.size(); ++i) {
      const double addend = other[i % other.size()];  // whole, or one row, or one element
      sum.values[i] += addend;
      // One more rounding of the sum.
      sum.bounds[i] += std::ldexp(std::abs(sum.values[i]) + std::abs(addend), -23);
    }
    return sum;
  }
};

inline void expect_near(const std::vector<float>& found, const Expectation& expected) {
  ASSERT_EQ(found.size(), expected.values.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], expected.values[i], expected.bounds[i]) << "element " << i;
  }
}

// y = Σ a·b over K products may be 2·K·2⁻²⁴·Σ|a·b| off (Higham, Accuracy and Stability of Numerical
// Algorithms, 3.1, with a factor of two for the order of summation and the bias).
inline double product_bound(std::int64_t terms, double magnitude) {
  return std::ldexp(2.0 * static_cast<double>(terms + 1) * magnitude, -24);
}

struct ConvShape {
  std::int64_t n, c, h, w, o, kernel_h, kernel_w;
  std::int64_t group = 1;
  std::vector<std::int64_t> strides{1, 1}, dilations{1, 1}, pads{0, 0, 0, 0};

  std::int64_t out_h() const {
    return (h + pads[0] + pads[2] - (kernel_h - 1) * dilations[0] - 1) / strides[0] + 1;
  }
  std::int64_t out_w() const {
    return (w + pads[1] + pads[3] - (kernel_w - 1) * dilations[1] - 1) / strides[1] + 1;
  }
  Shape input() const { return {n, c, h, w}; }
  Shape weights() const { return {o, c / group, kernel_h, kernel_w}; }
  Shape output() const { return {n, o, out_h(), out_w()}; }
  Attributes attributes() const {
    return {{"kernel_shape", std::vector<std::int64_t>{kernel_h, kernel_w}},
            {"strides", strides},
            {"dilations", dilations},
            {"pads", pads},
            {"group", group}};
  }
};

// The definition, in doubles. `bias` may be empty.
inline Expectation expected_conv(const ConvShape& s, const std::vector<float>& x,
                                 const std::vector<float>& weights,
                                 const std::vector<float>& bias) {
  Expectation result;
  const std::int64_t in_group = s.c / s.group, out_group = s.o / s.group;
  for (std::int64_t n = 0; n < s.n; ++n)
    for (std::int64_t o = 0; o < s.o; ++o)
      for (std::int64_t y = 0; y < s.out_h(); ++y)
        for (std::int64_t z = 0; z < s.out_w(); ++z) {
          double sum = bias.empty() ? 0 : bias[o], magnitude = std::abs(sum);
          for (std::int64_t c = 0; c < in_group; ++c)
            for (std::int64_t i = 0; i < s.kernel_h; ++i)
              for (std::int64_t j = 0; j < s.kernel_w; ++j) {
                const std::int64_t row = y * s.strides[0] - s.pads[0] + i * s.dilations[0];
                const std::int64_t column = z * s.strides[1] - s.pads[1] + j * s.dilations[1];
                if (row < 0 || row >= s.h || column < 0 || column >= s.w) continue;
                const std::int64_t channel = o / out_group * in_group + c;
                const double product =
                    double{x[((n * s.c + channel) * s.h + row) * s.w + column]} *
                    weights[((o * in_group + c) * s.kernel_h + i) * s.kernel_w + j];
                sum += product;
                magnitude += std::abs(product);
              }
          result.values.push_back(sum);
          result.bounds.push_back(product_bound(in_group * s.kernel_h * s.kernel_w, magnitude));
        }
  return result;
}

// a: [batch, m, k], b: [batch, k, n]; a batch of b may be 1.
inline Expectation expected_product(std::int64_t batch, std::int64_t m, std::int64_t n,
                                    std::int64_t k, const std::vector<float>& a,
                                    const std::vector<float>& b) {
  Expectation result;
  const bool shares_b = static_cast<std::int64_t>(b.size()) == k * n;
  for (std::int64_t s = 0; s < batch; ++s)
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0, magnitude = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          const double product =
              double{a[(s * m + i) * k + l]} * b[((shares_b ? 0 : s) * k + l) * n + j];
          sum += product;
          magnitude += std::abs(product);
        }
        result.values.push_back(sum);
        result.bounds.push_back(product_bound(k, magnitude));
      }
  return result;
}

}  // namespace inlay
