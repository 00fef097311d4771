// Finds one form of a pattern at one node of a graph.
//
//   FormMatcher(graph, form).match(root, [](const Partial& match) {...}, [](std::string reason)
//   {...});
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graphs/ir/graph.h"
#include "graphs/ir/op_table.h"
#include "graphs/pattern/form.h"

namespace inlay {

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

  // reject(reason) is told why a complete structure does not count.
  template <typename Accept, typename Reject>
  void match(NodeId root, const Accept& accept, const Reject& reject) {
    match_with({}, root, accept, reject);
  }

  // The same with some variables bound beforehand.
  template <typename Accept, typename Reject>
  void match_with(const std::map<std::string, ValueId>& known, NodeId root, const Accept& accept,
                  const Reject& reject) {
    Partial start;
    start.nodes.assign(form_.nodes.size(), kNoNode);
    for (const std::string& variable : form_.variables) {
      const auto found = known.find(variable);
      start.variables.push_back(found == known.end() ? kNoValue : found->second);
    }
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
    for (std::size_t n = 0; n < partial.nodes.size(); ++n) {
      const NodeId id = partial.nodes[n];
      if (id == root) continue;
      const Node& node = graph_.node(id);
      for (std::size_t o = 0; o < node.outputs.size(); ++o) {
        const ValueId output = node.outputs[o];
        if (output.is_none() || (o == 0 && form_.nodes[n].is_tap)) continue;
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

}  // namespace inlay
