#include "core/base/hash.h"

#include <gtest/gtest.h>

#include <set>

namespace inlay {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST(Hash, EqualBytesGiveEqualHashesWhereverTheyLie) {
  const std::string a = "0123456789abcdef0123456789abcdef!";
  const std::string shifted = "x" + a;
  EXPECT_EQ(hash_of(bytes_of(a)), hash_of(bytes_of(std::string_view(shifted).substr(1))));
}

TEST(Hash, EveryBitCounts) {
  std::string text(300, 'a');
  std::set<Hash> seen{hash_of(bytes_of(text))};
  for (char& c : text) {
    for (int bit = 0; bit < 8; ++bit) {
      c = static_cast<char>(c ^ (1 << bit));
      EXPECT_TRUE(seen.insert(hash_of(bytes_of(text))).second);
      c = static_cast<char>(c ^ (1 << bit));
    }
  }
}

TEST(Hasher, PartsDoNotRunTogether) {
  const Hash a = Hasher().add("ab").add("c").finish();
  const Hash b = Hasher().add("a").add("bc").finish();
  const Hash c = Hasher().add("abc").finish();
  const Hash d = Hasher().add("abc").add("").finish();
  EXPECT_EQ((std::set<Hash>{a, b, c, d}).size(), 4u);
}

TEST(Hasher, FinishMayBeAskedAgainAndGoneOnFrom) {
  Hasher hasher;
  hasher.add("a");
  const Hash first = hasher.finish();
  EXPECT_EQ(hasher.finish(), first);
  hasher.add(std::int64_t{1});
  EXPECT_NE(hasher.finish(), first);
}

// Database keys and plan files hold such texts: another value here makes all of them stale.
TEST(Hash, HexIsHighThenLowWithLeadingZeros) {
  EXPECT_EQ((Hash{0x1, 0xABCDEF}).hex(), "00000000000000010000000000abcdef");
  EXPECT_EQ(hash_of({}).hex().size(), 32u);
}

}  // namespace
}  // namespace inlay
