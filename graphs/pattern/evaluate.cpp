#include "graphs/pattern/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace inlay {
namespace {

using Kind = Expr::Kind;

Evaluated of(Scalar scalar) { return {Evaluated::State::kValue, {false, {std::move(scalar)}}, {}}; }
Evaluated vacuous() { return {Evaluated::State::kVacuous, {}, {}}; }
Evaluated problem(std::string text) { return {Evaluated::State::kProblem, {}, std::move(text)}; }

Evaluated of_attribute(const Attribute& attribute, const std::string& name) {
  ExprValue value;
  if (const auto* i = std::get_if<std::int64_t>(&attribute)) return of(*i);
  if (const auto* f = std::get_if<float>(&attribute)) return of(static_cast<double>(*f));
  if (const auto* s = std::get_if<std::string>(&attribute)) return of(*s);
  value.is_list = true;
  const auto append = [&value]<typename T>(const std::vector<T>* list) {
    if (list == nullptr) return false;
    value.items.assign(list->begin(), list->end());
    return true;
  };
  if (append(std::get_if<std::vector<std::int64_t>>(&attribute)) ||
      append(std::get_if<std::vector<float>>(&attribute)) ||
      append(std::get_if<std::vector<std::string>>(&attribute))) {
    return {Evaluated::State::kValue, std::move(value), {}};
  }
  return problem(fmt::format("{} is a tensor", name));
}

// Element `i` of a constant as a number; nullopt for types that constraints do not read.
std::optional<Scalar> element(const Tensor& tensor, std::size_t i) {
  switch (tensor.dtype()) {
    case DType::kF32:
      return static_cast<double>(tensor.as<float>()[i]);
    case DType::kF64:
      return tensor.as<double>()[i];
    case DType::kI8:
      return std::int64_t{tensor.as<std::int8_t>()[i]};
    case DType::kU8:
      return std::int64_t{tensor.as<std::uint8_t>()[i]};
    case DType::kI32:
      return std::int64_t{tensor.as<std::int32_t>()[i]};
    case DType::kI64:
      return tensor.as<std::int64_t>()[i];
    default:
      return std::nullopt;
  }
}

Evaluated constant_value(const std::string& port, const Value& value) {
  if (!value.constant) return problem(fmt::format("{} is not constant", port));
  const std::int64_t count = element_count(value.type.shape);
  // A parameter is small; reading a whole weight here would cost more than the match.
  if (count < 1 || count > 64) return problem(fmt::format("{} has {} elements", port, count));
  const auto first = element(*value.constant, 0);
  if (!first) return problem(fmt::format("{} is {}", port, to_string(value.type)));
  for (std::int64_t i = 1; i < count; ++i) {
    if (element(*value.constant, static_cast<std::size_t>(i)) != first) {
      return problem(fmt::format("{} has several values", port));
    }
  }
  return of(*first);
}

Evaluated integer_arithmetic(char op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool overflow = false;
  switch (op) {
    case '+':
      overflow = __builtin_add_overflow(a, b, &result);
      break;
    case '-':
      overflow = __builtin_sub_overflow(a, b, &result);
      break;
    case '*':
      overflow = __builtin_mul_overflow(a, b, &result);
      break;
    default:
      if (b == 0) return problem("division by zero");
      overflow = a == std::numeric_limits<std::int64_t>::min() && b == -1;
      if (!overflow) result = op == '/' ? a / b : a % b;
  }
  return overflow ? problem("overflow") : of(result);
}

Evaluated evaluate_binary(const Expr& expr, const EvaluationScope& scope) {
  const Evaluated left = evaluate(expr.args[0], scope);
  if (left.state != Evaluated::State::kValue) return left;
  const Evaluated right = evaluate(expr.args[1], scope);
  if (right.state != Evaluated::State::kValue) return right;
  const auto integer = [](const ExprValue& value) {
    return value.is_list ? nullptr : std::get_if<std::int64_t>(&value.items[0]);
  };
  const std::int64_t* a = integer(left.value);
  const std::int64_t* b = integer(right.value);
  if (a == nullptr || b == nullptr) return problem("arithmetic needs integers");
  return integer_arithmetic(expr.op, *a, *b);
}

const Node* find_node(const Expr& expr, const EvaluationScope& scope) {
  const auto it = scope.binding.nodes.find(expr.name);
  return it == scope.binding.nodes.end() ? nullptr : it->second;
}

Evaluated evaluate_attribute(const Expr& expr, const EvaluationScope& scope) {
  const Node* node = find_node(expr, scope);
  if (node == nullptr) return vacuous();
  const auto it = node->attributes.find(expr.attribute);
  if (it == node->attributes.end()) return problem(to_string(expr) + " is absent");
  return of_attribute(it->second, to_string(expr));
}

Evaluated evaluate_list(const Expr& expr, const EvaluationScope& scope) {
  Evaluated list;
  list.value.is_list = true;
  for (const Expr& arg : expr.args) {
    Evaluated item = evaluate(arg, scope);
    if (item.state != Evaluated::State::kValue) return item;
    if (item.value.is_list) return problem("a list inside a list");
    list.value.items.push_back(std::move(item.value.items[0]));
  }
  return list;
}

Evaluated negate(const Expr& expr, const EvaluationScope& scope) {
  Evaluated value = evaluate(expr.args[0], scope);
  if (value.state != Evaluated::State::kValue || value.value.is_list) return value;
  if (const auto* f = std::get_if<double>(&value.value.items[0])) return of(-*f);
  const auto* i = std::get_if<std::int64_t>(&value.value.items[0]);
  return i == nullptr ? problem("'-' needs a number") : integer_arithmetic('-', 0, *i);
}

std::optional<bool> compare_scalars(const Scalar& a, const std::string& comparison,
                                    const Scalar& b) {
  const auto apply = [&comparison](const auto& x, const auto& y) {
    if (comparison == "==") return x == y;
    if (comparison == "!=") return x != y;
    if (comparison == "<") return x < y;
    if (comparison == "<=") return x <= y;
    if (comparison == ">") return x > y;
    return x >= y;
  };
  const auto* text_a = std::get_if<std::string>(&a);
  const auto* text_b = std::get_if<std::string>(&b);
  if ((text_a == nullptr) != (text_b == nullptr)) return std::nullopt;
  if (text_a != nullptr) return apply(*text_a, *text_b);
  const auto* int_a = std::get_if<std::int64_t>(&a);
  const auto* int_b = std::get_if<std::int64_t>(&b);
  if (int_a != nullptr && int_b != nullptr) return apply(*int_a, *int_b);
  const double x = int_a != nullptr ? static_cast<double>(*int_a) : std::get<double>(a);
  const double y = int_b != nullptr ? static_cast<double>(*int_b) : std::get<double>(b);
  return apply(x, y);
}

std::string scalar_text(const Scalar& scalar) {
  if (const auto* i = std::get_if<std::int64_t>(&scalar)) return fmt::format("{}", *i);
  if (const auto* f = std::get_if<double>(&scalar))
    return fmt::format("{}", static_cast<float>(*f));
  return fmt::format("\"{}\"", std::get<std::string>(scalar));
}

}  // namespace

std::string to_string(const ExprValue& value) {
  if (!value.is_list) return scalar_text(value.items[0]);
  std::string text;
  for (const Scalar& item : value.items) text += (text.empty() ? "" : ",") + scalar_text(item);
  return "[" + text + "]";
}

Evaluated evaluate(const Expr& expr, const EvaluationScope& scope) {
  const auto port = [&]() { return scope.binding.ports.find(expr.name); };
  switch (expr.kind) {
    case Kind::kInt:
      return of(expr.number);
    case Kind::kFloat:
      return of(static_cast<double>(expr.real));
    case Kind::kString:
      return of(expr.name);
    case Kind::kList:
      return evaluate_list(expr, scope);
    case Kind::kNegate:
      return negate(expr, scope);
    case Kind::kBinary:
      return evaluate_binary(expr, scope);
    case Kind::kAttribute:
      return evaluate_attribute(expr, scope);
    case Kind::kHasPort:
      return of(std::int64_t{port() != scope.binding.ports.end()});
    case Kind::kHasAttribute: {
      const Node* node = find_node(expr, scope);
      return node == nullptr ? vacuous() : of(std::int64_t{has(node->attributes, expr.attribute)});
    }
    case Kind::kDim: {
      const auto it = scope.dims.find(expr.name);
      return it == scope.dims.end() ? vacuous() : of(it->second);
    }
    case Kind::kRank:
    case Kind::kValue:
      break;
  }
  const auto it = port();
  if (it == scope.binding.ports.end()) return vacuous();
  const Value& value = scope.graph.value(it->second);
  if (expr.kind == Kind::kValue) return constant_value(expr.name, value);
  return of(static_cast<std::int64_t>(value.type.shape.size()));
}

std::optional<bool> compare(const ExprValue& left, const std::string& comparison,
                            const ExprValue& right) {
  if (comparison == "!=") {
    const auto equal = compare(left, "==", right);
    return equal ? std::optional<bool>(!*equal) : std::nullopt;
  }
  if (left.is_list && right.is_list && left.items.size() != right.items.size()) return false;
  const std::size_t count =
      std::max(left.is_list ? left.items.size() : 0, right.is_list ? right.items.size() : 0);
  bool all = true;
  for (std::size_t i = 0; i < (left.is_list || right.is_list ? count : 1); ++i) {
    const auto one = compare_scalars(left.items[left.is_list ? i : 0], comparison,
                                     right.items[right.is_list ? i : 0]);
    if (!one) return std::nullopt;
    all = all && *one;
  }
  return all;
}

void collect_unknown(const Expr& expr, const EvaluationScope& scope,
                     std::set<std::string>& unknown) {
  if (expr.kind == Kind::kDim && !scope.dims.contains(expr.name)) unknown.insert(expr.name);
  for (const Expr& arg : expr.args) collect_unknown(arg, scope, unknown);
}

std::optional<std::int64_t> solve(const Expr& expr, const EvaluationScope& scope,
                                  std::int64_t target) {
  if (expr.kind == Kind::kDim) return target;
  if (expr.kind != Kind::kBinary) return std::nullopt;
  std::set<std::string> in_left;
  collect_unknown(expr.args[0], scope, in_left);
  const Expr& unknown = expr.args[in_left.empty() ? 1 : 0];
  const Evaluated known = evaluate(expr.args[in_left.empty() ? 0 : 1], scope);
  if (known.state != Evaluated::State::kValue || known.value.is_list) return std::nullopt;
  const auto* other = std::get_if<std::int64_t>(&known.value.items[0]);
  if (other == nullptr) return std::nullopt;

  Evaluated undone;
  switch (expr.op) {
    case '+':
      undone = integer_arithmetic('-', target, *other);
      break;
    case '-':
      undone = in_left.empty() ? integer_arithmetic('-', *other, target)
                               : integer_arithmetic('+', target, *other);
      break;
    case '*': {
      if (*other == 0 || target % *other != 0) return std::nullopt;
      undone = integer_arithmetic('/', target, *other);
      break;
    }
    case '/': {
      // x/other: the multiple; other/x: only an exact divisor is unique enough to mean something.
      if (!in_left.empty()) {
        undone = integer_arithmetic('*', target, *other);
      } else {
        if (target == 0 || *other % target != 0) return std::nullopt;
        undone = integer_arithmetic('/', *other, target);
      }
      break;
    }
    default:
      return std::nullopt;
  }
  if (undone.state != Evaluated::State::kValue) return std::nullopt;
  return solve(unknown, scope, std::get<std::int64_t>(undone.value.items[0]));
}

void describe_leaves(const Expr& expr, const EvaluationScope& scope,
                     std::vector<std::string>& out) {
  const bool is_leaf = expr.kind == Kind::kDim || expr.kind == Kind::kAttribute ||
                       expr.kind == Kind::kRank || expr.kind == Kind::kValue;
  if (is_leaf) {
    const Evaluated value = evaluate(expr, scope);
    if (value.state == Evaluated::State::kValue) {
      const std::string text = to_string(expr) + "=" + to_string(value.value);
      if (std::find(out.begin(), out.end(), text) == out.end()) out.push_back(text);
    }
  }
  for (const Expr& arg : expr.args) describe_leaves(arg, scope, out);
}

}  // namespace inlay
