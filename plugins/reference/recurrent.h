// What LSTM, GRU and RNN share: operands, directions, activations, and the walk over sequences. All
// state is double.
//
//   const Recurrence recurrence(op, 4, {"Sigmoid", "Tanh", "Tanh"});
//   recurrence.run(run, [&](Sequence& s) {
//     for (std::int64_t step = 0; step < s.length; ++step) { ...; s.emit(step, h); }
//   });
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "plugins/reference/operation.h"

namespace inlay::reference {

struct Activation {
  std::string name;
  double alpha, beta;
  double operator()(double x) const;
};

struct RecurrentShape {
  std::int64_t steps, batch, input, hidden, directions;
  int gates;
  std::int64_t width() const { return gates * hidden; }
};

// One sequence of the batch in one direction.
struct Sequence {
  std::int64_t direction, batch, length;
  const double* projected;       // [steps, batch, width] of this direction: X·Wᵀ
  const double* recurrent;       // [hidden, width]: Rᵀ
  const double* input_bias;      // [width]
  const double* recurrent_bias;  // [width]
  std::vector<double> h;         // the initial state, then the current one

  const RecurrentShape& shape;
  const Run& run;
  inlay_dtype dtype;
  bool is_reverse;

  std::int64_t time(std::int64_t step) const { return is_reverse ? length - 1 - step : step; }
  // sums[j] = X·Wᵀ + the input bias at `step`, for all gates.
  void load_gates(std::int64_t step, std::vector<double>& sums) const;
  // sums[j] += state·Rᵀ for the columns [first, first + count) of all gates.
  void add_recurrent(const std::vector<double>& state, std::int64_t first, std::int64_t count,
                     double* sums) const;
  // Writes h as the step's output.
  void emit(std::int64_t step) const;
  // Writes `state` as the final state, output 1 (h) or 2 (c).
  void emit_final(int output, const std::vector<double>& state) const;
};

class Recurrence {
 public:
  // `defaults`: activations of one direction.
  Recurrence(const Operation& op, int gates, const std::vector<std::string>& defaults);

  const RecurrentShape& shape() const { return shape_; }
  // Activation `i` of a direction.
  const Activation& activation(std::int64_t direction, int i) const {
    return activations_[direction * activations_per_direction_ + i];
  }
  double clipped(double x) const;
  // Row (direction, batch) of an operand [directions, batch, hidden]; zeros if it is absent.
  std::vector<double> load_state(const Run& run, int operand, std::int64_t direction,
                                 std::int64_t batch) const;

  void run(const Run& run, const std::function<void(Sequence&)>& f) const;

 private:
  std::vector<double> project(const Run& run, std::int64_t direction) const;

  RecurrentShape shape_;
  inlay_dtype dtype_;
  Type lengths_;
  double clip_;
  std::string title_, direction_;
  std::vector<Activation> activations_;
  std::int64_t activations_per_direction_;
};

}  // namespace inlay::reference
