#include "core/base/error.h"

#include <gtest/gtest.h>

#include <set>

namespace inlay {
namespace {

TEST(Error, EveryCodeHasANameOfItsOwn) {
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(Code::kInternal); ++i) {
    const std::string name = code_name(static_cast<Code>(i));
    EXPECT_FALSE(name.empty());
    EXPECT_TRUE(names.insert(name).second) << name;
  }
  EXPECT_TRUE(names.count("invalid_argument"));
}

TEST(Error, CarriesCodeAndMessage) {
  const Error error(Code::kCorrupt, "m.plan: expected '{', found 'x'");
  EXPECT_EQ(error.code(), Code::kCorrupt);
  EXPECT_STREQ(error.what(), "m.plan: expected '{', found 'x'");
}

}  // namespace
}  // namespace inlay
