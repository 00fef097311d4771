// Softmax, LogSoftmax and Hardmax along one axis.
#include <algorithm>
#include <cmath>

#include "plugins/reference/element.h"
#include "plugins/reference/lines.h"
#include "plugins/reference/operators.h"

namespace inlay::reference {
namespace {

using Line = std::vector<double>;

double greatest(const Line& line) {
  double best = line[0];
  for (const double value : line) {
    if (value > best || std::isnan(value)) best = value;
  }
  return best;
}

// Shifted by the greatest element, so that exp cannot overflow.
void softmax(Line& line) {
  const double shift = greatest(line);
  double sum = 0;
  for (double& value : line) sum += value = std::exp(value - shift);
  for (double& value : line) value /= sum;
}

void log_softmax(Line& line) {
  const double shift = greatest(line);
  double sum = 0;
  for (const double value : line) sum += std::exp(value - shift);
  const double log_sum = std::log(sum);
  for (double& value : line) value = value - shift - log_sum;
}

void hardmax(Line& line) {
  const auto best = std::max_element(line.begin(), line.end()) - line.begin();
  std::fill(line.begin(), line.end(), 0.0);
  line[best] = 1;
}

}  // namespace

Body compile_softmax(const Operation& op) {
  const Type x = op.input(0), y = op.output(0);
  if (x.rank() == 0) throw sdk::Decline(op.title() + ": operand is a scalar");
  const Lines lines(x, op.axis(x.rank(), x.rank() - 1));
  const std::string_view name = op.node().op();
  const auto apply = name == "Softmax" ? softmax : name == "LogSoftmax" ? log_softmax : hardmax;
  return [=](const Run& run) {
    if (lines.length == 0) return;
    run.host.parallel_for(lines.count(), lines.grain(), [&](std::int64_t begin, std::int64_t end) {
      Line line(lines.length);
      for (std::int64_t l = begin; l < end; ++l) {
        load(x.dtype, run.in(0), lines.start(l), lines.inner, lines.length, line.data());
        apply(line);
        store(y.dtype, run.out(0), lines.start(l), lines.inner, lines.length, line.data());
      }
    });
  };
}

}  // namespace inlay::reference
