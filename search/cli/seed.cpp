#include "search/cli/seed.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <limits>

namespace inlay::cli {

std::string check_seed(const std::string& text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [next, status] = std::from_chars(text.data(), end, number);
  const bool is_octal = text.size() > 1 && text[0] == '0';  // to whom reads it next
  if (status == std::errc() && next == end && !is_octal) return "";
  return fmt::format("expected a whole number from 0 to {}, found '{}'",
                     std::numeric_limits<std::uint64_t>::max(), text);
}

}  // namespace inlay::cli
