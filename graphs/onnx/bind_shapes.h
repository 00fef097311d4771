// Gives every symbolic dimension of a graph's inputs a size.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/tensor.h"
#include "onnx/onnx.pb.h"

namespace inlay {

using NamedType = std::pair<std::string, TensorType>;

// Types of the given inputs, in order. A symbol that one shape binds is bound in all inputs.
//   shapes  input name → shape
// throws  Error{kInvalidArgument} for a shape of no input, one that contradicts the file or another
//         shape, and for dimensions that stay open: all inputs in one, with flags to paste;
//         Error{kUnsupported} for inputs that are not tensors
std::vector<NamedType> bind_shapes(const std::vector<const onnx::ValueInfoProto*>& inputs,
                                   const std::map<std::string, Shape>& shapes);

}  // namespace inlay
