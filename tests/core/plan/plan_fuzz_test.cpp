// Damaged plans: whatever the bytes, parse_plan refuses with kCorrupt or returns a plan that it
// accepts again.
#include <gtest/gtest.h>

#include "core/base/rng.h"
#include "core/plan/plan_text.h"
#include "tests/core/plan/sample_plan.h"

namespace inlay {
namespace {

constexpr int kTrials = 4000;

// True if it was accepted.
bool survives(const std::string& text) {
  try {
    const Plan plan = parse_plan(text, "fuzzed");
    EXPECT_EQ(to_text(parse_plan(to_text(plan), "again")), to_text(plan));
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kCorrupt) << error.what() << "\n" << text;
    return false;
  }
}

TEST(PlanFuzz, SurvivesFlippedBits) {
  const std::string good = to_text(sample_plan_with_parts());
  Rng rng(1);
  int accepted = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::string text = good;
    for (std::uint64_t flips = 1 + rng.below(4); flips > 0; --flips) {
      text[rng.below(text.size())] ^= static_cast<char>(1 << rng.below(8));
    }
    accepted += survives(text) ? 1 : 0;
  }
  EXPECT_GT(accepted, 0);  // names may change; else the test would only see broken JSON
  EXPECT_LT(accepted, kTrials);
}

TEST(PlanFuzz, SurvivesTruncation) {
  const std::string good = to_text(sample_plan());
  for (std::size_t size = 0; size + 2 < good.size(); size += 7) {
    EXPECT_FALSE(survives(good.substr(0, size)));
  }
}

// Stays JSON, so that the checks behind the parser are reached.
TEST(PlanFuzz, SurvivesOtherNumbersAndWords) {
  const std::string good = to_text(sample_plan());
  const std::vector<std::string> numbers = {"-1",
                                            "0",
                                            "1",
                                            "2",
                                            "7",
                                            "63",
                                            "64",
                                            "4294967296",
                                            "9223372036854775807",
                                            "18446744073709551615",
                                            "1e30"};
  Rng rng(2);
  int accepted = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::string text = good;
    std::size_t at = rng.below(text.size());
    at = text.find_first_of("0123456789", at);
    if (at == std::string::npos) continue;
    const std::size_t end = text.find_first_not_of("0123456789", at);
    text.replace(at, end - at, numbers[rng.below(numbers.size())]);
    accepted += survives(text) ? 1 : 0;
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, kTrials);
}

TEST(PlanFuzz, SurvivesShuffledPieces) {
  const std::string good = to_text(sample_plan());
  Rng rng(3);
  for (int trial = 0; trial < kTrials; ++trial) {
    std::string text = good;
    const std::size_t from = rng.below(text.size());
    const std::size_t size = rng.below(80);
    const std::string piece = text.substr(from, size);
    rng.below(2) == 0 ? text.erase(from, size) : text;
    text.insert(rng.below(text.size()), piece);
    survives(text);
  }
}

}  // namespace
}  // namespace inlay
