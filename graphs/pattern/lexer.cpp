#include "graphs/pattern/lexer.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "core/base/error.h"

namespace inlay {
namespace {

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Longest first, so that "==" is not read as "=" twice.
constexpr std::array<std::string_view, 25> kSymbols = {
    "...", "==", "!=", "<=", ">=", "<", ">", "=", "(", ")", "[", "]", ",",
    ";",   ":",  "|",  "?",  ".",  "+", "-", "*", "/", "%", "@", "^"};

// Length of the number at the start of `text`; *is_float if it has a fraction or an exponent.
std::size_t number_length(std::string_view text, bool* is_float) {
  std::size_t i = 0;
  while (i < text.size() && is_digit(text[i])) ++i;
  *is_float = false;
  if (i + 1 < text.size() && text[i] == '.' && is_digit(text[i + 1])) {
    *is_float = true;
    ++i;
    while (i < text.size() && is_digit(text[i])) ++i;
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    std::size_t j = i + 1;
    if (j < text.size() && (text[j] == '+' || text[j] == '-')) ++j;
    if (j < text.size() && is_digit(text[j])) {
      *is_float = true;
      while (j < text.size() && is_digit(text[j])) ++j;
      i = j;
    }
  }
  return i;
}

}  // namespace

TokenStream::TokenStream(std::string pattern, std::string field, std::string_view text)
    : pattern_(std::move(pattern)), field_(std::move(field)) {
  std::size_t i = 0;
  while (i < text.size()) {
    const char c = text[i];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++i;
      continue;
    }
    Token token;
    token.column = static_cast<int>(i) + 1;
    std::size_t length = 0;
    if (is_name_start(c)) {
      token.kind = Token::Kind::kName;
      while (i + length < text.size() &&
             (is_name_start(text[i + length]) || is_digit(text[i + length]))) {
        ++length;
      }
      token.text = text.substr(i, length);
    } else if (is_digit(c)) {
      bool is_float = false;
      length = number_length(text.substr(i), &is_float);
      token.text = text.substr(i, length);
      const char* begin = text.data() + i;
      const auto result = is_float ? std::from_chars(begin, begin + length, token.real)
                                   : std::from_chars(begin, begin + length, token.number);
      if (result.ec != std::errc()) fail(token.column, "number out of range: " + token.text);
      token.kind = is_float ? Token::Kind::kFloat : Token::Kind::kInt;
    } else if (c == '"') {
      const std::size_t end = text.find('"', i + 1);
      if (end == std::string_view::npos) fail(token.column, "string without closing quote");
      token.kind = Token::Kind::kString;
      token.text = text.substr(i + 1, end - i - 1);
      length = end - i + 1;
    } else {
      token.kind = Token::Kind::kSymbol;
      for (const std::string_view symbol : kSymbols) {
        if (text.substr(i, symbol.size()) == symbol) {
          token.text = symbol;
          break;
        }
      }
      length = token.text.size();
      if (length == 0) {
        const bool printable = c > ' ' && c < 127;
        fail(token.column,
             printable ? fmt::format("unexpected character '{}'", c)
                       : fmt::format("unexpected byte {:#04x}", static_cast<unsigned char>(c)));
      }
    }
    tokens_.push_back(std::move(token));
    i += length;
  }
  Token end;
  end.column = static_cast<int>(text.size()) + 1;
  tokens_.push_back(end);
}

const Token& TokenStream::peek(std::size_t ahead) const {
  return tokens_[std::min(position_ + ahead, tokens_.size() - 1)];
}

Token TokenStream::next() {
  Token token = peek();
  if (position_ + 1 < tokens_.size()) ++position_;
  return token;
}

bool TokenStream::at_symbol(std::string_view symbol, std::size_t ahead) const {
  return peek(ahead).kind == Token::Kind::kSymbol && peek(ahead).text == symbol;
}

bool TokenStream::accept_symbol(std::string_view symbol) {
  if (!at_symbol(symbol)) return false;
  next();
  return true;
}

void TokenStream::expect_symbol(std::string_view symbol) {
  if (!accept_symbol(symbol)) fail_expected(fmt::format("'{}'", symbol));
}

Token TokenStream::expect(Token::Kind kind, std::string_view what) {
  if (peek().kind != kind) fail_expected(what);
  return next();
}

void TokenStream::fail_expected(std::string_view what) const {
  const Token& token = peek();
  const std::string found =
      token.kind == Token::Kind::kEnd ? "the end" : fmt::format("'{}'", token.text);
  fail(token.column, fmt::format("expected {}, found {}", what, found));
}

void TokenStream::fail(int column, std::string_view message) const {
  throw Error(Code::kCorrupt,
              fmt::format("pattern '{}': {}, column {}: {}", pattern_, field_, column, message));
}

}  // namespace inlay
