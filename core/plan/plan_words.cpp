#include "core/plan/plan_words.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace inlay {
namespace {

constexpr std::array<std::string_view, 5> kStorageWords = {"input", "output", "temporary",
                                                           "constant", "view"};
constexpr std::array<std::string_view, 3> kStepWords = {"run", "convert", "copy"};

template <typename Enum, std::size_t N>
std::optional<Enum> enum_of(const std::array<std::string_view, N>& words, std::string_view word) {
  for (std::size_t i = 0; i < N; ++i) {
    if (words[i] == word) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string_view word_of(Storage storage) {
  return kStorageWords[static_cast<std::size_t>(storage)];
}

std::string_view word_of(StepKind kind) { return kStepWords[static_cast<std::size_t>(kind)]; }

std::optional<Storage> storage_of(std::string_view word) {
  return enum_of<Storage>(kStorageWords, word);
}

std::optional<StepKind> step_kind_of(std::string_view word) {
  return enum_of<StepKind>(kStepWords, word);
}

std::string to_hex(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte b : bytes) {
    const auto value = std::to_integer<std::size_t>(b);
    text += kDigits[value / 16];
    text += kDigits[value % 16];
  }
  return text;
}

std::optional<std::vector<std::byte>> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::vector<std::byte> bytes(text.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const int high = hex_digit(text[2 * i]);
    const int low = hex_digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes[i] = static_cast<std::byte>(16 * high + low);
  }
  return bytes;
}

std::optional<TensorType> parse_type(std::string_view text) {
  const std::size_t bracket = text.find('[');
  if (bracket == std::string_view::npos || text.back() != ']') return std::nullopt;
  const std::optional<DType> dtype = parse_dtype(text.substr(0, bracket));
  if (!dtype) return std::nullopt;
  TensorType type{*dtype, {}};
  std::string_view extents = text.substr(bracket + 1, text.size() - bracket - 2);
  if (extents == "scalar") return type;
  const char* at = extents.data();
  const char* const end = at + extents.size();
  for (;;) {
    std::int64_t extent = 0;
    const auto [next, error] = std::from_chars(at, end, extent);
    if (error != std::errc() || extent < 0) return std::nullopt;
    type.shape.push_back(extent);
    if (next == end) break;
    if (*next != 'x') return std::nullopt;
    at = next + 1;
  }
  // One text a type: no leading zeros.
  if (to_string(type) != text) return std::nullopt;
  return type;
}

void refuse(const std::string& source, const std::string& where, const std::string& what) {
  throw Error(Code::kCorrupt,
              fmt::format("{}: {}{}{}", source, where, where.empty() ? "" : ": ", what));
}

}  // namespace inlay
