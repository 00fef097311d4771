#include "search/check/sample_graph.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "core/base/error.h"
#include "core/run/random_inputs.h"
#include "graphs/ir/op_table.h"
#include "graphs/pattern/pattern_data.h"

namespace inlay::check {
namespace {

// The draw came to nothing.
struct NoFit : std::runtime_error {
  NoFit() : std::runtime_error("operands do not fit") {}
};

std::optional<Attribute> literal(const Expr& expr) {
  switch (expr.kind) {
    case Expr::Kind::kInt:
      return Attribute(expr.number);
    case Expr::Kind::kFloat:
      return Attribute(expr.real);
    case Expr::Kind::kString:
      return Attribute(expr.name);
    case Expr::Kind::kList: {
      std::vector<std::int64_t> numbers;
      for (const Expr& each : expr.args) {
        if (each.kind != Expr::Kind::kInt) return std::nullopt;
        numbers.push_back(each.number);
      }
      return Attribute(numbers);
    }
    default:
      return std::nullopt;
  }
}

class GraphDraw {
 public:
  GraphDraw(const Pattern& pattern, const DrawnForm& form, Draw& draw)
      : pattern_(pattern), form_(form), draw_(draw), builder_("sample") {
    read_hints();
  }

  Graph make() {
    ValueId last = pattern_.root != nullptr ? node(*pattern_.root, std::nullopt, /*is_root=*/true)
                                            : ops_node();
    for (int i = 0; i < form_.links; ++i) last = link(last);
    for (const ValueId value : extra_outputs_) {
      if (value != last && !value.is_none()) builder_.output(value);
    }
    builder_.output(last);
    return builder_.build();
  }

 private:
  // What comparisons say about single names: extents and attributes to try.
  void read_hints() {
    for (const auto& constraint : pattern_.constraints) {
      if (!constraint->ports.empty()) continue;
      const Expr& left = constraint->left;
      if (left.kind == Expr::Kind::kAttribute && constraint->comparison == "==") {
        if (const auto value = literal(constraint->right)) {
          attribute_hints_[{left.name, left.attribute}] = *value;
        }
      }
      if (constraint->right.kind != Expr::Kind::kInt) continue;
      const std::int64_t number = constraint->right.number;
      if (left.kind == Expr::Kind::kDim) {
        extent_hints_[left.name] = {number, number + 1, std::max<std::int64_t>(number - 1, 1)};
      } else if (left.kind == Expr::Kind::kRank) {
        rank_hints_[left.name] = number;
      } else if (left.kind == Expr::Kind::kValue) {
        value_hints_[left.name] = number;
      } else if (left.kind == Expr::Kind::kBinary && left.op == '%' &&
                 left.args[0].kind == Expr::Kind::kDim && left.args[1].kind == Expr::Kind::kInt) {
        const std::int64_t unit = left.args[1].number;
        extent_hints_[left.args[0].name] = {unit + number, 2 * unit + number};
      }
    }
  }

  std::optional<std::int64_t> value_of(const Expr& expr, const NodeDraft& draft) {
    switch (expr.kind) {
      case Expr::Kind::kInt:
        return expr.number;
      case Expr::Kind::kDim: {
        const auto known = extents_.find(expr.name);
        return known == extents_.end() ? std::nullopt : std::optional(known->second);
      }
      case Expr::Kind::kAttribute:
        if (const auto it = draft.attributes.find(expr.attribute); it != draft.attributes.end()) {
          if (const auto* number = std::get_if<std::int64_t>(&it->second)) return *number;
        }
        return std::nullopt;
      case Expr::Kind::kBinary: {
        const auto a = value_of(expr.args[0], draft);
        const auto b = value_of(expr.args[1], draft);
        if (!a || !b) return std::nullopt;
        if (expr.op == '+') return *a + *b;
        if (expr.op == '-') return *a - *b;
        if (expr.op == '*') return *a * *b;
        if (*b == 0) return std::nullopt;
        return expr.op == '/' ? *a / *b : *a % *b;
      }
      default:
        return std::nullopt;
    }
  }

  std::int64_t drawn_extent(const std::string& name) {
    const auto hint = extent_hints_.find(name);
    if (hint != extent_hints_.end() && draw_.chance(0.9)) {
      return hint->second[draw_.rng.below(hint->second.size())];
    }
    return draw_.extent();
  }

  // The shape that a clause gives, in which what it leaves open is the operator's suggestion.
  Shape shaped(const std::vector<DimPattern>& dims, const Shape& suggestion,
               const NodeDraft& draft) {
    const bool fits = suggestion.size() == dims.size();
    Shape shape;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const DimPattern& dim = dims[i];
      if (dim.kind == DimPattern::Kind::kRest) {
        for (std::size_t j = i; j < suggestion.size(); ++j) shape.push_back(suggestion[j]);
        break;
      }
      const std::int64_t suggested = fits ? suggestion[i] : draw_.extent();
      std::int64_t extent = suggested;
      if (dim.kind == DimPattern::Kind::kExpr) {
        if (const auto known = value_of(dim.expr, draft)) {
          extent = *known;
        } else if (dim.expr.kind == Expr::Kind::kDim) {
          // The operands of a node that is not the first say what fits.
          const bool is_first = draft.known.empty();
          extent = is_first || !fits ? drawn_extent(dim.expr.name) : suggested;
          extents_[dim.expr.name] = extent;
        }
      }
      shape.push_back(std::max<std::int64_t>(extent, 0));
    }
    return shape;
  }

  ValueId port(const std::string& name, const NodeDraft& draft) {
    if (const auto bound = values_.find(name); bound != values_.end()) return bound->second;
    TensorType type = suggest_operand(draft, draw_);
    const std::size_t position = draft.known.size();
    if (const auto rank = rank_hints_.find(name); rank != rank_hints_.end()) {
      while (static_cast<std::int64_t>(type.shape.size()) < rank->second) {
        type.shape.insert(type.shape.begin(), draw_.between(1, 3));
      }
    }
    Constness constness = Constness::kEither;
    for (const auto& constraint : pattern_.constraints) {
      if (std::count(constraint->ports.begin(), constraint->ports.end(), name) == 0) continue;
      const std::vector<DType>& dtypes = constraint->dtypes;
      if (!dtypes.empty() && std::count(dtypes.begin(), dtypes.end(), type.dtype) == 0) {
        type.dtype = dtypes[draw_.rng.below(dtypes.size())];
      }
      if (constraint->has_dims) type.shape = shaped(constraint->dims, type.shape, draft);
      if (constraint->constness != Constness::kEither) constness = constraint->constness;
    }
    // A scale that is drawn as an input is may be negative, which means nothing.
    const bool is_quantized = draft.op.find("Linear") != std::string::npos;
    bool is_constant = is_often_constant(draft.op, position) && (is_quantized || draw_.chance(0.9));
    if (constness != Constness::kEither) is_constant = constness == Constness::kConst;
    const auto hint = value_hints_.find(name);
    if (hint != value_hints_.end()) is_constant = true;
    ValueId value;
    if (is_constant) {
      Tensor tensor = draw_constant(draft, position, type, draw_);
      if (hint != value_hints_.end() && type.dtype == DType::kF32) {
        std::span<std::byte> bytes = tensor.mutable_bytes();
        std::fill_n(reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float),
                    static_cast<float>(hint->second));
      }
      value = builder_.constant("c" + name, std::move(tensor));
    } else {
      value = builder_.input("x" + name, type);
    }
    values_[name] = value;
    return value;
  }

  ValueId operand(const PatternOperand& given, const NodeDraft& draft) {
    if (given.node != nullptr) {
      const bool is_first = draft.known.empty();
      std::optional<TensorType> wanted;
      if (!is_first) {
        wanted = suggest_operand(draft, draw_);
      } else if (draft.wanted) {
        wanted = draft.wanted;
      }
      return node(*given.node, wanted, false);
    }
    if (const auto alias = values_.find(given.variable); alias != values_.end()) {
      return alias->second;
    }
    if (given.is_optional && draw_.chance(0.4)) return kNoValue;
    return port(given.variable, draft);
  }

  NodeDraft draft_of(const std::string& op, const std::string& alias) {
    NodeDraft draft{.op = op};
    for (const auto& [key, value] : attribute_hints_) {
      if (key.first == op || (!alias.empty() && key.first == alias)) {
        draft.attributes.insert_or_assign(key.second, value);
      }
    }
    begin_attributes(draft, draw_);
    return draft;
  }

  ValueId finish(NodeDraft draft, std::vector<ValueId> operands, const std::string& domain = "") {
    complete_attributes(draft, draw_);
    while (!operands.empty() && operands.back().is_none()) operands.pop_back();
    if (operands.empty()) throw NoFit();
    if (const auto type = draw_output_type(draft, draw_)) {
      if (draft.op == "Reshape") return builder_.reshape("", operands[0], type->shape);
      Node made;
      made.domain = domain;
      made.op = draft.op;
      made.inputs = operands;
      return builder_.node_with_types(std::move(made), {*type}, {}).front();
    }
    const int count = draw_output_count(draft, draw_);
    std::vector<ValueId> outputs =
        builder_.node("", draft.op, std::move(operands), draft.attributes, count);
    for (std::size_t i = 1; i < outputs.size(); ++i) extra_outputs_.push_back(outputs[i]);
    return outputs.front();
  }

  ValueId node(const PatternNode& form, const std::optional<TensorType>& wanted, bool is_root) {
    // The chosen operator may be the root's, or the root is left out and its operand's counts.
    const bool is_chosen = is_root && !form_.root.empty();
    const bool has_chosen = std::any_of(form.ops.begin(), form.ops.end(),
                                        [&](const OpName& op) { return op.name == form_.root; });
    const bool is_left_out = form.is_optional && (is_chosen ? !has_chosen : draw_.chance(0.5));
    if (is_left_out) {
      NodeDraft none{.op = form.ops[0].name, .wanted = wanted};
      if (form.operands[0].node != nullptr) return node(*form.operands[0].node, wanted, is_root);
      return operand(form.operands[0], none);
    }
    const OpName& op = is_chosen && has_chosen ? OpName{"", form_.root}
                                               : form.ops[draw_.rng.below(form.ops.size())];
    NodeDraft draft = draft_of(op.name, form.alias);
    draft.wanted = wanted;
    std::vector<ValueId> operands;
    for (const PatternOperand& each : form.operands) {
      const ValueId value = operand(each, draft);
      operands.push_back(value);
      draft.known.push_back(value.is_none() ? std::nullopt
                                            : std::optional(builder_.value(value).type));
    }
    const ValueId made = finish(std::move(draft), std::move(operands), op.domain);
    if (!form.alias.empty()) values_[form.alias] = made;
    if (form.is_tap && draw_.chance(0.5)) extra_outputs_.push_back(made);
    return made;
  }

  ValueId ops_node() {
    const std::string op =
        !form_.root.empty() ? form_.root : pattern_.ops[draw_.rng.below(pattern_.ops.size())];
    NodeDraft draft = draft_of(op, "");
    std::vector<ValueId> operands;
    const int count = draw_operand_count(op, draw_);
    for (int i = 0; i < count; ++i) {
      const ValueId value = port(std::to_string(i), draft);
      operands.push_back(value);
      draft.known.push_back(builder_.value(value).type);
    }
    return finish(std::move(draft), std::move(operands));
  }

  ValueId link(ValueId so_far) {
    const PatternNode& form = *pattern_.links[draw_.rng.below(pattern_.links.size())];
    // A link's variables are its own.
    std::map<std::string, ValueId> values = std::exchange(values_, {});
    values_[std::string(kSoFar)] = so_far;
    const TensorType type = builder_.value(so_far).type;
    const ValueId made = node(form, type, false);
    values_ = std::move(values);
    return made;
  }

  const Pattern& pattern_;
  const DrawnForm& form_;
  Draw& draw_;
  GraphBuilder builder_;
  std::map<std::pair<std::string, std::string>, Attribute> attribute_hints_;
  std::map<std::string, std::vector<std::int64_t>> extent_hints_;
  std::map<std::string, std::int64_t> rank_hints_;
  std::map<std::string, std::int64_t> value_hints_;
  std::map<std::string, std::int64_t> extents_;
  std::map<std::string, ValueId> values_;
  std::vector<ValueId> extra_outputs_;
};

}  // namespace

std::optional<Graph> draw_graph(const Pattern& pattern, const DrawnForm& form, Draw& draw) {
  try {
    return GraphDraw(pattern, form, draw).make();
  } catch (const NoFit&) {
    return std::nullopt;
  } catch (const Error&) {  // infer_types refuses the operands
    return std::nullopt;
  }
}

std::optional<Graph> draw_node_graph(const std::string& op, Draw& draw) {
  Pattern single;
  single.ops = {op};
  return draw_graph(single, {.root = op}, draw);
}

}  // namespace inlay::check
