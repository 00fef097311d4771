#include "tests/graphs/pattern/brute_force_match.h"

#include <algorithm>
#include <map>

#include "graphs/ir/op_table.h"
#include "graphs/pattern/pattern_data.h"

namespace inlay {
namespace {

// A requirement "this operand is that value", to be met by all of an assignment's requirements at
// once.
struct Search {
  const Graph& graph;
  std::vector<const PatternNode*> nodes;  // of the pattern, preorder
  std::map<std::string, const PatternNode*> aliases;
  std::set<std::vector<NodeId>> found;

  void collect(const PatternNode& node) {
    nodes.push_back(&node);
    if (!node.alias.empty()) aliases[node.alias] = &node;
    for (const auto& operand : node.operands) {
      if (operand.node) collect(*operand.node);
    }
  }

  // Assigns a graph node, or absence, to pattern node i and all after it.
  void assign(std::size_t i, std::map<const PatternNode*, NodeId>& chosen) {
    if (i == nodes.size()) {
      check_orders(chosen);
      return;
    }
    // Any node may be absent here: one below an absent node's later operands is.
    chosen[nodes[i]] = kNoNode;
    assign(i + 1, chosen);
    chosen.erase(nodes[i]);
    for (std::int32_t n = 0; n < graph.node_count(); ++n) {
      const Node& node = graph.node({n});
      const bool fits = std::find(nodes[i]->ops.begin(), nodes[i]->ops.end(),
                                  OpName{node.domain, node.op}) != nodes[i]->ops.end();
      const bool taken = std::any_of(chosen.begin(), chosen.end(),
                                     [n](const auto& entry) { return entry.second == NodeId{n}; });
      if (!fits || taken) continue;
      chosen[nodes[i]] = {n};
      assign(i + 1, chosen);
      chosen.erase(nodes[i]);
    }
    chosen.erase(nodes[i]);
  }

  // Every combination of operand orders of the commutative nodes.
  void check_orders(const std::map<const PatternNode*, NodeId>& chosen) {
    for (std::size_t orders = 0; orders < std::size_t{1} << nodes.size(); ++orders) {
      if (holds(chosen, orders)) {
        std::vector<NodeId> set;
        for (const auto& [node, id] : chosen) {
          if (id != kNoNode) set.push_back(id);
        }
        std::sort(set.begin(), set.end());
        found.insert(set);
      }
    }
  }

  // The operand after skipping absent nodes.
  PatternOperand resolve(PatternOperand operand,
                         const std::map<const PatternNode*, NodeId>& chosen) const {
    while (operand.node && operand.node->is_optional && chosen.at(operand.node.get()) == kNoNode) {
      operand = operand.node->operands[0];
    }
    return operand;
  }

  bool holds(const std::map<const PatternNode*, NodeId>& chosen, std::size_t orders) const {
    std::map<std::string, ValueId> variables;
    std::set<const PatternNode*> reached;
    // The top of the pattern: the first node on the way down that is there.
    const PatternNode* top = nodes[0];
    while (chosen.at(top) == kNoNode) {
      if (!top->is_optional) return false;
      top = top->operands[0].node.get();
    }
    std::vector<const PatternNode*> open = {top};
    while (!open.empty()) {
      const PatternNode* pattern = open.back();
      open.pop_back();
      if (!reached.insert(pattern).second) continue;
      const Node& node = graph.node(chosen.at(pattern));
      const auto index =
          static_cast<std::size_t>(std::find(nodes.begin(), nodes.end(), pattern) - nodes.begin());
      const bool swap = (orders >> index & 1U) != 0;
      const OpInfo* info = find_op(node.op);
      if (swap && (pattern->operands.size() < 2 || info == nullptr || !info->is_commutative))
        return false;
      for (std::size_t i = 0; i < std::max(pattern->operands.size(), node.inputs.size()); ++i) {
        const std::size_t from = swap && i < 2 ? 1 - i : i;
        const ValueId value = from < node.inputs.size() ? node.inputs[from] : kNoValue;
        if (i >= pattern->operands.size()) {
          if (!value.is_none()) return false;
          continue;
        }
        const PatternOperand operand = resolve(pattern->operands[i], chosen);
        const auto alias = aliases.find(operand.variable);
        if (operand.node || alias != aliases.end()) {
          const PatternNode* inner = operand.node ? operand.node.get() : alias->second;
          if (value.is_none() || chosen.at(inner) == kNoNode) return false;
          if (graph.node(chosen.at(inner)).outputs[0] != value) return false;
          open.push_back(inner);
        } else if (value.is_none()) {
          if (!operand.is_optional) return false;
        } else if (variables.emplace(operand.variable, value).first->second != value) {
          return false;
        }
      }
    }
    return stands_alone(chosen, reached, top, variables);
  }

  bool stands_alone(const std::map<const PatternNode*, NodeId>& chosen,
                    const std::set<const PatternNode*>& reached, const PatternNode* top,
                    const std::map<std::string, ValueId>& variables) const {
    std::set<NodeId> inside;
    for (const auto& [pattern, id] : chosen) {
      // A node below an absent one's later operands is not part of the match.
      if (id != kNoNode && !reached.contains(pattern)) return false;
      if (id != kNoNode) inside.insert(id);
    }
    for (const NodeId id : inside) {
      if (id == chosen.at(top)) continue;
      for (const ValueId output : graph.node(id).outputs) {
        if (output.is_none()) continue;
        if (graph.is_output(output)) return false;
        for (const NodeId reader : graph.consumers(output)) {
          if (!inside.contains(reader)) return false;
        }
      }
    }
    std::set<ValueId> distinct;
    for (const auto& [name, value] : variables) {
      if (!distinct.insert(value).second) return false;
      if (inside.contains(graph.value(value).producer)) return false;
    }
    return true;
  }
};

}  // namespace

std::set<std::vector<NodeId>> brute_force_matches(const Graph& graph, const Pattern& pattern) {
  Search search{graph, {}, {}, {}};
  search.collect(*pattern.root);
  std::map<const PatternNode*, NodeId> chosen;
  search.assign(0, chosen);
  return search.found;
}

}  // namespace inlay
