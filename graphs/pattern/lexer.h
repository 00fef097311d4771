// Splits the text of a pattern into tokens, each with the column where it starts.
//
//   TokenStream tokens("mm", "match", "Relu(MatMul(A,B))");
//   const Token name = tokens.expect(Token::Kind::kName, "an operator");
//   tokens.expect_symbol("(");
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace inlay {

struct Token {
  enum class Kind { kName, kInt, kFloat, kString, kSymbol, kEnd };
  Kind kind = Kind::kEnd;
  std::string text;  // a string's content without quotes
  std::int64_t number = 0;
  float real = 0;
  int column = 1;
};

class TokenStream {
 public:
  // `pattern` and `field` go into messages. throws Error{kCorrupt} at a character that starts no
  // token.
  TokenStream(std::string pattern, std::string field, std::string_view text);

  const Token& peek(std::size_t ahead = 0) const;
  Token next();
  bool at_end() const { return peek().kind == Token::Kind::kEnd; }
  bool at_symbol(std::string_view symbol, std::size_t ahead = 0) const;
  bool accept_symbol(std::string_view symbol);
  void expect_symbol(std::string_view symbol);
  Token expect(Token::Kind kind, std::string_view what);

  // throws Error{kCorrupt} "pattern 'p': match, column 3: expected WHAT, found 'x'"
  [[noreturn]] void fail_expected(std::string_view what) const;
  [[noreturn]] void fail(int column, std::string_view message) const;

 private:
  std::string pattern_;
  std::string field_;
  std::vector<Token> tokens_;
  std::size_t position_ = 0;
};

}  // namespace inlay
