// The extents of a tensor, outermost first; {} is a scalar. A dimension may be 0 (an empty tensor),
// never negative.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace inlay {

using Shape = std::vector<std::int64_t>;

// Product of the extents: 1 for a scalar, 0 if any extent is 0.
// throws  Error{kInvalidArgument} if an extent is negative or the product does not fit 63 bits
std::int64_t element_count(const Shape& shape);

// "1x3x224x224"; "scalar" for {}.
std::string to_string(const Shape& shape);

// Row-major strides in elements: {12, 4, 1} for {2, 3, 4}.
std::vector<std::int64_t> row_major_strides(const Shape& shape);

}  // namespace inlay
