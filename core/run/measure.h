// Times a region as it will run inside a model: by the executor, with its real threads, and with
// the caches as a model's other steps leave them, so that weights do not flatter it by lying close
// since the last run.
//
//   Caches caches(host.parallel_for());
//   const Stats stats = measure(executor, inputs, {.max_seconds = 0.5}, caches);
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/run/caches.h"
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
  // stop sampling after this, warm-up included; always one sample at least
  double max_seconds = 0.5;
  double target_relative_ci = 0.02;  // stop once (high - low) / median is at most this
  double target_ci_ns = 0;           // or once high - low is at most this
  // What the model's other steps read between two runs of the region, at least the cores' own
  // caches: where that is more than the shared cache keeps, weights come from memory.
  std::int64_t elsewhere_bytes = std::int64_t{8} << 20;
  // stop with a few samples once all of them are longer than this
  double rival_ns = std::numeric_limits<double>::infinity();
  // a first run longer than this is the one sample
  double give_up_ns = std::numeric_limits<double>::infinity();
};

// inputs   one per plan input, dense
// caches   of the host that the executor uses
// throws   as Executor::run
Stats measure(Executor& executor, std::span<const Tensor> inputs, const MeasureOptions& options,
              Caches& caches);

// The samples' statistics; sorts them. At least one sample.
Stats stats_of(std::vector<double>* samples_ns);

}  // namespace inlay
