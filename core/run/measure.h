// Times a plan as it will run: by the executor, warm, with its real threads, on buffers rotated so
// that inputs and outputs do not flatter the plan by lying in the cache.
//
//   const Stats stats = measure(executor, random_inputs(plan, 1), {.max_seconds = 0.5});
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "core/run/executor.h"

namespace inlay {

// Time of one run. `low_ns` and `high_ns` bound the median with 95 % confidence (by order
// statistics: no assumption on the distribution); with fewer than six samples that is not possible,
// and they are the extremes.
struct Stats {
  double median_ns = 0;
  double low_ns = 0;
  double high_ns = 0;
  int samples = 0;
  bool operator==(const Stats&) const = default;
};

struct MeasureOptions {
  int min_samples = 10;
  double max_seconds =
      0.5;  // stop sampling after this, warm-up included; always one sample at least
  double target_relative_ci = 0.02;  // stop once (high - low) / median is at most this
  double give_up_ns =
      std::numeric_limits<double>::infinity();  // a first run longer than this is the one sample
};

// inputs  one per plan input, dense
// throws  as Executor::run
Stats measure(Executor& executor, std::span<const Tensor> inputs, const MeasureOptions& options);

// The samples' statistics; sorts them. At least one sample.
Stats stats_of(std::vector<double>* samples_ns);

}  // namespace inlay
