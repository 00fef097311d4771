#include "core/run/measure_pair.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <vector>

#include "core/base/error.h"

namespace inlay {
namespace {

using Clock = std::chrono::steady_clock;

// One plan with memory of its own for inputs and outputs.
class Runner {
 public:
  Runner(Executor& executor, std::span<const Tensor> inputs) : executor_(executor) {
    const Plan& plan = executor.plan();
    if (plan.inputs.size() != inputs.size()) {
      throw Error(Code::kShapeMismatch, fmt::format("race: the plan has {} inputs, {} are given",
                                                    plan.inputs.size(), inputs.size()));
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const PlanValue& value = plan.values[static_cast<std::size_t>(plan.inputs[i])];
      if (value.type != inputs[i].type()) {
        throw Error(Code::kShapeMismatch,
                    fmt::format("race: input '{}': expected {}, found {}", value.name,
                                to_string(value.type), to_string(inputs[i].type())));
      }
      std::byte* data = add(value.layout.size_bytes(value.type));
      convert_layout(value.type, Layout::dense(value.layout.rank()), inputs[i].data(), value.layout,
                     data);
      inputs_.push_back(data);
    }
    for (const int output : plan.outputs) {
      const PlanValue& value = plan.values[static_cast<std::size_t>(output)];
      outputs_.push_back(add(value.layout.size_bytes(value.type)));
    }
  }

  // Nanoseconds of one run.
  double run() {
    const Clock::time_point start = Clock::now();
    executor_.run_into(inputs_, outputs_);
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
  }

 private:
  std::byte* add(std::size_t size_bytes) {
    tensors_.push_back(Tensor::zeros({DType::kU8, {static_cast<std::int64_t>(size_bytes)}}));
    return tensors_.back().mutable_bytes().data();
  }

  Executor& executor_;
  std::vector<Tensor> tensors_;
  std::vector<const std::byte*> inputs_;
  std::vector<std::byte*> outputs_;
};

// The 97.5% point of Student's t: Cornish and Fisher's expansion around the normal's; within 2%
// from four degrees on.
double student_t(int degrees) {
  if (degrees <= 3) {
    constexpr double kExact[] = {12.706, 4.303, 3.182};
    return kExact[degrees - 1];
  }
  constexpr double z = 1.959964;
  const double n = degrees;
  return z + (z * z * z + z) / (4 * n) +
         (5 * std::pow(z, 5) + 16 * z * z * z + 3 * z) / (96 * n * n);
}

class Race {
 public:
  Race(const TimedRun& first, const TimedRun& second) : first_(first), second_(second) {}

  void run_pair() {
    const bool is_first_ahead = pairs() % 2 == 0;
    double a = 0;
    double b = 0;
    if (is_first_ahead) a = first_();
    b = second_();
    if (!is_first_ahead) a = first_();
    first_ns_.push_back(a);
    second_ns_.push_back(b);
    const double log = std::log(std::max(a, 1.0) / std::max(b, 1.0));
    sum_ += log;
    sum_of_squares_ += log * log;
  }

  int pairs() const { return static_cast<int>(first_ns_.size()); }

  PairStats stats() const {
    const double n = pairs();
    const double mean = sum_ / n;
    const double variance = std::max(0.0, (sum_of_squares_ - n * mean * mean) / (n - 1));
    const double half = student_t(pairs() - 1) * std::sqrt(variance / n);
    std::vector<double> first = first_ns_;
    std::vector<double> second = second_ns_;
    return {stats_of(&first), stats_of(&second), mean, mean - half, mean + half, pairs()};
  }

 private:
  const TimedRun& first_;
  const TimedRun& second_;
  std::vector<double> first_ns_;
  std::vector<double> second_ns_;
  double sum_ = 0;
  double sum_of_squares_ = 0;
};

}  // namespace

PairStats measure_pair(Executor& first, Executor& second, std::span<const Tensor> inputs,
                       const PairOptions& options) {
  Runner a(first, inputs);
  Runner b(second, inputs);
  return measure_pair([&a] { return a.run(); }, [&b] { return b.run(); }, options);
}

PairStats measure_pair(const TimedRun& first, const TimedRun& second, const PairOptions& options) {
  const Clock::time_point start = Clock::now();
  const auto is_over = [&] {
    return std::chrono::duration<double>(Clock::now() - start).count() > options.max_seconds;
  };
  // Warm-up: pages touched, caches and branch predictors as in use.
  for (int i = 0; i < 2 && !is_over(); ++i) {
    first();
    second();
  }
  Race race(first, second);
  race.run_pair();
  race.run_pair();
  int next_check = options.min_pairs;
  while (race.pairs() < options.max_pairs && !is_over()) {
    race.run_pair();
    if (race.pairs() < next_check) continue;
    const PairStats stats = race.stats();
    if (stats.log_ratio_high - stats.log_ratio_low <= options.target_width) return stats;
    next_check = race.pairs() + race.pairs() / 4 + 1;
  }
  return race.stats();
}

}  // namespace inlay
