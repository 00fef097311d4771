#include "core/run/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

namespace inlay {
namespace {

using Clock = std::chrono::steady_clock;

double ns_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

// The plan's inputs and outputs, in the values' layouts.
class Tensors {
 public:
  Tensors(const Plan& plan, std::span<const Tensor> inputs) {
    for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
      const PlanValue& value = plan.values[static_cast<std::size_t>(plan.inputs[i])];
      std::byte* data = add(value);
      convert_layout(value.type, Layout::dense(value.layout.rank()), inputs[i].data(), value.layout,
                     data);
      inputs_.push_back(data);
    }
    for (const int v : plan.outputs) {
      outputs_.push_back(add(plan.values[static_cast<std::size_t>(v)]));
    }
  }

  void run(Executor& executor) { executor.run_into(inputs_, outputs_); }
  const std::vector<Tensor>& all() const { return tensors_; }

 private:
  std::byte* add(const PlanValue& value) {
    const std::size_t size_bytes = value.layout.size_bytes(value.type);
    tensors_.push_back(Tensor::zeros({DType::kU8, {static_cast<std::int64_t>(size_bytes)}}));
    return tensors_.back().mutable_bytes().data();
  }

  std::vector<Tensor> tensors_;
  std::vector<const std::byte*> inputs_;
  std::vector<std::byte*> outputs_;
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

Stats measure(Executor& executor, std::span<const Tensor> inputs, const MeasureOptions& options,
              Caches& caches) {
  constexpr std::size_t kMaxSamples = 20000;
  constexpr std::size_t kSamplesToLose = 4;
  Tensors tensors(executor.plan(), inputs);
  std::vector<double> samples;
  const auto sample = [&] {
    caches.prepare(options.elsewhere_bytes, tensors.all());
    const Clock::time_point start = Clock::now();
    tensors.run(executor);
    samples.push_back(ns_since(start));
  };
  const Clock::time_point start = Clock::now();
  const auto is_over = [&] { return ns_since(start) > options.max_seconds * 1e9; };

  sample();  // warm-up: pages touched, lazy set-up done
  if (samples[0] > options.give_up_ns) return stats_of(&samples);

  const double first = samples[0];
  samples.clear();
  samples.reserve(kMaxSamples);
  const auto min_samples = static_cast<std::size_t>(std::max(options.min_samples, 1));
  std::size_t next_check = min_samples;
  double least = first;
  while (samples.size() < kMaxSamples && !is_over()) {
    sample();
    least = std::min(least, samples.back());
    if (samples.size() == kSamplesToLose && least > options.rival_ns) return stats_of(&samples);
    if (samples.size() < next_check) continue;
    const Stats stats = stats_of(&samples);
    const double interval = stats.high_ns - stats.low_ns;
    const double target =
        std::max(options.target_relative_ci * stats.median_ns, options.target_ci_ns);
    if (samples.size() >= min_samples && interval <= target) return stats;
    next_check = samples.size() + samples.size() / 4 + 1;
  }
  if (samples.empty()) samples.push_back(first);  // the time was spent on the first run
  return stats_of(&samples);
}

}  // namespace inlay
