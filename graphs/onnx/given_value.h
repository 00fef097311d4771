// The tensor that a user's number for an input stands for.
//
//   const Tensor sr = given_value({DType::kI64, {}}, 16000, "sr");
#pragma once

#include <string>
#include <string_view>

#include "core/base/tensor.h"

namespace inlay {

// "16000", "-0.5", "1e-3", "inf", "nan", "true" (1) or "false" (0).
//   where   for messages: "--value sr"
// throws  Error{kInvalidArgument} for anything else, and for a number that a double
//         does not hold: too large, too small, or a whole one that would be rounded
double parse_given(std::string_view text, const std::string& where);

// Every element is the number, in the type's storage.
// throws  Error{kInvalidArgument} naming the input if the type cannot hold the number exactly
//         (floats round, but not to infinity, unless it is that, nor to 0); Error{kUnsupported} for
//         a type that is neither a number nor a bool
Tensor given_value(const TensorType& type, double number, const std::string& input);

}  // namespace inlay
