#include "graphs/pattern/recognize.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <optional>

#include "graphs/ir/passes.h"
#include "graphs/ir/rebuild.h"
#include "graphs/pattern/pattern.h"

namespace inlay {
namespace {

// What stands in a match's place; its operands are values of the old graph.
struct Replacement {
  std::string op;
  std::vector<ValueId> inputs;
  Attributes attributes;
};

// A match as a rule sees it.
class Found {
 public:
  Found(const Graph& graph, const Match& match) : graph_(graph), match_(match) {}

  bool has(const char* port) const { return match_.ports.contains(port); }
  ValueId at(const char* port) const { return match_.ports.at(port); }
  const TensorType& type(const char* port) const { return graph_.value(at(port)).type; }

  // The value of all elements of a float constant; nullopt if it is none or they differ.
  std::optional<double> scalar(const char* port) const {
    const Value& value = graph_.value(at(port));
    if (!value.constant || value.type.dtype != DType::kF32) return std::nullopt;
    const auto elements = value.constant->as<float>();
    if (elements.empty() ||
        std::any_of(elements.begin(), elements.end(), [&](float e) { return e != elements[0]; })) {
      return std::nullopt;
    }
    return elements[0];
  }

  // Exporters round constants to f32, some after a division.
  bool is_scalar(const char* port, double expected) const {
    constexpr double kRelative = 1e-6;
    const std::optional<double> found = scalar(port);
    return found && std::abs(*found - expected) <= kRelative * std::abs(expected);
  }

  // The first node of this operator in the match.
  const Node& node(std::string_view op) const {
    return graph_.node(*std::find_if(match_.nodes.begin(), match_.nodes.end(),
                                     [&](NodeId id) { return graph_.node(id).op == op; }));
  }

  bool has_shape_of_input(const char* port) const {
    return type(port).shape == graph_.value(graph_.node(match_.nodes.back()).outputs[0]).type.shape;
  }

 private:
  const Graph& graph_;
  const Match& match_;
};

struct Rule {
  const char* name;
  std::vector<std::string> matches;  // the same work, written in different ways
  const char* where;
  std::optional<Replacement> (*replace)(const Found&);
};

std::optional<Replacement> gelu(const Found& found, double scale) {
  const bool is_gelu = found.is_scalar("S", scale) && found.is_scalar("O", 1) &&
                       found.is_scalar("H", 0.5) && found.has_shape_of_input("X");
  if (!is_gelu) return std::nullopt;
  return Replacement{"Gelu", {found.at("X")}, {{"approximate", std::string("none")}}};
}

// Hendrycks and Gimpel 2016: x / 2 · (1 + tanh(sqrt(2 / pi) · (x + 0.044715 · x^3))).
std::optional<Replacement> tanh_gelu(const Found& found) {
  const bool is_cube = !found.has("P") || found.is_scalar("P", 3);
  const bool is_gelu = is_cube && found.is_scalar("K", std::sqrt(2 / std::numbers::pi)) &&
                       found.is_scalar("C", 0.044715) && found.is_scalar("O", 1) &&
                       found.is_scalar("H", 0.5) && found.has_shape_of_input("X");
  if (!is_gelu) return std::nullopt;
  return Replacement{"Gelu", {found.at("X")}, {{"approximate", std::string("tanh")}}};
}

// Every way to write it: the cube three ways, the factor of a half in three places.
std::vector<std::string> tanh_gelu_forms() {
  std::vector<std::string> forms;
  for (const char* cube : {"Mul(Pow(X,P),C)", "Mul(X,Mul(X,Mul(C,X)))", "Mul(Mul(X,Mul(X,X)),C)"}) {
    const std::string sum = std::string("Add(Tanh(Mul(Add(X,") + cube + "),K)),O)";
    forms.push_back("Mul(Mul(X," + sum + "),H)");
    forms.push_back("Mul(Mul(X,H)," + sum + ")");
    forms.push_back("Mul(X,Mul(" + sum + ",H))");
  }
  return forms;
}

std::optional<Replacement> hard_swish(const Found& found) {
  const Attributes& clip = found.node("Clip").attributes;
  const bool is_hard_swish = found.is_scalar("T", 3) && get_float(clip, "min", -1) == 0 &&
                             get_float(clip, "max", -1) == 6 && found.has_shape_of_input("X");
  if (!is_hard_swish) return std::nullopt;
  return Replacement{"HardSwish", {found.at("X")}, {}};
}

// Mean and variance over the last axes, each kept as ones.
std::optional<Replacement> layer_normalization(const Found& found) {
  const Attributes& mean = found.node("ReduceMean").attributes;
  const std::vector<std::int64_t> axes = get_ints(mean, "axes", {});
  const auto rank = static_cast<std::int64_t>(found.type("X").shape.size());
  const auto count = static_cast<std::int64_t>(axes.size());
  bool is_last = count > 0 && get_int(mean, "keepdims", 0) == 1;
  for (std::int64_t i = 0; i < count; ++i) {
    is_last = is_last && axes[static_cast<std::size_t>(i)] == rank - count + i;
  }
  const std::optional<double> epsilon = found.scalar("E");
  const Shape& shape = found.type("X").shape;
  const Shape normalized(shape.end() - (is_last ? count : 0), shape.end());
  const bool is_square = !found.has("P") || found.is_scalar("P", 2);  // or d times d
  const bool is_norm = is_last && epsilon && is_square && found.has_shape_of_input("X") &&
                       found.type("Scale").shape == normalized &&
                       (!found.has("B") || found.type("B").shape == normalized);
  if (!is_norm) return std::nullopt;
  std::vector<ValueId> inputs{found.at("X"), found.at("Scale")};
  if (found.has("B")) inputs.push_back(found.at("B"));
  return Replacement{"LayerNormalization",
                     std::move(inputs),
                     {{"axis", rank - count}, {"epsilon", static_cast<float>(*epsilon)}}};
}

const std::vector<Rule>& rules() {
  static const std::vector<Rule> kRules{
      {"gelu",
       {"Mul(Mul(X,Add(Erf(Div(X,S)),O)),H)", "Mul(Mul(X,H),Add(Erf(Div(X,S)),O))",
        "Mul(X,Mul(Add(Erf(Div(X,S)),O),H))"},
       "X: f32; S: f32 const; O: f32 const; H: f32 const",
       [](const Found& found) { return gelu(found, std::numbers::sqrt2); }},
      {"gelu",
       {"Mul(Mul(X,Add(Erf(Mul(X,S)),O)),H)", "Mul(Mul(X,H),Add(Erf(Mul(X,S)),O))",
        "Mul(X,Mul(Add(Erf(Mul(X,S)),O),H))"},
       "X: f32; S: f32 const; O: f32 const; H: f32 const",
       [](const Found& found) { return gelu(found, 1 / std::numbers::sqrt2); }},
      {"gelu", tanh_gelu_forms(), "X: f32; K: f32 const; C: f32 const; O: f32 const; H: f32 const",
       tanh_gelu},
      {"hard-swish",
       {"Mul(X,HardSigmoid(X))"},
       "X: f32",
       [](const Found& found) -> std::optional<Replacement> {
         const Attributes& gate = found.node("HardSigmoid").attributes;
         const bool is_hard_swish = std::abs(get_float(gate, "alpha", 0) * 6 - 1) < 1e-5f &&
                                    get_float(gate, "beta", 0) == 0.5f;
         if (!is_hard_swish) return std::nullopt;
         return Replacement{"HardSwish", {found.at("X")}, {}};
       }},
      {"hard-swish",
       {"Div(Mul(X,Clip(Add(X,T))),S)", "Mul(X,Div(Clip(Add(X,T)),S))"},
       "X: f32; T: f32 const; S: f32 const",
       [](const Found& found) -> std::optional<Replacement> {
         return found.is_scalar("S", 6) ? hard_swish(found) : std::nullopt;
       }},
      {"hard-swish",
       {"Mul(Mul(X,Clip(Add(X,T))),S)", "Mul(X,Mul(Clip(Add(X,T)),S))"},
       "X: f32; T: f32 const; S: f32 const",
       [](const Found& found) -> std::optional<Replacement> {
         return found.is_scalar("S", 1.0 / 6) ? hard_swish(found) : std::nullopt;
       }},
      {"layer-normalization",
       {"Add?(Mul(Div(d=Sub(X,m=ReduceMean(X)),Sqrt(Add(v=ReduceMean(Pow(d,P)),E))),Scale),B)",
        "Add?(Mul(Div(d=Sub(X,m=ReduceMean(X)),Sqrt(Add(v=ReduceMean(Mul(d,d)),E))),Scale),B)"},
       "X: f32; E: f32 const; Scale: f32 const; B: f32 const; m.axes == v.axes; "
       "v.keepdims == 1",
       layer_normalization},
  };
  return kRules;
}

struct Choice {
  Match match;
  const Rule* rule;
  Replacement replacement;
};

// Every match that a rule accepts, larger ones first.
std::vector<Choice> find_choices(const Graph& graph) {
  std::vector<Pattern> patterns;
  std::vector<const Rule*> rule_of;
  for (const Rule& rule : rules()) {
    for (const std::string& match : rule.matches) {
      patterns.push_back(parse_pattern({.id = rule.name, .match = match, .where = rule.where}));
      rule_of.push_back(&rule);
    }
  }
  std::vector<Choice> choices;
  for (const Match& match : match_patterns(graph, patterns).matches) {
    const Rule* rule = rule_of[static_cast<std::size_t>(match.pattern)];
    if (auto replacement = rule->replace(Found(graph, match))) {
      choices.push_back({match, rule, std::move(*replacement)});
    }
  }
  std::stable_sort(choices.begin(), choices.end(), [](const Choice& a, const Choice& b) {
    return a.match.nodes.size() > b.match.nodes.size();
  });
  return choices;
}

}  // namespace

Recognized recognize_operators(const Graph& graph) {
  constexpr int kKept = -1;
  constexpr int kInside = -2;  // of a match, and not its root
  std::vector<int> state(static_cast<std::size_t>(graph.node_count()), kKept);
  const auto state_of = [&](NodeId id) -> int& {
    return state[static_cast<std::size_t>(id.index)];
  };

  std::vector<Choice> taken;
  for (Choice& choice : find_choices(graph)) {
    const std::vector<NodeId>& nodes = choice.match.nodes;
    if (std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) { return state_of(id) != kKept; })) {
      continue;
    }
    for (const NodeId id : nodes) state_of(id) = kInside;
    state_of(nodes.back()) = static_cast<int>(taken.size());
    taken.push_back(std::move(choice));
  }
  if (taken.empty()) return {graph, {}};

  Recognized result;
  Rebuild rebuild(graph);
  rebuild.copy_constants();
  for (std::int32_t n = 0; n < graph.node_count(); ++n) {
    const Node& node = graph.node({n});
    const int chosen = state_of({n});
    if (chosen == kInside) continue;
    if (chosen == kKept) {
      rebuild.add(rebuild.translate(node), node.outputs);
      continue;
    }
    const Choice& choice = taken[static_cast<std::size_t>(chosen)];
    Node replacement;
    replacement.name = node.name;
    replacement.op = choice.replacement.op;
    replacement.inputs = choice.replacement.inputs;
    replacement.attributes = choice.replacement.attributes;
    rebuild.add(rebuild.translate(replacement), node.outputs);
    Recognition change{std::string("recognize-") + choice.rule->name, {}};
    for (const NodeId id : choice.match.nodes) change.nodes.push_back(graph.node(id).name);
    result.changes.push_back(std::move(change));
  }
  result.graph = remove_dead(rebuild.finish()).graph;
  return result;
}

}  // namespace inlay
