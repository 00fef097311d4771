#include "plugins/reference/indices.h"

#include <stdexcept>

#include "plugins/reference/element.h"

namespace inlay::reference {

std::vector<std::int64_t> load_indices(const std::string& title, const Type& type, const void* data,
                                       const Dims& extents) {
  std::vector<std::int64_t> indices = load_all<std::int64_t>(type.dtype, data, type.count());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::int64_t extent = extents[i % extents.size()];
    if (indices[i] < -extent || indices[i] >= extent) {
      throw std::out_of_range(title + ": index " + std::to_string(indices[i]) + " at position " +
                              std::to_string(i) + " is outside [" + std::to_string(-extent) + ", " +
                              std::to_string(extent - 1) + "]");
    }
    if (indices[i] < 0) indices[i] += extent;
  }
  return indices;
}

}  // namespace inlay::reference
