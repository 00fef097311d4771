// Output types of one canonical operator from its input types, constants and attributes.
//
//   const std::vector<TensorType> types = infer_types(node, inputs, output_count);
//
// Shapes are always static: the importer binds symbolic dimensions first, and an operator whose output shape depends on
// values (Reshape's target, say) carries them as attributes in canonical form.
#pragma once

#include <vector>

#include "graphs/ir/graph.h"

namespace inlay {

// inputs  one per operand of the node; dtype kNone for an omitted one
// throws  Error{kShapeMismatch} "MatMul 'fc': inner dimensions differ: 3x4 times 5x6"; Error{kUnsupported} naming
//         operator and node if the operator is not in op_table.h
std::vector<TensorType> infer_types(const Node& node, const std::vector<TensorType>& inputs,
                                    int output_count);

}  // namespace inlay
