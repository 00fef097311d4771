// LSTM with peepholes, clipping and coupled gates. Gates lie in the order i, o, f, c.
#include "plugins/reference/element.h"
#include "plugins/reference/operators.h"
#include "plugins/reference/recurrent.h"

namespace inlay::reference {

Body compile_lstm(const Operation& op) {
  const Recurrence recurrence(op, 4, {"Sigmoid", "Tanh", "Tanh"});
  const bool is_coupled = op.node().get_int("input_forget", 0) != 0;
  const inlay_dtype dtype = op.input(0).dtype;
  return [=](const Run& run) {
    const std::int64_t n = recurrence.shape().hidden;
    recurrence.run(run, [&](Sequence& s) {
      const Activation& gate = recurrence.activation(s.direction, 0);
      const Activation& candidate = recurrence.activation(s.direction, 1);
      const Activation& output = recurrence.activation(s.direction, 2);
      std::vector<double> peepholes(3 * n);  // i, o, f
      if (run.in(7) != nullptr)
        load(dtype, run.in(7), s.direction * 3 * n, 1, 3 * n, peepholes.data());
      std::vector<double> c = recurrence.load_state(run, 6, s.direction, s.batch);
      std::vector<double> sums(4 * n);
      for (std::int64_t step = 0; step < s.length; ++step) {
        s.load_gates(step, sums);
        s.add_recurrent(s.h, 0, 4 * n, sums.data());
        for (std::int64_t j = 0; j < 4 * n; ++j) sums[j] += s.recurrent_bias[j];
        for (std::int64_t j = 0; j < n; ++j) {
          const double i = gate(recurrence.clipped(sums[j] + peepholes[j] * c[j]));
          const double f =
              is_coupled ? 1.0 - i
                         : gate(recurrence.clipped(sums[2 * n + j] + peepholes[2 * n + j] * c[j]));
          c[j] = f * c[j] + i * candidate(recurrence.clipped(sums[3 * n + j]));
          const double o = gate(recurrence.clipped(sums[n + j] + peepholes[n + j] * c[j]));
          s.h[j] = o * output(c[j]);
        }
        s.emit(step);
      }
      s.emit_final(2, c);
    });
  };
}

}  // namespace inlay::reference
