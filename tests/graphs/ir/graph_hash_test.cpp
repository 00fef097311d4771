#include "graphs/ir/graph_hash.h"

#include <gtest/gtest.h>

namespace inlay {
namespace {

struct Recipe {
  std::string suffix = "";
  std::vector<float> weight = {1, 2};
  float alpha = 0.5f;
  const char* op = "Sub";
  bool swaps = false;
  std::int64_t extent = 2;
};

Hash hash_of_recipe(const Recipe& recipe) {
  GraphBuilder b("g" + recipe.suffix);
  const ValueId x = b.input("x" + recipe.suffix, {DType::kF32, {3, recipe.extent}});
  const ValueId w = b.constant("w" + recipe.suffix, Tensor::from<float>({2}, recipe.weight));
  const ValueId y = b.node("l" + recipe.suffix, "LeakyRelu", {x}, {{"alpha", recipe.alpha}});
  std::vector<ValueId> operands = {y, w};
  if (recipe.swaps) std::swap(operands[0], operands[1]);
  b.output(b.node("s" + recipe.suffix, recipe.op, operands));
  return graph_hash(b.build());
}

TEST(GraphHash, IgnoresNamesAlone) {
  EXPECT_EQ(hash_of_recipe({}), hash_of_recipe({.suffix = "_other"}));
  EXPECT_NE(hash_of_recipe({}), hash_of_recipe({.weight = {1, 3}}));
  EXPECT_NE(hash_of_recipe({}), hash_of_recipe({.alpha = 0.25f}));
  EXPECT_NE(hash_of_recipe({}), hash_of_recipe({.op = "Div"}));
  EXPECT_NE(hash_of_recipe({}), hash_of_recipe({.swaps = true}));
  EXPECT_NE(hash_of_recipe({}), hash_of_recipe({.extent = 1}));
}

TEST(GraphHash, TellsWhichOfTwoOutputsComesFirst) {
  const auto make = [](bool swaps) {
    GraphBuilder b("g");
    const ValueId x = b.input("x", {DType::kF32, {2}});
    const ValueId p = b.node("p", "Relu", {x});
    const ValueId q = b.node("q", "Exp", {x});
    b.output(swaps ? q : p);
    b.output(swaps ? p : q);
    return graph_hash(b.build());
  };
  EXPECT_NE(make(false), make(true));
}

}  // namespace
}  // namespace inlay
