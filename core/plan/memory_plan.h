// Static memory: offsets in one arena for values whose lifetimes are known.
//
//   const ArenaPlan arena = plan_arena({{0, 2, 4096}, {1, 3, 8192}});
#pragma once

#include <cstdint>
#include <vector>

namespace inlay {

// A value written at step `first` and last read at step `last` (inclusive); first <= last.
struct Lifetime {
  int first;
  int last;
  std::uint64_t size_bytes;
};

struct ArenaPlan {
  std::vector<std::uint64_t> offsets;  // one per lifetime, 64-byte aligned
  std::uint64_t size_bytes = 0;        // peak
  // most aligned bytes live at one step: no plan can be smaller
  std::uint64_t lower_bound_bytes = 0;
};

// Greedy by size, best fit: largest first, lowest fitting gap (Pisarchyk and Lee, Efficient Memory
// Management for Deep Neural Net Inference, 2020, arXiv:2001.03288). Never overlaps values that
// live at one step.
ArenaPlan plan_arena(const std::vector<Lifetime>& lifetimes);

}  // namespace inlay
