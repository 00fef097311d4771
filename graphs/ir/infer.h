// Output types of one canonical operator from its input types, constants and attributes.
//
//   const std::vector<TensorType> types = infer_types(node, inputs, output_count);
//
// Shapes are always static: the importer binds symbolic dimensions first, and an operator whose
// output shape depends on values (Reshape's target, say) carries them as attributes in canonical
// form.
#pragma once

#include <vector>

#include "graphs/ir/graph.h"

namespace inlay {

// inputs  one per operand of the node; dtype kNone for an omitted one
// throws  Error{kShapeMismatch} "MatMul 'fc': inner dimensions differ: 3x4 times 5x6";
//         Error{kInvalidArgument} for attributes and counts; Error{kUnsupported} naming operator
//         and node if the operator is not in op_table.h
std::vector<TensorType> infer_types(const Node& node, const std::vector<TensorType>& inputs,
                                    int output_count);

// For the operators whose target is the type of their output (Reshape, Expand, Resize): whether
// that type can be. Does nothing for any other operator.
// throws  Error{kShapeMismatch} "Reshape 'r': 2x6 has 12 elements, the target 5x2 has 10"
void check_output_type(const Node& node, const std::vector<TensorType>& inputs,
                       const TensorType& output);

}  // namespace inlay
