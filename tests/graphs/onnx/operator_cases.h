// A small graph of one node for each canonical operator, with operands that it takes: for tests of
// whatever must know them all.
//
//   for (const OperatorCase& item : operator_cases()) ... graph_of(item) ...
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graphs/ir/graph.h"

namespace inlay {

struct OperatorCase {
  std::string op;
  std::vector<TensorType> inputs;  // dtype kNone: omitted
  Attributes attributes;
  int outputs = 1;
  std::optional<TensorType> target = std::nullopt;  // Reshape, Expand, Resize
};

// Some operators several times. Those are left out that ONNX lacks or that export writes as others:
// Convert, EyeLike, GroupNormalization, RMSNormalization, Swish.
std::vector<OperatorCase> operator_cases();

// Inputs i0, i1, …, node n, outputs o, …
Graph graph_of(const OperatorCase& item);

}  // namespace inlay
