#include <fmt/format.h>
#include <fmt/ranges.h>

#include "graphs/pattern/pattern.h"
#include "graphs/pattern/pattern_data.h"

namespace inlay {
namespace {

std::string print_node(const PatternNode& node);

std::string print_operand(const PatternOperand& operand) {
  if (operand.node) return print_node(*operand.node);
  return operand.variable + (operand.is_optional ? "?" : "");
}

std::string print_ops(const std::vector<OpName>& ops) {
  if (ops.size() == 1) return to_string(ops[0]);
  std::string text;
  for (const OpName& op : ops) text += (text.empty() ? "[" : "|") + to_string(op);
  return text + "]";
}

std::string print_node(const PatternNode& node) {
  std::string text = node.alias.empty() ? "" : (node.is_tap ? "^" : "") + node.alias + "=";
  text += print_ops(node.ops) + (node.is_optional ? "?(" : "(");
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    text += (i == 0 ? "" : ",") + print_operand(node.operands[i]);
  }
  return text + ")";
}

int precedence(const Expr& expr) {
  if (expr.kind == Expr::Kind::kNegate) return 3;
  if (expr.kind != Expr::Kind::kBinary) return 4;
  return expr.op == '+' || expr.op == '-' ? 1 : 2;
}

std::string print_float(float value) {
  const std::string text = fmt::format("{}", value);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

// `expr` in parentheses if it binds weaker than `least`.
std::string print_at(const Expr& expr, int least) {
  return precedence(expr) < least ? "(" + to_string(expr) + ")" : to_string(expr);
}

std::string print_dims(const std::vector<DimPattern>& dims) {
  std::string text;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) text += ",";
    switch (dims[i].kind) {
      case DimPattern::Kind::kAny:
        text += "_";
        break;
      case DimPattern::Kind::kRest:
        text += "...";
        break;
      case DimPattern::Kind::kExpr:
        text += to_string(dims[i].expr);
        break;
    }
  }
  return "[" + text + "]";
}

}  // namespace

bool operator==(const PatternOperand& a, const PatternOperand& b) {
  if (a.variable != b.variable || a.is_optional != b.is_optional) return false;
  if (!a.node || !b.node) return !a.node && !b.node;
  return *a.node == *b.node;
}

bool operator==(const PatternNode& a, const PatternNode& b) {
  return a.alias == b.alias && a.ops == b.ops && a.is_optional == b.is_optional &&
         a.is_tap == b.is_tap && a.operands == b.operands;
}

bool operator==(const Pattern& a, const Pattern& b) {
  const auto same = [](const auto& x, const auto& y) { return x && y ? *x == *y : !x && !y; };
  if (a.constraints.size() != b.constraints.size() || a.links.size() != b.links.size())
    return false;
  for (std::size_t i = 0; i < a.links.size(); ++i) {
    if (!same(a.links[i], b.links[i])) return false;
  }
  for (std::size_t i = 0; i < a.constraints.size(); ++i) {
    if (!same(a.constraints[i], b.constraints[i])) return false;
  }
  return a.id == b.id && a.most_links == b.most_links && same(a.root, b.root) && a.ops == b.ops &&
         a.variants == b.variants && a.aliases == b.aliases;
}

std::string to_string(const OpName& op) {
  return op.domain.empty() ? op.name : op.domain + "." + op.name;
}

std::string to_string(const Expr& expr) {
  switch (expr.kind) {
    case Expr::Kind::kInt:
      return fmt::format("{}", expr.number);
    case Expr::Kind::kFloat:
      return print_float(expr.real);
    case Expr::Kind::kString:
      return fmt::format("\"{}\"", expr.name);
    case Expr::Kind::kDim:
      return expr.name;
    case Expr::Kind::kAttribute:
      return expr.name + "." + expr.attribute;
    case Expr::Kind::kRank:
      return fmt::format("rank({})", expr.name);
    case Expr::Kind::kValue:
      return fmt::format("value({})", expr.name);
    case Expr::Kind::kHasAttribute:
      return fmt::format("has({}.{})", expr.name, expr.attribute);
    case Expr::Kind::kHasPort:
      return fmt::format("has({})", expr.name);
    case Expr::Kind::kNegate:
      return "-" + print_at(expr.args[0], 3);
    case Expr::Kind::kBinary:
      return print_at(expr.args[0], precedence(expr)) + expr.op +
             print_at(expr.args[1], precedence(expr) + 1);
    case Expr::Kind::kList:
      break;
  }
  std::string text;
  for (const Expr& arg : expr.args) text += (text.empty() ? "" : ",") + to_string(arg);
  return "[" + text + "]";
}

std::string to_string(const Constraint& constraint) {
  if (constraint.ports.empty()) {
    if (constraint.comparison.empty()) return to_string(constraint.left);
    return to_string(constraint.left) + constraint.comparison + to_string(constraint.right);
  }
  std::string text = fmt::format("{}: ", fmt::join(constraint.ports, ","));
  if (constraint.dtypes.empty()) text += "any";
  for (std::size_t i = 0; i < constraint.dtypes.size(); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : "|", name_of(constraint.dtypes[i]));
  }
  if (constraint.has_dims) text += print_dims(constraint.dims);
  if (constraint.constness == Constness::kConst) text += " const";
  if (constraint.constness == Constness::kDynamic) text += " dynamic";
  return text;
}

std::string print_match(const Pattern& pattern) {
  return pattern.root ? print_node(*pattern.root) : "";
}

PatternText print_pattern(const Pattern& pattern) {
  PatternText text;
  text.id = pattern.id;
  text.match = print_match(pattern);
  for (const auto& link : pattern.links) {
    text.fuse += text.fuse.empty() ? fmt::format("{}: ", pattern.most_links) : "; ";
    text.fuse += print_node(*link);
  }
  text.ops = pattern.ops;
  for (const auto& constraint : pattern.constraints) {
    text.where += (text.where.empty() ? "" : "; ") + to_string(*constraint);
  }
  for (std::size_t i = 0; i < pattern.variants.size(); ++i) {
    const LayoutVariant& variant = pattern.variants[i];
    std::vector<std::string> words;
    for (const auto& [port, layout] : variant.layouts) words.push_back(port + ":" + layout);
    for (const std::string& feature : variant.cpu) words.push_back("@" + feature);
    if (words.empty()) words.push_back("dense");
    text.layouts += fmt::format("{}{}", i == 0 ? "" : " | ", fmt::join(words, " "));
  }
  for (const auto& [output, input] : pattern.aliases) {
    text.alias += fmt::format("{}{}={}", text.alias.empty() ? "" : " ", output, input);
  }
  return text;
}

}  // namespace inlay
