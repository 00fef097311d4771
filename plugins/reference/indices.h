// Index operands: read, wrapped and checked before anything is written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/reference/operation.h"

namespace inlay::reference {

// All indices as int64, negative ones wrapped. extents[i % extents.size()] bounds index i.
// throws  std::out_of_range naming the node, the index, its position and the bounds
std::vector<std::int64_t> load_indices(const std::string& title, const Type& type, const void* data,
                                       const Dims& extents);

}  // namespace inlay::reference
