// Writes JSON in a constant expression, for the manifest (manifest.h).
//
//   ManifestWriter json(nullptr);   // counts only
//   json.raw("{"); json.key("name"); json.string("acme"); json.raw("}");
#pragma once

#include <cstddef>
#include <string_view>

namespace inlay::sdk {

// Appends JSON to `out`; only counts where `out` is null.
class ManifestWriter {
 public:
  constexpr explicit ManifestWriter(char* out) : out_(out) {}

  constexpr std::size_t size() const { return size_; }

  constexpr void raw(std::string_view text) {
    for (const char c : text) put(c);
  }

  constexpr void string(std::string_view text) {
    put('"');
    for (const char c : text) escaped(c);
    put('"');
  }

  constexpr void number(unsigned value) {
    if (value >= 10) number(value / 10);
    put(static_cast<char>('0' + value % 10));
  }

  constexpr void key(std::string_view name) {
    string(name);
    put(':');
  }

  // The blank-separated words of `text` as an array.
  constexpr void words(std::string_view text) {
    put('[');
    bool is_first = true;
    for (std::size_t i = 0; i < text.size();) {
      const std::size_t end = text.find(' ', i) == text.npos ? text.size() : text.find(' ', i);
      if (end > i) {
        if (!is_first) put(',');
        is_first = false;
        string(text.substr(i, end - i));
      }
      i = end + 1;
    }
    put(']');
  }

  // "name: text; name: text" as an object.
  constexpr void pairs(std::string_view list) {
    put('{');
    for (bool is_first = true; !list.empty(); is_first = false) {
      const std::size_t end = list.find(';') == list.npos ? list.size() : list.find(';');
      const std::string_view pair = trimmed(list.substr(0, end));
      list.remove_prefix(end < list.size() ? end + 1 : end);
      const std::size_t colon = pair.find(':');
      if (colon == pair.npos) throw "expected 'name: text' between semicolons";
      if (!is_first) put(',');
      key(trimmed(pair.substr(0, colon)));
      string(trimmed(pair.substr(colon + 1)));
    }
    put('}');
  }

 private:
  static constexpr std::string_view trimmed(std::string_view text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    return text;
  }

  constexpr void put(char c) {
    if (out_ != nullptr) out_[size_] = c;
    ++size_;
  }

  constexpr void escaped(char c) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      put('\\');
      put(c);
    } else if (code < 0x20) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      raw("\\u00");
      put(kDigits[code >> 4]);
      put(kDigits[code & 15]);
    } else {
      put(c);
    }
  }

  char* out_;
  std::size_t size_ = 0;
};

}  // namespace inlay::sdk
