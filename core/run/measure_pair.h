// Times two plans against each other on the same inputs, in the order A B B A A B B A …, so that
// whatever slows the machine meanwhile (heat, other processes) slows both alike.
//
//   const PairStats stats = measure_pair(a, b, inputs, {.max_seconds = 2});
//   if (stats.log_ratio_high < 0) ...   // a is faster, beyond the noise
#pragma once

#include <functional>
#include <span>

#include "core/run/measure.h"

namespace inlay {

struct PairOptions {
  int min_pairs = 10;
  int max_pairs = 2000;
  double max_seconds = 2;      // stop after this, warm-up included; always two pairs at least
  double target_width = 0.01;  // stop once the interval of the logarithm is at most this wide
  bool operator==(const PairOptions&) const = default;
};

struct PairStats {
  Stats first;  // one run
  Stats second;
  double log_ratio = 0;      // mean over pairs of log(time of first / time of second)
  double log_ratio_low = 0;  // 95% interval of the mean, Student's t; with two pairs it may be wide
  double log_ratio_high = 0;
  int pairs = 0;
  bool operator==(const PairStats&) const = default;
};

// inputs  one per plan input, dense; the plans have them in common
// throws  Error{kShapeMismatch} if the plans' inputs differ; as Executor::run
PairStats measure_pair(Executor& first, Executor& second, std::span<const Tensor> inputs,
                       const PairOptions& options);

// Runs once and tells its time in nanoseconds.
using TimedRun = std::function<double()>;

// The same of anything that can be timed.
PairStats measure_pair(const TimedRun& first, const TimedRun& second, const PairOptions& options);

}  // namespace inlay
