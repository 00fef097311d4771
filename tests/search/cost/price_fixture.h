// Graphs and the fixture of the tests of pricing.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "tests/search/cost/rivals/rival_test.h"

namespace inlay {

inline TensorType f32(Shape shape) { return {DType::kF32, std::move(shape)}; }

// Three equal Relus in a row.
inline Graph relus(std::int64_t width = 64) {
  GraphBuilder b("relus");
  const ValueId x = b.input("x", f32({width, width}));
  const ValueId second = b.node("r2", "Relu", {b.node("r1", "Relu", {x})});
  b.output(b.node("r3", "Relu", {second}));
  return b.build();
}

// Relus of as many different sizes, each a region of its own.
inline Graph sizes(int count) {
  GraphBuilder b("sizes");
  for (int i = 1; i <= count; ++i) {
    b.output(
        b.node("r" + std::to_string(i), "Relu", {b.input("x" + std::to_string(i), f32({8, i}))}));
  }
  return b.build();
}

class PriceTest : public RivalTest {
 protected:
  // Id of the first candidate of this plugin.
  static std::size_t candidate_of(const Candidates& candidates, const std::string& plugin) {
    const auto found = std::find_if(candidates.list.begin(), candidates.list.end(),
                                    [&](const Candidate& c) { return c.plugin == plugin; });
    EXPECT_NE(found, candidates.list.end()) << plugin;
    return static_cast<std::size_t>(found - candidates.list.begin());
  }

  const Graph graph_ = relus();
};

}  // namespace inlay
