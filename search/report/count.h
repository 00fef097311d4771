// Counts in words: "1 step", "2 steps", "2 copies".
//
//   fmt::print("{}\n", count_of(copies, "copy", "copies"));
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace inlay {

//   plural  of words that do not just take an s
inline std::string count_of(std::int64_t count, std::string_view noun,
                            std::string_view plural = {}) {
  if (count == 1) return fmt::format("1 {}", noun);
  return plural.empty() ? fmt::format("{} {}s", count, noun) : fmt::format("{} {}", count, plural);
}

}  // namespace inlay
