// How long the worker gets for a request before its plugin counts as hanging.
//
//   worker.outputs(plan, weights, inputs, patience(region.nodes.size(), reference_time));
//
// A false verdict stays in the database, so this is far above what sound plugins need, busy
// machines included: loading a vendor's library takes seconds, compiling a whole model in an engine
// up to a second a node, and who computes twenty times slower than the reference, written to be
// right, is of no use. A hanging plugin costs the user this much, and twice at most (price.cpp).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace inlay {

inline constexpr std::chrono::milliseconds kStartPatience{20000};

// nodes   that the plugin compiles
// sample  a time for this work by other means: the reference's, or what measuring it was allowed
// start   for starting the worker and loading libraries
inline std::chrono::milliseconds patience(std::size_t nodes, std::chrono::duration<double> sample,
                                          std::chrono::milliseconds start = kStartPatience) {
  using Milliseconds = std::chrono::milliseconds;
  constexpr int kNodesPerStart = 20;
  constexpr int kMostStarts = 6;  // runs come on top
  constexpr double kRuns = 20;
  constexpr std::size_t kMostNodes = kNodesPerStart * (kMostStarts - 1);
  const auto compile = start * static_cast<int>(std::min(nodes, kMostNodes)) / kNodesPerStart;
  return start + compile + std::chrono::duration_cast<Milliseconds>(kRuns * sample);
}

}  // namespace inlay
