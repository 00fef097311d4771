#include "graphs/pattern/clause_parser.h"

#include <fmt/format.h>

#include <algorithm>

namespace inlay {
namespace {

constexpr int kMaxDepth = 64;  // of parentheses, for the parser's stack

class ClauseParser {
 public:
  ClauseParser(TokenStream& tokens, const PatternNames& names) : tokens_(tokens), names_(names) {}

  std::vector<Constraint> parse() {
    std::vector<Constraint> clauses;
    while (!tokens_.at_end()) {
      clauses.push_back(is_port_clause() ? parse_ports() : parse_comparison());
      if (tokens_.at_end()) break;
      if (!tokens_.accept_symbol(";")) tokens_.fail_expected("';'");
    }
    for (const auto& [name, column] : used_dims_) {
      if (!bound_dims_.contains(name)) {
        tokens_.fail(column, fmt::format("'{}' is not a dimension of any port", name));
      }
    }
    return clauses;
  }

 private:
  bool is_port_clause() const {
    const Token::Kind kind = tokens_.peek().kind;
    return (kind == Token::Kind::kName || kind == Token::Kind::kInt) &&
           (tokens_.at_symbol(":", 1) || tokens_.at_symbol(",", 1));
  }

  std::string parse_port() {
    const Token token = tokens_.peek();
    if (token.kind != Token::Kind::kName && token.kind != Token::Kind::kInt) {
      tokens_.fail_expected("a port");
    }
    const bool known = token.kind == Token::Kind::kInt
                           ? names_.has_numbered_ports
                           : names_.ports.contains(token.text) || is_output_port(token.text);
    if (!known) tokens_.fail(token.column, fmt::format("unknown port '{}'", token.text));
    tokens_.next();
    return token.text;
  }

  Constraint parse_ports() {
    Constraint clause;
    do clause.ports.push_back(parse_port());
    while (tokens_.accept_symbol(","));
    tokens_.expect_symbol(":");
    parse_types(clause);
    if (tokens_.accept_symbol("[")) {
      clause.has_dims = true;
      parse_dims(clause);
    }
    if (tokens_.peek().kind == Token::Kind::kName) {
      const std::string word = tokens_.peek().text;
      if (word != "const" && word != "dynamic") tokens_.fail_expected("'const', 'dynamic' or ';'");
      clause.constness = word == "const" ? Constness::kConst : Constness::kDynamic;
      tokens_.next();
    }
    return clause;
  }

  void parse_types(Constraint& clause) {
    do {
      const Token token = tokens_.expect(Token::Kind::kName, "a type");
      if (token.text == "any" && clause.dtypes.empty()) return;
      const auto dtype = parse_dtype(token.text);
      if (!dtype || *dtype == DType::kNone) {
        tokens_.fail(token.column, fmt::format("'{}' is not a type", token.text));
      }
      clause.dtypes.push_back(*dtype);
    } while (tokens_.accept_symbol("|"));
  }

  void parse_dims(Constraint& clause) {
    if (tokens_.accept_symbol("]")) return;
    bool has_rest = false;
    do {
      DimPattern dim;
      if (tokens_.at_symbol("...")) {
        if (has_rest) tokens_.fail(tokens_.peek().column, "'...' stands twice");
        has_rest = true;
        tokens_.next();
        dim.kind = DimPattern::Kind::kRest;
      } else if (tokens_.peek().text == "_" && tokens_.peek().kind == Token::Kind::kName) {
        tokens_.next();
      } else {
        dim.kind = DimPattern::Kind::kExpr;
        dim.expr = parse_sum(0);
        collect_dims(dim.expr);
      }
      clause.dims.push_back(std::move(dim));
    } while (tokens_.accept_symbol(","));
    if (!tokens_.accept_symbol("]")) tokens_.fail_expected("',' or ']'");
  }

  // A name in a shape is bound there: directly, or by solving the expression for it.
  void collect_dims(const Expr& expr) {
    if (expr.kind == Expr::Kind::kDim) bound_dims_.insert(expr.name);
    for (const Expr& arg : expr.args) collect_dims(arg);
  }

  Constraint parse_comparison() {
    Constraint clause;
    clause.left = parse_sum(0);
    for (const char* symbol : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (!tokens_.at_symbol(symbol)) continue;
      clause.comparison = symbol;
      tokens_.next();
      clause.right = parse_sum(0);
      return clause;
    }
    const bool is_claim =
        clause.left.kind == Expr::Kind::kHasAttribute || clause.left.kind == Expr::Kind::kHasPort;
    if (!is_claim) tokens_.fail_expected("a comparison");
    return clause;
  }

  Expr binary(char op, Expr left, Expr right) {
    Expr expr;
    expr.kind = Expr::Kind::kBinary;
    expr.op = op;
    expr.args = {std::move(left), std::move(right)};
    return expr;
  }

  Expr parse_sum(int depth) {
    if (depth > kMaxDepth) tokens_.fail(tokens_.peek().column, "nested too deeply");
    Expr left = parse_product(depth);
    while (tokens_.at_symbol("+") || tokens_.at_symbol("-")) {
      const char op = tokens_.next().text[0];
      left = binary(op, std::move(left), parse_product(depth));
    }
    return left;
  }

  Expr parse_product(int depth) {
    Expr left = parse_unary(depth);
    while (tokens_.at_symbol("*") || tokens_.at_symbol("/") || tokens_.at_symbol("%")) {
      const char op = tokens_.next().text[0];
      left = binary(op, std::move(left), parse_unary(depth));
    }
    return left;
  }

  Expr parse_unary(int depth) {
    if (depth > kMaxDepth) tokens_.fail(tokens_.peek().column, "nested too deeply");
    if (!tokens_.accept_symbol("-")) return parse_primary(depth);
    Expr expr;
    expr.kind = Expr::Kind::kNegate;
    expr.args.push_back(parse_unary(depth + 1));
    return expr;
  }

  Expr parse_primary(int depth) {
    Expr expr;
    if (tokens_.accept_symbol("(")) {
      expr = parse_sum(depth + 1);
      tokens_.expect_symbol(")");
      return expr;
    }
    if (tokens_.accept_symbol("[")) {
      expr.kind = Expr::Kind::kList;
      if (tokens_.accept_symbol("]")) return expr;
      do expr.args.push_back(parse_sum(depth + 1));
      while (tokens_.accept_symbol(","));
      if (!tokens_.accept_symbol("]")) tokens_.fail_expected("',' or ']'");
      return expr;
    }
    const Token token = tokens_.peek();
    switch (token.kind) {
      case Token::Kind::kInt:
        expr.number = token.number;
        break;
      case Token::Kind::kFloat:
        expr.kind = Expr::Kind::kFloat;
        expr.real = token.real;
        break;
      case Token::Kind::kString:
        expr.kind = Expr::Kind::kString;
        expr.name = token.text;
        break;
      case Token::Kind::kName:
        return parse_name();
      default:
        tokens_.fail_expected("a number, a name, '(' or '['");
    }
    tokens_.next();
    return expr;
  }

  Expr parse_name() {
    const Token token = tokens_.next();
    Expr expr;
    expr.name = token.text;
    const bool is_call = tokens_.at_symbol("(");
    if (is_call && (token.text == "rank" || token.text == "value")) {
      expr.kind = token.text == "rank" ? Expr::Kind::kRank : Expr::Kind::kValue;
      tokens_.next();
      expr.name = parse_port();
      tokens_.expect_symbol(")");
    } else if (is_call && token.text == "has") {
      tokens_.next();
      if (tokens_.at_symbol(".", 1)) {
        const Token node = tokens_.expect(Token::Kind::kName, "a node");
        expr = parse_attribute(node);
        expr.kind = Expr::Kind::kHasAttribute;
      } else {
        expr.kind = Expr::Kind::kHasPort;
        expr.name = parse_port();
      }
      tokens_.expect_symbol(")");
    } else if (is_call) {
      tokens_.fail(token.column, fmt::format("'{}' is not rank, value or has", token.text));
    } else if (tokens_.at_symbol(".")) {
      expr = parse_attribute(token);
    } else {
      expr.kind = Expr::Kind::kDim;
      used_dims_.emplace_back(token.text, token.column);
    }
    return expr;
  }

  Expr parse_attribute(const Token& node) {
    const auto it = names_.nodes.find(node.text);
    if (it == names_.nodes.end()) {
      tokens_.fail(node.column, fmt::format("'{}' is not a node of the pattern", node.text));
    }
    if (it->second > 1) {
      tokens_.fail(node.column, fmt::format("'{}' may mean several nodes: name one, x={}(…)",
                                            node.text, node.text));
    }
    tokens_.expect_symbol(".");
    Expr expr;
    expr.kind = Expr::Kind::kAttribute;
    expr.name = node.text;
    expr.attribute = tokens_.expect(Token::Kind::kName, "an attribute").text;
    return expr;
  }

  TokenStream& tokens_;
  const PatternNames& names_;
  std::set<std::string> bound_dims_;
  std::vector<std::pair<std::string, int>> used_dims_;
};

}  // namespace

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_output_port(std::string_view text) {
  return text.starts_with("out") && (text.size() == 3 || is_number(text.substr(3)));
}

std::vector<Constraint> parse_clauses(TokenStream& tokens, const PatternNames& names) {
  return ClauseParser(tokens, names).parse();
}

}  // namespace inlay
