// The canonical operators: names and properties that passes, patterns and reports need. Semantics:
// docs/operators.md; the one implementation of each: plugins/reference.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "graphs/ir/graph.h"

namespace inlay {

struct OpInfo {
  std::string_view name;
  int min_inputs;
  int max_inputs;  // -1: any number
  int min_outputs;
  int max_outputs;      // -1: any number
  bool is_commutative;  // first two operands may be swapped
  bool is_elementwise;  // output element i depends on input elements i alone, after broadcasting
  bool is_view;         // same bytes in row-major order, other shape: Reshape
  // Its attributes, separated by spaces: name:kind, followed by '?' if it may be absent, or by '='
  // and the value that fill_default_attributes gives: a number, a word, or for a list ones, zeros,
  // all, reversed, empty.
  std::string_view attributes;
};

// nullptr for an operator outside the table. Only for the default domain and "inlay".
const OpInfo* find_op(std::string_view name);
std::span<const OpInfo> all_ops();

// Adds the attributes that the table has a default for and the node lacks; kernel_shape is read off
// a weight. Nodes of operators outside the table stay as they are.
void fill_default_attributes(Node& node, const std::vector<TensorType>& inputs);

// throws  Error{kInvalidArgument} "Conv 'c3': attribute 'strides' is missing", or is of another
//         kind, or is not one of the operator's
void check_attributes(const Node& node, const OpInfo& info);

}  // namespace inlay
