#include "core/base/rng.h"

#include <gtest/gtest.h>

namespace inlay {
namespace {

// The standard fixes mt19937_64: its 10000th number from the default seed.
TEST(Rng, IsTheStandardGenerator) {
  Rng rng(5489);
  std::uint64_t last = 0;
  for (int i = 0; i < 10000; ++i) last = rng.next();
  EXPECT_EQ(last, 9981545732273789042u);
}

TEST(Rng, UniformStaysBelowOneAndCoversTheInterval) {
  Rng rng(5);
  double low = 1, high = 0;
  for (int i = 0; i < 10000; ++i) {
    const double u = rng.uniform();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    low = std::min(low, u);
    high = std::max(high, u);
  }
  EXPECT_LT(low, 0.01);
  EXPECT_GT(high, 0.99);
}

// 40000 draws: the standard error of the mean is 0.005, of the variance 0.007; four of them each.
TEST(Rng, NormalHasMeanZeroAndVarianceOne) {
  Rng rng(6);
  double sum = 0, squares = 0;
  constexpr int kDraws = 40000;
  for (int i = 0; i < kDraws; ++i) {
    const double x = rng.normal();
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kDraws, 0.0, 0.02);
  EXPECT_NEAR(squares / kDraws, 1.0, 0.03);
}

}  // namespace
}  // namespace inlay
