// The forms of a pattern: each choice of its optional nodes gives one operator graph without
// options, which is what the matcher walks.
//
//   Relu?(Conv(X,W))   →   Conv(X,W)   and   Relu(Conv(X,W))
#pragma once

#include <string>
#include <vector>

#include "graphs/pattern/pattern_data.h"

namespace inlay {

struct FormOperand {
  int node = -1;      // index into PatternForm::nodes, or
  int variable = -1;  // index into PatternForm::variables
  bool is_optional = false;
};

struct FormNode {
  const std::vector<OpName>* ops = nullptr;  // owned by the pattern's node
  std::string alias;
  bool is_tap = false;
  std::vector<FormOperand> operands;
};

struct PatternForm {
  std::vector<FormNode> nodes;
  std::vector<std::string> variables;
  int root = 0;
  std::vector<int> order;  // node indices, operands before their readers, by operand position
};

// Fewest nodes first. `root` must outlive the forms.
std::vector<PatternForm> expand_forms(const PatternNode& root);

}  // namespace inlay
