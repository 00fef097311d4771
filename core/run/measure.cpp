#include "core/run/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>

namespace inlay {
namespace {

using Clock = std::chrono::steady_clock;

double ns_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

// Copies of the plan's inputs and outputs, in the values' layouts, each copy elsewhere in memory.
class Buffers {
 public:
  Buffers(const Plan& plan, std::span<const Tensor> inputs) {
    std::size_t set_bytes = 0;
    for (const int v : plan.inputs) set_bytes += bytes_of(plan, v);
    for (const int v : plan.outputs) set_bytes += bytes_of(plan, v);
    // More than the share of the last-level cache that one process can count on; a plan whose own
    // tensors are larger cannot keep them there anyway.
    constexpr std::size_t kTotalBytes = std::size_t{32} << 20;
    constexpr std::size_t kMaxSets = 8;
    const std::size_t count =
        std::clamp(kTotalBytes / std::max<std::size_t>(set_bytes, 1) + 1, std::size_t{1}, kMaxSets);
    for (std::size_t s = 0; s < count; ++s) {
      sets_.emplace_back();
      for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
        std::byte* data = add(bytes_of(plan, plan.inputs[i]));
        const PlanValue& value = plan.values[static_cast<std::size_t>(plan.inputs[i])];
        convert_layout(value.type, Layout::dense(value.layout.rank()), inputs[i].data(),
                       value.layout, data);
        sets_.back().inputs.push_back(data);
      }
      for (const int v : plan.outputs) sets_.back().outputs.push_back(add(bytes_of(plan, v)));
    }
  }

  // Runs once on the next set.
  void run(Executor& executor) {
    const Set& set = sets_[next_];
    next_ = (next_ + 1) % sets_.size();
    executor.run_into(set.inputs, set.outputs);
  }
  std::size_t sets() const { return sets_.size(); }

 private:
  struct Set {
    std::vector<const std::byte*> inputs;
    std::vector<std::byte*> outputs;
  };

  static std::size_t bytes_of(const Plan& plan, int v) {
    const PlanValue& value = plan.values[static_cast<std::size_t>(v)];
    return value.layout.size_bytes(value.type);
  }
  std::byte* add(std::size_t size_bytes) {
    tensors_.push_back(Tensor::zeros({DType::kU8, {static_cast<std::int64_t>(size_bytes)}}));
    return tensors_.back().mutable_bytes().data();
  }

  std::vector<Tensor> tensors_;
  std::vector<Set> sets_;
  std::size_t next_ = 0;
};

// Largest k such that fewer than k of n samples lie below the median with at most 2.5 %
// probability: the k-th smallest and k-th largest bound the median with 95 % confidence; 0 if n is
// too small. Binomial(n, 1/2), exactly up to n = 1000, then its normal limit. David and Nagaraja,
// Order Statistics, 3rd edition, 7.1.
std::size_t confidence_rank(std::size_t n) {
  constexpr double kTail = 0.025;
  constexpr std::size_t kExact = 1000;
  if (n > kExact) {
    constexpr double kDeviations = 1.96;
    const double count = static_cast<double>(n);
    return static_cast<std::size_t>((count - kDeviations * std::sqrt(count)) / 2);
  }
  double probability = std::ldexp(1.0, -static_cast<int>(n));
  double below = 0;
  std::size_t rank = 0;
  while (rank < n / 2) {
    below += probability;
    if (below > kTail) break;
    ++rank;
    probability *= static_cast<double>(n - rank + 1) / static_cast<double>(rank);
  }
  return rank;
}

}  // namespace

Stats stats_of(std::vector<double>* samples_ns) {
  std::vector<double>& samples = *samples_ns;
  std::sort(samples.begin(), samples.end());
  const std::size_t n = samples.size();
  const std::size_t rank = std::max<std::size_t>(confidence_rank(n), 1);
  return {(samples[(n - 1) / 2] + samples[n / 2]) / 2, samples[rank - 1], samples[n - rank],
          static_cast<int>(n)};
}

Stats measure(Executor& executor, std::span<const Tensor> inputs, const MeasureOptions& options) {
  constexpr std::size_t kMaxSamples = 20000;
  Buffers buffers(executor.plan(), inputs);
  std::vector<double> samples;
  const auto sample = [&] {
    const Clock::time_point start = Clock::now();
    buffers.run(executor);
    samples.push_back(ns_since(start));
  };
  const Clock::time_point start = Clock::now();
  const auto is_over = [&] { return ns_since(start) > options.max_seconds * 1e9; };

  sample();
  if (samples[0] > options.give_up_ns) return stats_of(&samples);
  // Warm-up: every buffer touched once, caches and branch predictors as in use.
  for (std::size_t s = 1; s < buffers.sets() && !is_over(); ++s) buffers.run(executor);

  const double first = samples[0];
  samples.clear();
  samples.reserve(kMaxSamples);
  const auto min_samples = static_cast<std::size_t>(std::max(options.min_samples, 1));
  std::size_t next_check = min_samples;
  while (samples.size() < kMaxSamples && !is_over()) {
    sample();
    if (samples.size() < next_check) continue;
    const Stats stats = stats_of(&samples);
    if (samples.size() >= min_samples &&
        stats.high_ns - stats.low_ns <= options.target_relative_ci * stats.median_ns) {
      return stats;
    }
    next_check = samples.size() + samples.size() / 4 + 1;
  }
  if (samples.empty()) samples.push_back(first);  // the time was spent on the first run
  return stats_of(&samples);
}

}  // namespace inlay
