// GRU (gates in the order z, r, h) and the simple RNN.
#include "plugins/reference/element.h"
#include "plugins/reference/operators.h"
#include "plugins/reference/recurrent.h"

namespace inlay::reference {

Body compile_gru(const Operation& op) {
  const Recurrence recurrence(op, 3, {"Sigmoid", "Tanh"});
  const bool is_linear_before_reset = op.node().get_int("linear_before_reset", 0) != 0;
  return [=](const Run& run) {
    const std::int64_t n = recurrence.shape().hidden;
    recurrence.run(run, [&](Sequence& s) {
      const Activation& gate = recurrence.activation(s.direction, 0);
      const Activation& candidate = recurrence.activation(s.direction, 1);
      std::vector<double> sums(3 * n), reset(n), hidden(n);
      for (std::int64_t step = 0; step < s.length; ++step) {
        s.load_gates(step, sums);
        s.add_recurrent(s.h, 0, 2 * n, sums.data());
        for (std::int64_t j = 0; j < 2 * n; ++j) {
          sums[j] = gate(recurrence.clipped(sums[j] + s.recurrent_bias[j]));
        }
        const double* z = sums.data();
        const double* r = z + n;
        // The reset gate acts on the state, or on the state's contribution.
        for (std::int64_t j = 0; j < n; ++j) {
          reset[j] = is_linear_before_reset ? s.h[j] : r[j] * s.h[j];
          hidden[j] = s.recurrent_bias[2 * n + j];
        }
        s.add_recurrent(reset, 2 * n, n, hidden.data());
        for (std::int64_t j = 0; j < n; ++j) {
          const double part = is_linear_before_reset ? r[j] * hidden[j] : hidden[j];
          const double proposed = candidate(recurrence.clipped(sums[2 * n + j] + part));
          s.h[j] = (1.0 - z[j]) * proposed + z[j] * s.h[j];
        }
        s.emit(step);
      }
    });
  };
}

Body compile_rnn(const Operation& op) {
  const Recurrence recurrence(op, 1, {"Tanh"});
  return [=](const Run& run) {
    const std::int64_t n = recurrence.shape().hidden;
    recurrence.run(run, [&](Sequence& s) {
      const Activation& activation = recurrence.activation(s.direction, 0);
      std::vector<double> sums(n);
      for (std::int64_t step = 0; step < s.length; ++step) {
        s.load_gates(step, sums);
        s.add_recurrent(s.h, 0, n, sums.data());
        for (std::int64_t j = 0; j < n; ++j) {
          s.h[j] = activation(recurrence.clipped(sums[j] + s.recurrent_bias[j]));
        }
        s.emit(step);
      }
    });
  };
}

}  // namespace inlay::reference
