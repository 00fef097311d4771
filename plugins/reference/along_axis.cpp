// Operators that work along one axis: ArgMax, ArgMin, CumSum and TopK.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>

#include "plugins/reference/element.h"
#include "plugins/reference/lines.h"
#include "plugins/reference/operators.h"

namespace inlay::reference {
namespace {

// Strict order with NaN above everything, as numpy sorts.
template <typename C>
bool is_less(C a, C b) {
  if constexpr (std::is_floating_point_v<C>) {
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
  }
  return a < b;
}

template <typename C>
bool is_nan(C value) {
  if constexpr (std::is_floating_point_v<C>) return std::isnan(value);
  return false;
}

// Calls f(line number, elements) for every line.
template <typename C, typename F>
void for_each_line(const Run& run, const Type& x, const Lines& lines, const F& f) {
  run.host.parallel_for(lines.count(), lines.grain(), [&](std::int64_t begin, std::int64_t end) {
    std::vector<C> line(lines.length);
    for (std::int64_t l = begin; l < end; ++l) {
      load(x.dtype, run.in(0), lines.start(l), lines.inner, lines.length, line.data());
      f(l, line);
    }
  });
}

}  // namespace

// The first NaN is both the greatest and the least, as in numpy.
Body compile_arg_reduce(const Operation& op) {
  const Type x = op.input(0), y = op.output(0);
  const Lines lines(x, op.axis(x.rank()));
  if (lines.length == 0) throw sdk::Decline(op.title() + ": the axis is empty");
  const bool is_max = op.node().op() == "ArgMax";
  const bool takes_last = op.node().get_int("select_last_index", 0) != 0;
  return [=](const Run& run) {
    with_compute_type(x.dtype, [&]<typename C>(C) {
      for_each_line<C>(run, x, lines, [&](std::int64_t l, const std::vector<C>& line) {
        std::int64_t best = 0;
        for (std::int64_t i = 1; i < lines.length; ++i) {
          if (is_nan(line[best]) && !(takes_last && is_nan(line[i]))) continue;
          const bool wins = is_max ? line[i] > line[best] : line[i] < line[best];
          if (wins || is_nan(line[i]) || (takes_last && line[i] == line[best])) best = i;
        }
        store(y.dtype, run.out(0), l, 1, 1, &best);
      });
    });
  };
}

Body compile_cumsum(const Operation& op) {
  const Type x = op.input(0), y = op.output(0);
  const Lines lines(x, op.axis(x.rank()));
  const bool is_exclusive = op.node().get_int("exclusive", 0) != 0;
  const bool is_reverse = op.node().get_int("reverse", 0) != 0;
  return [=](const Run& run) {
    const auto run_in = [&]<typename C>(C) {
      for_each_line<C>(run, x, lines, [&](std::int64_t l, std::vector<C>& line) {
        if (is_reverse) std::reverse(line.begin(), line.end());
        C sum{};
        for (C& value : line) {
          const C before = sum;
          sum += value;
          value = is_exclusive ? before : sum;
        }
        if (is_reverse) std::reverse(line.begin(), line.end());
        store(y.dtype, run.out(0), lines.start(l), lines.inner, lines.length, line.data());
      });
    };
    // Unsigned sums of sign-extended values wrap without overflow.
    is_float(x.dtype) ? run_in(double{}) : run_in(std::uint64_t{});
  };
}

Body compile_top_k(const Operation& op) {
  const Type x = op.input(0);
  const Lines lines(x, op.axis(x.rank(), x.rank() - 1));
  const std::int64_t k = op.node().get_int("k", 1);
  const bool is_largest = op.node().get_int("largest", 1) != 0;
  if (k < 0 || k > lines.length) {
    throw sdk::Decline(op.title() + ": k is " + std::to_string(k) + ", the axis has " +
                       std::to_string(lines.length) + " elements");
  }
  return [=](const Run& run) {
    with_compute_type(x.dtype, [&]<typename C>(C) {
      for_each_line<C>(run, x, lines, [&](std::int64_t l, const std::vector<C>& line) {
        std::vector<std::int64_t> order(lines.length);
        std::iota(order.begin(), order.end(), 0);
        // Equal elements keep their order, so results do not depend on the sort.
        std::partial_sort(order.begin(), order.begin() + k, order.end(),
                          [&](std::int64_t a, std::int64_t b) {
                            const bool before = is_less(line[a], line[b]);
                            const bool after = is_less(line[b], line[a]);
                            if (!before && !after) return a < b;
                            return is_largest ? after : before;
                          });
        order.resize(k);
        std::vector<C> values(k);
        for (std::int64_t i = 0; i < k; ++i) values[i] = line[order[i]];
        const std::int64_t start = lines.start(l, k);
        if (run.out(0)) store(x.dtype, run.out(0), start, lines.inner, k, values.data());
        if (run.out(1)) store(INLAY_I64, run.out(1), start, lines.inner, k, order.data());
      });
    });
  };
}

}  // namespace inlay::reference
