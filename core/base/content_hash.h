// Feeds a Hasher with what a tensor, its type or an operator's attributes are: floats by their
// bits, each part with its kind and length, so that different contents never feed the same bytes.
#pragma once

#include "core/base/attribute.h"
#include "core/base/hash.h"
#include "core/base/tensor.h"

namespace inlay {

void add_to_hash(Hasher& hasher, const TensorType& type);
void add_to_hash(Hasher& hasher, const Tensor& tensor);
void add_to_hash(Hasher& hasher, const Attributes& attributes);

}  // namespace inlay
