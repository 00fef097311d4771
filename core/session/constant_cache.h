// Constants of equal type and content are one piece of memory, whichever plans they come from.
// Private to core/session.
//
//   ConstantCache cache;
//   const Weights a = cache.share(plan_a.constants, open_weights("a.weights", plan_a.constants));
//   const Weights b = cache.share(plan_b.constants, ...);   // equal ones point to a's bytes
//
// Thread-safe. Keeps nothing alive: what nobody holds any more is forgotten.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/weights.h"

namespace inlay {

class ConstantCache {
 public:
  Weights share(const std::vector<PlanConstant>& constants, Weights weights);

  // Bytes of the constants that are alive. A file's mapping is alive as a whole.
  std::uint64_t size_bytes() const;

 private:
  struct Entry {
    std::weak_ptr<const std::byte> data;
    std::uint64_t size_bytes;
  };
  mutable std::mutex mutex_;
  std::map<std::pair<Hash, std::string>, Entry> entries_;  // content hash and type text
};

}  // namespace inlay
