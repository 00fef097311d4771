#include "core/session/constant_cache.h"

#include <algorithm>

namespace inlay {

Weights ConstantCache::share(const std::vector<PlanConstant>& constants, Weights weights) {
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [](const auto& entry) { return entry.second.data.expired(); });
  // Weights that do not belong to the plan are left for the executor to refuse.
  for (std::size_t c = 0; c < std::min(constants.size(), weights.tensors.size()); ++c) {
    Tensor& tensor = weights.tensors[c];
    if (tensor.size_bytes() == 0) continue;
    Entry& entry = entries_[{constants[c].hash, to_string(tensor.type())}];
    if (std::shared_ptr<const std::byte> shared = entry.data.lock()) {
      tensor = Tensor(tensor.type(), std::move(shared));
    } else {
      entry = {tensor.shared_data(), tensor.size_bytes()};
    }
  }
  return weights;
}

std::uint64_t ConstantCache::size_bytes() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t sum = 0;
  for (const auto& [key, entry] : entries_) sum += entry.data.expired() ? 0 : entry.size_bytes;
  return sum;
}

}  // namespace inlay
