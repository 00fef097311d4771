// The words of a pattern's strings: names, numbers and signs.
//
//   Words words("A: f32[m,k]");
//   words.take() == "A"; words.take(":"); words.is("f32")
#pragma once

#include <cctype>
#include <cstddef>
#include <string_view>

namespace inlay::sdk {

class Words {
 public:
  explicit Words(std::string_view text) : text_(text) { next(); }
  std::string_view word() const { return word_; }  // empty at the end
  bool is(std::string_view word) const { return word_ == word; }
  bool is_name() const { return !word_.empty() && (is_letter(word_[0])); }
  bool is_number() const { return !word_.empty() && is_digit(word_[0]); }
  bool take(std::string_view word) {
    if (!is(word)) return false;
    next();
    return true;
  }
  std::string_view take() {
    const std::string_view taken = word_;
    next();
    return taken;
  }

 private:
  static bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
  static bool is_letter(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
  }
  void next() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    std::size_t end = at_;
    while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
    if (end == at_ && at_ < text_.size()) {
      constexpr std::string_view kLonger[] = {"...", "==", "!=", "<=", ">="};
      end = at_ + 1;
      for (const std::string_view longer : kLonger) {
        if (text_.substr(at_).starts_with(longer)) end = at_ + longer.size();
      }
    }
    word_ = text_.substr(at_, end - at_);
    at_ = end;
  }

  std::string_view text_;
  std::string_view word_;
  std::size_t at_ = 0;
};

}  // namespace inlay::sdk
