#include "core/base/shape.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace inlay {
namespace {

TEST(Shape, CountsElements) {
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({2, 3, 4}), 24);
  EXPECT_EQ(element_count({2, 0, 4}), 0);
}

TEST(Shape, RefusesNegativeExtentsAndCountsBeyond63Bits) {
  EXPECT_THROW(element_count({2, -1}), Error);
  EXPECT_THROW(element_count({std::int64_t{1} << 32, std::int64_t{1} << 31}), Error);
  EXPECT_EQ(element_count({std::int64_t{1} << 31, std::int64_t{1} << 31}), std::int64_t{1} << 62);
}

TEST(Shape, PrintsExtentsWithCrosses) {
  EXPECT_EQ(to_string(Shape{1, 3, 224}), "1x3x224");
  EXPECT_EQ(to_string(Shape{}), "scalar");
}

TEST(Shape, StridesAreRowMajor) {
  EXPECT_EQ(row_major_strides({2, 3, 4}), (std::vector<std::int64_t>{12, 4, 1}));
  EXPECT_TRUE(row_major_strides({}).empty());
}

}  // namespace
}  // namespace inlay
