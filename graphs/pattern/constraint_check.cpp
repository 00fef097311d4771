#include "graphs/pattern/constraint_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "graphs/pattern/evaluate.h"

namespace inlay {
namespace {

// A dimension written as an expression, checked once all plain names are bound.
struct DeferredDim {
  std::string port;
  const Expr* expr;
  std::int64_t extent;
};

class Checker {
 public:
  Checker(const Graph& graph, const Binding& binding)
      : graph_(graph), scope_{graph, binding, dims_} {}

  ConstraintFailure check(const std::vector<std::shared_ptr<const Constraint>>& constraints) {
    ConstraintFailure failure;
    const auto holds = [&failure](std::string reason) {
      ++failure.progress;
      failure.reason = std::move(reason);
      return failure.reason.empty();
    };
    for (const auto& clause : constraints) {
      for (const std::string& port : clause->ports) {
        const auto it = scope_.binding.ports.find(port);
        if (it == scope_.binding.ports.end()) continue;
        if (!holds(check_port(*clause, port, graph_.value(it->second)))) return failure;
      }
    }
    if (!holds(check_deferred())) return failure;
    for (const auto& clause : constraints) {
      if (clause->ports.empty() && !holds(check_comparison(*clause))) return failure;
    }
    return failure;
  }

 private:
  std::string check_port(const Constraint& clause, const std::string& port, const Value& value) {
    const auto& dtypes = clause.dtypes;
    if (!dtypes.empty() &&
        std::find(dtypes.begin(), dtypes.end(), value.type.dtype) == dtypes.end()) {
      return fmt::format("{} fails: {} is {}", to_string(clause), port, to_string(value.type));
    }
    if (clause.constness != Constness::kEither) {
      const bool wants_const = clause.constness == Constness::kConst;
      if (wants_const != value.constant.has_value()) {
        return fmt::format("{} fails: {} is {}", to_string(clause), port,
                           wants_const ? "not constant" : "constant");
      }
    }
    return clause.has_dims ? check_dims(clause, port, value.type.shape) : "";
  }

  std::string check_dims(const Constraint& clause, const std::string& port, const Shape& shape) {
    const std::vector<DimPattern>& dims = clause.dims;
    const auto rest = std::find_if(dims.begin(), dims.end(), [](const DimPattern& dim) {
      return dim.kind == DimPattern::Kind::kRest;
    });
    const auto head = static_cast<std::size_t>(rest - dims.begin());
    const std::size_t tail = rest == dims.end() ? 0 : dims.size() - head - 1;
    if (rest == dims.end() ? shape.size() != dims.size() : shape.size() < head + tail) {
      return fmt::format("{} fails: {} has shape {}", to_string(clause), port, to_string(shape));
    }
    for (std::size_t i = 0; i < head + tail; ++i) {
      const DimPattern& dim = i < head ? dims[i] : dims[i + 1];
      const std::int64_t extent = i < head ? shape[i] : shape[shape.size() - tail + (i - head)];
      const std::string reason = check_dim(clause, port, dim, extent);
      if (!reason.empty()) return reason;
    }
    return "";
  }

  std::string check_dim(const Constraint& clause, const std::string& port, const DimPattern& dim,
                        std::int64_t extent) {
    if (dim.kind == DimPattern::Kind::kAny) return "";
    std::int64_t expected = dim.expr.number;
    if (dim.expr.kind == Expr::Kind::kDim) {
      expected = dims_.emplace(dim.expr.name, extent).first->second;
    } else if (dim.expr.kind != Expr::Kind::kInt) {
      deferred_.push_back({port, &dim.expr, extent});
      return "";
    }
    if (expected == extent) return "";
    const std::string name = to_string(dim.expr);
    return fmt::format(
        "{} fails: {} of {} is {}{}", to_string(clause), name, port, extent,
        dim.expr.kind == Expr::Kind::kDim ? fmt::format(", elsewhere {}", expected) : "");
  }

  std::string check_deferred() {
    // Solving one expression may make another known: repeat until nothing is left or nothing
    // changes.
    for (bool progress = true; progress && !deferred_.empty();) {
      progress = false;
      for (std::size_t i = 0; i < deferred_.size();) {
        const DeferredDim dim = deferred_[i];
        std::set<std::string> unknown;
        collect_unknown(*dim.expr, scope_, unknown);
        if (unknown.size() == 1) {
          const auto value = solve(*dim.expr, scope_, dim.extent);
          if (!value) return deferred_failure(dim, "no value of " + *unknown.begin() + " fits");
          dims_[*unknown.begin()] = *value;
        }
        if (unknown.size() > 1) {
          ++i;
          continue;
        }
        const std::string reason = check_known(dim);
        if (!reason.empty()) return reason;
        deferred_.erase(deferred_.begin() + static_cast<std::ptrdiff_t>(i));
        progress = true;
      }
    }
    return deferred_.empty() ? "" : deferred_failure(deferred_[0], "several names are unknown");
  }

  std::string check_known(const DeferredDim& dim) const {
    const Evaluated value = evaluate(*dim.expr, scope_);
    if (value.state == Evaluated::State::kVacuous) return "";
    if (value.state == Evaluated::State::kProblem) return deferred_failure(dim, value.problem);
    const ExprValue extent{false, {dim.extent}};
    return compare(value.value, "==", extent).value_or(false)
               ? ""
               : deferred_failure(dim, "it is " + to_string(value.value));
  }

  std::string deferred_failure(const DeferredDim& dim, const std::string& why) const {
    return fmt::format("dimension {} of {} fails: extent {}, {}", to_string(*dim.expr), dim.port,
                       dim.extent, why);
  }

  std::string check_comparison(const Constraint& clause) const {
    const Evaluated left = evaluate(clause.left, scope_);
    Evaluated right;
    right.value.items = {std::int64_t{0}};
    if (!clause.comparison.empty()) right = evaluate(clause.right, scope_);
    // Vacuous wins over a problem: the clause is about something that is not there.
    for (const Evaluated* side : {&left, static_cast<const Evaluated*>(&right)}) {
      if (side->state == Evaluated::State::kVacuous) return "";
    }
    for (const Evaluated* side : {&left, static_cast<const Evaluated*>(&right)}) {
      if (side->state == Evaluated::State::kProblem) return failure_text(clause, side->problem);
    }
    const auto holds =
        compare(left.value, clause.comparison.empty() ? "!=" : clause.comparison, right.value);
    if (holds && *holds) return "";
    return failure_text(clause, holds ? "" : "not comparable");
  }

  std::string failure_text(const Constraint& clause, const std::string& problem) const {
    std::vector<std::string> parts;
    if (!problem.empty()) parts.push_back(problem);
    describe_leaves(clause.left, scope_, parts);
    describe_leaves(clause.right, scope_, parts);
    const std::string text = to_string(clause) + " fails";
    return parts.empty() ? text : fmt::format("{}: {}", text, fmt::join(parts, ", "));
  }

  const Graph& graph_;
  std::map<std::string, std::int64_t> dims_;
  EvaluationScope scope_;
  std::vector<DeferredDim> deferred_;
};

}  // namespace

void bind_outputs(const Node& last, std::map<std::string, ValueId>& ports) {
  for (std::size_t i = 0; i < last.outputs.size(); ++i) {
    if (last.outputs[i].is_none()) continue;
    ports[i == 0 ? "out" : fmt::format("out{}", i)] = last.outputs[i];
  }
}

ConstraintFailure check_constraints(
    const Graph& graph, const std::vector<std::shared_ptr<const Constraint>>& constraints,
    const Binding& binding) {
  return Checker(graph, binding).check(constraints);
}

}  // namespace inlay
