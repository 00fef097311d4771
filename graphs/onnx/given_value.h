// The tensor that a user's number for an input stands for.
//
//   const Tensor sr = given_value({DType::kI64, {}}, 16000, "sr");
#pragma once

#include <string>

#include "core/base/tensor.h"

namespace inlay {

// Every element is the number, in the type's storage.
// throws  Error{kInvalidArgument} naming the input if the type cannot hold the number exactly
//         (floats round); Error{kUnsupported} for a type that is neither a number nor a bool
Tensor given_value(const TensorType& type, double number, const std::string& input);

}  // namespace inlay
