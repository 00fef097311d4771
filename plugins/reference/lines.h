// A tensor as lines along one axis: line l has `length` elements, `inner` elements apart.
#pragma once

#include <algorithm>
#include <cstdint>

#include "plugins/reference/operation.h"
#include "plugins/reference/walk.h"

namespace inlay::reference {

struct Lines {
  std::int64_t outer = 1, length = 1, inner = 1;

  Lines(const Type& type, int axis)
      : outer(type.count(0, axis)),
        length(type.dims[axis]),
        inner(type.count(axis + 1, type.rank())) {}

  std::int64_t count() const { return outer * inner; }
  // Offset of a line's first element in a tensor whose lines have `line_length` elements.
  std::int64_t start(std::int64_t line, std::int64_t line_length) const {
    return line / inner * line_length * inner + line % inner;
  }
  std::int64_t start(std::int64_t line) const { return start(line, length); }
  std::int64_t grain() const { return std::max<std::int64_t>(1, kGrain / (length + 1)); }
};

}  // namespace inlay::reference
