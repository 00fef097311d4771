// What the tests of several plugins ask of them: shapes of convolutions, functions that may follow,
// and two instances of one program at once.
//
//   ConvCase c(stem_shape());                        // y = Conv(x, w)
//   expect_near(run_at_once(c.region, bench), expected_conv(...));
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "tests/plugins/expected.h"
#include "tests/plugins/region_case.h"

namespace inlay {

// Few channels, an odd size, strides and padding, as where a network begins.
inline ConvShape stem_shape() {
  return {.n = 1,
          .c = 3,
          .h = 13,
          .w = 11,
          .o = 17,
          .kernel_h = 3,
          .kernel_w = 3,
          .strides = {2, 2},
          .pads = {1, 1, 1, 1}};
}

// Nothing even: kernel, dilation and padding differ by direction.
inline ConvShape dilated_shape() {
  return {.n = 1,
          .c = 17,
          .h = 10,
          .w = 10,
          .o = 5,
          .kernel_h = 3,
          .kernel_w = 2,
          .dilations = {2, 1},
          .pads = {0, 1, 2, 0}};
}

// A convolution in row-major layouts, without bias.
struct ConvCase {
  explicit ConvCase(const ConvShape& s)
      : region("conv"), x(region.input("X", s.input())), w(region.constant("W", s.weights())) {
    y = region.apply("Conv", {x, w}, s.output(), s.attributes());
  }

  RegionCase region;
  int x;
  int w;
  int y = -1;
};

// A function that may follow in the same region, and its definition.
struct Activation {
  std::string op;
  Attributes attributes;
  double (*function)(double);
};

inline std::vector<Activation> common_activations() {
  return {
      {"Relu", {}, [](double v) { return std::max(v, 0.0); }},
      {"LeakyRelu", {{"alpha", 0.1f}}, [](double v) { return v < 0 ? double{0.1f} * v : v; }},
      {"Clip", {{"min", -0.5f}, {"max", 0.5f}}, [](double v) { return std::clamp(v, -0.5, 0.5); }},
      {"Sigmoid", {}, [](double v) { return 1 / (1 + std::exp(-v)); }},
      {"Tanh", {}, [](double v) { return std::tanh(v); }},
      {"Gelu",
       {{"approximate", "none"}},
       [](double v) { return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))); }},
  };
}

// What the region gives; and two instances that run at once, again and again, give it too.
inline std::vector<float> run_at_once(RegionCase& region, PluginBench& bench) {
  std::string reason;
  const std::unique_ptr<Program> program = region.compile(bench, &reason);
  if (!program) {
    ADD_FAILURE() << "declined: " << reason;
    return {};
  }
  const std::vector<float> alone = region.run(*program);
  std::vector<std::vector<float>> found(2);
  std::vector<std::thread> threads;
  for (std::vector<float>& result : found) {
    threads.emplace_back([&] {
      for (int repeat = 0; repeat < 20; ++repeat) result = region.run(*program);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(found[0], alone);
  EXPECT_EQ(found[1], alone);
  return alone;
}

}  // namespace inlay
