#include "core/base/printable.h"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <vector>

namespace inlay {
namespace {

struct Character {
  std::size_t size = 1;    // bytes
  std::uint32_t code = 0;  // of a well-formed one
  bool is_well_formed = false;
};

// The character at the start of a text that is not empty (Unicode 15, table 3-7).
Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {1, lead, true};
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return {};
  std::uint32_t code = lead & (0x7fU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fU);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kLeast[size] || code > 0x10ffff || is_surrogate) return {};
  return {size, code, true};
}

// Moves the cursor, breaks the line or turns the text around.
bool is_control(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x61c ||
         (code >= 0x200e && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

}  // namespace

std::string printable(std::string_view text, std::size_t most) {
  const std::size_t last = text.find_last_not_of(" \n\r");
  text = text.substr(0, last == std::string_view::npos ? 0 : last + 1);
  std::string line;
  std::vector<std::size_t> starts;  // of what stands on the line as one
  for (std::size_t i = 0; i < text.size();) {
    starts.push_back(line.size());
    if (text[i] == '\n') {
      line += line.ends_with(':') ? " " : "; ";
      while (i < text.size() && (text[i] == ' ' || text[i] == '\n')) ++i;
      continue;
    }
    const Character c = first_of(text.substr(i));
    if (c.is_well_formed && !is_control(c.code)) {
      line += text.substr(i, c.size);
    } else {
      for (std::size_t k = i; k < i + c.size; ++k) {
        fmt::format_to(std::back_inserter(line), "\\x{:02x}", static_cast<unsigned char>(text[k]));
      }
    }
    i += c.size;
  }
  if (starts.size() <= most || most < 2) return line;
  const std::size_t head = most / 2;
  const std::size_t tail = most - head - 1;
  const std::size_t tail_at = tail == 0 ? line.size() : starts[starts.size() - tail];
  return line.substr(0, starts[head]) + "…" + line.substr(tail_at);
}

std::string printable_name(std::string_view name) {
  constexpr std::size_t kLongest = 200;
  return printable(name, kLongest);
}

}  // namespace inlay
