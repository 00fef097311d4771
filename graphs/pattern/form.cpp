#include "graphs/pattern/form.h"

#include <algorithm>
#include <map>

namespace inlay {
namespace {

void collect(const PatternNode& node, std::vector<const PatternNode*>& optional,
             std::map<std::string, const PatternNode*>& aliases) {
  if (node.is_optional) optional.push_back(&node);
  if (!node.alias.empty()) aliases[node.alias] = &node;
  for (const PatternOperand& operand : node.operands) {
    if (operand.node) collect(*operand.node, optional, aliases);
  }
}

class FormBuilder {
 public:
  FormBuilder(const std::vector<const PatternNode*>& absent,
              const std::map<std::string, const PatternNode*>& aliases)
      : absent_(absent), aliases_(aliases) {}

  PatternForm build(const PatternNode& root) {
    form_.root = add(root).node;
    return std::move(form_);
  }

 private:
  FormOperand add(const PatternNode& node) {
    if (std::find(absent_.begin(), absent_.end(), &node) != absent_.end()) {
      return add_operand(node.operands[0]);
    }
    const auto known = built_.find(&node);
    if (known != built_.end()) return {known->second, -1, false};
    FormNode made;
    made.ops = &node.ops;
    made.alias = node.alias;
    made.is_tap = node.is_tap;
    for (const PatternOperand& operand : node.operands)
      made.operands.push_back(add_operand(operand));
    const int index = static_cast<int>(form_.nodes.size());
    form_.nodes.push_back(std::move(made));
    form_.order.push_back(index);
    built_[&node] = index;
    return {index, -1, false};
  }

  FormOperand add_operand(const PatternOperand& operand) {
    if (operand.node) return add(*operand.node);
    const auto alias = aliases_.find(operand.variable);
    if (alias != aliases_.end()) return add(*alias->second);
    const auto it = std::find(form_.variables.begin(), form_.variables.end(), operand.variable);
    const int index = static_cast<int>(it - form_.variables.begin());
    if (it == form_.variables.end()) form_.variables.push_back(operand.variable);
    return {-1, index, operand.is_optional};
  }

  const std::vector<const PatternNode*>& absent_;
  const std::map<std::string, const PatternNode*>& aliases_;
  std::map<const PatternNode*, int> built_;
  PatternForm form_;
};

}  // namespace

std::vector<PatternForm> expand_forms(const PatternNode& root) {
  std::vector<const PatternNode*> optional;
  std::map<std::string, const PatternNode*> aliases;
  collect(root, optional, aliases);
  std::vector<PatternForm> forms;
  for (std::size_t bits = 0; bits < std::size_t{1} << optional.size(); ++bits) {
    std::vector<const PatternNode*> absent;
    for (std::size_t i = 0; i < optional.size(); ++i) {
      if ((bits >> i & 1U) == 0) absent.push_back(optional[i]);
    }
    forms.push_back(FormBuilder(absent, aliases).build(root));
  }
  std::stable_sort(forms.begin(), forms.end(), [](const PatternForm& a, const PatternForm& b) {
    return a.nodes.size() < b.nodes.size();
  });
  return forms;
}

}  // namespace inlay
