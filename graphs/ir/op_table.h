// The canonical operators: names and properties that passes, patterns and reports need. Semantics: docs/operators.md;
// the one implementation of each: plugins/reference.
#pragma once

#include <span>
#include <string_view>

namespace inlay {

struct OpInfo {
  std::string_view name;
  int min_inputs;
  int max_inputs;  // -1: any number
  int min_outputs;
  int max_outputs;  // -1: any number
  bool is_commutative;  // first two operands may be swapped
  bool is_elementwise;  // output element i depends on input elements i alone, after broadcasting
  bool is_view;         // same bytes in row-major order, other shape: Reshape
};

// nullptr for an operator outside the table. Only for the default domain and "inlay".
const OpInfo* find_op(std::string_view name);
std::span<const OpInfo> all_ops();

}  // namespace inlay
