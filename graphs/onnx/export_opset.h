// What the opsets that export writes do not know of opset 20, the newest of them.
//
//   check_opset(node, 16);                                   // BitwiseAnd: an error
//   attributes_of_opset(node, node.attributes, 16);          // AveragePool: without dilations
#pragma once

#include <cstdint>

#include "graphs/ir/graph.h"

namespace inlay {

// throws  Error{kUnsupported} naming node and opset where the operator is newer
void check_opset(const Node& node, std::int64_t opset);

// The attributes without the newer ones, where those say what the opset always does. Types are not
// checked: which ones an operator takes grew from opset to opset.
// throws  Error{kUnsupported} naming node and opset where an attribute, or what it says, is newer
Attributes attributes_of_opset(const Node& node, const Attributes& attributes, std::int64_t opset);

}  // namespace inlay
