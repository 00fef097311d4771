#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

#include "graphs/ir/op_table.h"
#include "graphs/pattern/constraint_check.h"
#include "graphs/pattern/form.h"
#include "graphs/pattern/pattern.h"

namespace inlay {
namespace {

// A half-made match: which graph node each node of the form is, which value each variable.
struct Partial {
  std::vector<NodeId> nodes;
  std::vector<ValueId> variables;
  std::vector<std::pair<const FormOperand*, ValueId>> goals;
};

// Matches one form at one root. Found node sets go to `accept` once their structure and their
// surroundings fit.
class FormMatcher {
 public:
  FormMatcher(const Graph& graph, const PatternForm& form) : graph_(graph), form_(form) {}

  // accept(partial) returns true to stop; reject(reason) is told why a complete structure does not
  // count.
  template <typename Accept, typename Reject>
  void match(NodeId root, const Accept& accept, const Reject& reject) {
    Partial start;
    start.nodes.assign(form_.nodes.size(), kNoNode);
    start.variables.assign(form_.variables.size(), kNoValue);
    bind_node(std::move(start), form_.root, root, [&](Partial partial) {
      const std::string reason = surroundings(partial);
      if (!reason.empty()) {
        reject(reason);
      } else {
        accept(partial);
      }
    });
  }

 private:
  template <typename Done>
  void solve(Partial partial, const Done& done) {
    while (!partial.goals.empty()) {
      const auto [operand, value] = partial.goals.back();
      partial.goals.pop_back();
      if (operand->node >= 0) {
        if (value.is_none() || graph_.value(value).producer == kNoNode) return;
        const NodeId producer = graph_.value(value).producer;
        if (graph_.node(producer).outputs[0] != value) return;
        NodeId& bound = partial.nodes[static_cast<std::size_t>(operand->node)];
        if (bound == producer) continue;
        if (bound != kNoNode) return;
        bind_node(std::move(partial), operand->node, producer, done);
        return;
      }
      if (value.is_none()) {
        if (!operand->is_optional) return;
        continue;
      }
      ValueId& bound = partial.variables[static_cast<std::size_t>(operand->variable)];
      if (!bound.is_none() && bound != value) return;
      bound = value;
    }
    done(std::move(partial));
  }

  template <typename Done>
  void bind_node(Partial partial, int form_node, NodeId id, const Done& done) {
    const FormNode& wanted = form_.nodes[static_cast<std::size_t>(form_node)];
    const Node& node = graph_.node(id);
    if (std::find(partial.nodes.begin(), partial.nodes.end(), id) != partial.nodes.end()) return;
    if (!fits(wanted, node)) return;
    partial.nodes[static_cast<std::size_t>(form_node)] = id;
    const auto operand_value = [&node](std::size_t i) {
      return i < node.inputs.size() ? node.inputs[i] : kNoValue;
    };
    const auto push = [&](Partial& target, bool swapped) {
      for (std::size_t i = wanted.operands.size(); i-- > 0;) {
        const std::size_t from = swapped && i < 2 ? 1 - i : i;
        target.goals.emplace_back(&wanted.operands[i], operand_value(from));
      }
    };
    if (wanted.operands.size() >= 2 && is_commutative(node)) {
      Partial swapped = partial;
      push(partial, false);
      push(swapped, true);
      solve(std::move(partial), done);
      solve(std::move(swapped), done);
      return;
    }
    push(partial, false);
    solve(std::move(partial), done);
  }

  static bool is_commutative(const Node& node) {
    if (!node.domain.empty()) return false;
    const OpInfo* info = find_op(node.op);
    return info != nullptr && info->is_commutative;
  }

  static bool fits(const FormNode& wanted, const Node& node) {
    const bool is_listed = std::any_of(
        wanted.ops->begin(), wanted.ops->end(),
        [&](const OpName& op) { return op.name == node.op && op.domain == node.domain; });
    if (!is_listed) return false;
    for (std::size_t i = wanted.operands.size(); i < node.inputs.size(); ++i) {
      if (!node.inputs[i].is_none()) return false;
    }
    return true;
  }

  // Why a complete structure does not stand alone in the graph; empty if it does.
  std::string surroundings(const Partial& partial) const {
    const auto inside = [&partial](NodeId id) {
      return std::find(partial.nodes.begin(), partial.nodes.end(), id) != partial.nodes.end();
    };
    const NodeId root = partial.nodes[static_cast<std::size_t>(form_.root)];
    for (const NodeId id : partial.nodes) {
      if (id == root) continue;
      const Node& node = graph_.node(id);
      for (const ValueId output : node.outputs) {
        if (output.is_none()) continue;
        if (graph_.is_output(output)) {
          return fmt::format("{} '{}' is also a graph output", node.op, node.name);
        }
        for (const NodeId reader : graph_.consumers(output)) {
          if (inside(reader)) continue;
          return fmt::format("{} '{}' is also read by '{}'", node.op, node.name,
                             graph_.node(reader).name);
        }
      }
    }
    for (std::size_t i = 0; i < partial.variables.size(); ++i) {
      const ValueId value = partial.variables[i];
      if (value.is_none()) continue;
      if (graph_.value(value).producer != kNoNode && inside(graph_.value(value).producer)) {
        return fmt::format("{} is made inside the match", form_.variables[i]);
      }
      for (std::size_t j = i + 1; j < partial.variables.size(); ++j) {
        if (partial.variables[j] == value) {
          return fmt::format("{} and {} are the same value", form_.variables[i],
                             form_.variables[j]);
        }
      }
    }
    return "";
  }

  const Graph& graph_;
  const PatternForm& form_;
};

void bind_outputs(const Node& root, Binding& binding) {
  for (std::size_t i = 0; i < root.outputs.size(); ++i) {
    if (root.outputs[i].is_none()) continue;
    binding.ports[i == 0 ? "out" : fmt::format("out{}", i)] = root.outputs[i];
  }
}

// Matches of one pattern at one root, and the best reason if there is none.
class RootMatcher {
 public:
  RootMatcher(const Graph& graph, const Pattern& pattern, int index, NodeId root)
      : graph_(graph), pattern_(pattern), index_(index), root_(root) {}

  void try_form(const PatternForm& form) {
    FormMatcher(graph_, form)
        .match(
            root_, [&](const Partial& partial) { accept(form, partial); },
            [&](const std::string& reason) { note(reason, 0); });
  }

  void try_single() {
    Binding binding;
    const Node& node = graph_.node(root_);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].is_none()) binding.ports[fmt::format("{}", i)] = node.inputs[i];
    }
    binding.nodes[node.op] = &node;
    bind_outputs(node, binding);
    finish({root_}, binding);
  }

  void report(MatchReport& report) {
    std::stable_sort(matches_.begin(), matches_.end(), [](const Match& a, const Match& b) {
      return a.nodes.size() < b.nodes.size();
    });
    if (matches_.empty() && !reason_.empty())
      report.near_misses.push_back({index_, root_, reason_});
    for (Match& match : matches_) report.matches.push_back(std::move(match));
  }

 private:
  void accept(const PatternForm& form, const Partial& partial) {
    std::vector<NodeId> nodes;
    Binding binding;
    for (const int i : form.order) {
      const NodeId id = partial.nodes[static_cast<std::size_t>(i)];
      const FormNode& node = form.nodes[static_cast<std::size_t>(i)];
      nodes.push_back(id);
      binding.nodes[graph_.node(id).op] = &graph_.node(id);
      if (!node.alias.empty()) binding.nodes[node.alias] = &graph_.node(id);
    }
    for (std::size_t i = 0; i < partial.variables.size(); ++i) {
      if (!partial.variables[i].is_none()) binding.ports[form.variables[i]] = partial.variables[i];
    }
    bind_outputs(graph_.node(root_), binding);
    finish(std::move(nodes), binding);
  }

  void finish(std::vector<NodeId> nodes, const Binding& binding) {
    std::set<NodeId> key(nodes.begin(), nodes.end());
    if (found_.contains(key)) return;
    const ConstraintFailure failure = check_constraints(graph_, pattern_.constraints, binding);
    if (!failure.reason.empty()) {
      note(failure.reason, failure.progress);
      return;
    }
    found_.insert(std::move(key));
    matches_.push_back({index_, std::move(nodes), binding.ports});
  }

  void note(const std::string& reason, int progress) {
    if (!reason_.empty() && progress <= progress_) return;
    reason_ = reason;
    progress_ = progress;
  }

  const Graph& graph_;
  const Pattern& pattern_;
  int index_;
  NodeId root_;
  std::vector<Match> matches_;
  std::set<std::set<NodeId>> found_;
  std::string reason_;
  int progress_ = -1;
};

// Which forms can start at an operator, by pattern.
struct RootIndex {
  struct Entry {
    int pattern;
    int form;  // -1: an ops pattern
  };
  std::unordered_map<std::string, std::vector<Entry>> by_op;
};

RootIndex index_roots(const std::vector<Pattern>& patterns,
                      const std::vector<std::vector<PatternForm>>& forms) {
  RootIndex index;
  for (int p = 0; p < static_cast<int>(patterns.size()); ++p) {
    const auto i = static_cast<std::size_t>(p);
    const std::set<std::string> single(patterns[i].ops.begin(), patterns[i].ops.end());
    for (const std::string& op : single) index.by_op[op].push_back({p, -1});
    for (int f = 0; f < static_cast<int>(forms[i].size()); ++f) {
      const PatternForm& form = forms[i][static_cast<std::size_t>(f)];
      std::set<std::string> roots;
      for (const OpName& op : *form.nodes[static_cast<std::size_t>(form.root)].ops) {
        roots.insert(to_string(op));
      }
      for (const std::string& op : roots) index.by_op[op].push_back({p, f});
    }
  }
  return index;
}

}  // namespace

MatchReport match_patterns(const Graph& graph, const std::vector<Pattern>& patterns) {
  std::vector<std::vector<PatternForm>> forms;
  for (const Pattern& pattern : patterns) {
    forms.push_back(pattern.root ? expand_forms(*pattern.root) : std::vector<PatternForm>{});
  }
  const RootIndex index = index_roots(patterns, forms);

  MatchReport report;
  for (std::int32_t i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node({i});
    const auto it = index.by_op.find(to_string(OpName{node.domain, node.op}));
    if (it == index.by_op.end()) continue;
    std::optional<RootMatcher> matcher;
    for (std::size_t e = 0; e < it->second.size(); ++e) {
      const RootIndex::Entry entry = it->second[e];
      const auto p = static_cast<std::size_t>(entry.pattern);
      if (!matcher) matcher.emplace(graph, patterns[p], entry.pattern, NodeId{i});
      if (entry.form < 0) {
        matcher->try_single();
      } else {
        matcher->try_form(forms[p][static_cast<std::size_t>(entry.form)]);
      }
      const bool is_last = e + 1 == it->second.size() || it->second[e + 1].pattern != entry.pattern;
      if (is_last) {
        matcher->report(report);
        matcher.reset();
      }
    }
  }
  return report;
}

}  // namespace inlay
