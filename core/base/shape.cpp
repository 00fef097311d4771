#include "core/base/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/error.h"

namespace inlay {

std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  bool has_zero = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) {
      throw Error(Code::kInvalidArgument,
                  fmt::format("shape {}: an extent must be at least 0", to_string(shape)));
    }
    if (extent == 0) {
      has_zero = true;
    } else if (__builtin_mul_overflow(count, extent, &count)) {
      throw Error(Code::kInvalidArgument,
                  fmt::format("shape {}: more than 2^63 elements", to_string(shape)));
    }
  }
  return has_zero ? 0 : count;
}

std::string to_string(const Shape& shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

std::vector<std::int64_t> row_major_strides(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;) {
    strides[axis - 1] = strides[axis] * shape[axis];
  }
  return strides;
}

}  // namespace inlay
