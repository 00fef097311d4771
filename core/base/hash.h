// 128-bit content hashes (XXH3) for constants, regions and database keys. Not cryptographic: they
// tell equal from different, they do not stand against an attacker.
//
//   Hash h = Hasher().add("conv").add(bytes).finish();   h.hex() == "0f3a…" (32 digits)
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace inlay {

struct Hash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  std::string hex() const;
  auto operator<=>(const Hash&) const = default;
};

// Feeds parts one by one. Every part is preceded by its length, so ("ab","c") and ("a","bc")
// differ.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher& add(std::span<const std::byte> bytes);
  Hasher& add(std::string_view text);
  Hasher& add(std::int64_t number);
  Hash finish() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Hash hash_of(std::span<const std::byte> bytes);

}  // namespace inlay
