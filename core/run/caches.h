// Puts the processor's caches into the state in which a step of a whole model finds them. Since its
// last run the other steps have gone through their weights, so its own weights are no longer near;
// its inputs were written a moment ago, and its outputs go to memory that the arena has just freed.
//
//   Caches caches(host.parallel_for());          // keeps its memory from one use to the next
//   caches.prepare(64 << 20, inputs_and_outputs);
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/tensor.h"
#include "core/host/plugin_host.h"

namespace inlay {

class Caches {
 public:
  explicit Caches(ParallelFor parallel_for) : parallel_for_(std::move(parallel_for)) {}

  // All threads take part, so that every core's cache is treated and the pool is as awake as
  // between two steps.
  void prepare(std::int64_t elsewhere_bytes, std::span<const Tensor> near);

 private:
  void read(std::span<const std::byte> bytes) const;

  ParallelFor parallel_for_;
  std::vector<std::byte> elsewhere_;
};

}  // namespace inlay
