// The answer of a search: which candidates run, covering every node exactly once.
#pragma once

#include <string>
#include <vector>

namespace inlay {

struct Placement {
  // ids, in an executable order (the quotient graph's topological order)
  std::vector<int> candidates;
  bool operator==(const Placement&) const = default;
};

enum class StopReason { kOptimal, kComplete, kBeamLimit, kBudget, kCancelled };
const char* stop_reason_name(StopReason reason);

}  // namespace inlay
