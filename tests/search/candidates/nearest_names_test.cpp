#include "search/candidates/nearest_names.h"

#include <gtest/gtest.h>

namespace inlay {
namespace {

using Nodes = std::vector<std::pair<std::string, std::string>>;

const Nodes kNodes{{"stem.conv", "Conv"},   {"stem.relu", "Relu"},    {"layer1.conv", "Conv"},
                   {"layer1.relu", "Relu"}, {"layer10.conv", "Conv"}, {"classifier", "Gemm"},
                   {"Relu_7", "Relu"}};

TEST(NearestNames, AMisspeltNameFindsItself) {
  EXPECT_EQ(nearest_names("layer1.cnov", kNodes)[0], "layer1.conv");
  EXPECT_EQ(nearest_names("clasifier", kNodes)[0], "classifier");
  EXPECT_EQ(nearest_names("STEM.CONV", kNodes)[0], "stem.conv");
}

TEST(NearestNames, APartFindsTheWhole) {
  EXPECT_EQ(nearest_names("layer10", kNodes)[0], "layer10.conv");
}

TEST(NearestNames, ANameOfAnotherModelFindsItsOperator) {
  const std::vector<std::string> names = nearest_names("conv1", kNodes);
  ASSERT_EQ(names.size(), 5u);
  EXPECT_EQ(names[0], "stem.conv");
  for (int i = 0; i < 3; ++i)
    EXPECT_NE(names[static_cast<std::size_t>(i)].find("conv"), std::string::npos);
}

TEST(NearestNames, AtMostFiveAndNoneOfNothing) {
  EXPECT_EQ(nearest_names("x", kNodes).size(), 5u);
  EXPECT_TRUE(nearest_names("x", {}).empty());
  EXPECT_EQ(nearest_names("", {{"a", "Relu"}}).size(), 1u);
}

}  // namespace
}  // namespace inlay
