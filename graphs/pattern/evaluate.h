// Evaluates the expressions of constraints on a binding.
//
//   const Evaluated k = evaluate(expr, {graph, binding, dims});
//   if (k.state == Evaluated::State::kValue && compare(k.value, "==", other.value)) ...
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "graphs/pattern/constraint_check.h"

namespace inlay {

using Scalar = std::variant<std::int64_t, double, std::string>;

struct ExprValue {
  bool is_list = false;
  std::vector<Scalar> items;  // one unless is_list
};

std::string to_string(const ExprValue& value);

struct Evaluated {
  enum class State {
    kValue,
    kVacuous,  // names an operand, node or alternative that is not there
    kProblem,
  };
  State state = State::kValue;
  ExprValue value;
  std::string problem;
};

struct EvaluationScope {
  const Graph& graph;
  const Binding& binding;
  const std::map<std::string, std::int64_t>& dims;
};

Evaluated evaluate(const Expr& expr, const EvaluationScope& scope);

// Lists compare element by element; a list and a number compare each element with the number.
// nullopt: not comparable.
std::optional<bool> compare(const ExprValue& left, const std::string& comparison,
                            const ExprValue& right);

// The names in an expression that no dimension is bound to yet.
void collect_unknown(const Expr& expr, const EvaluationScope& scope,
                     std::set<std::string>& unknown);

// The value of the only unknown name that makes the integer expression equal `target`, if there is
// exactly one such value to be found by undoing + - * /.
std::optional<std::int64_t> solve(const Expr& expr, const EvaluationScope& scope,
                                  std::int64_t target);

// "k=13, Conv.group=2": what the leaves of the expression are.
void describe_leaves(const Expr& expr, const EvaluationScope& scope, std::vector<std::string>& out);

}  // namespace inlay
