// Pools, one plane (image, channel) at a time.
#include <algorithm>
#include <cmath>

#include "plugins/reference/element.h"
#include "plugins/reference/operators.h"
#include "plugins/reference/walk.h"
#include "plugins/reference/window.h"

namespace inlay::reference {
namespace {

// Calls f(output index, first tap, one past the last tap) per output position; the taps are those
// inside the input.
template <typename F>
void for_each_window(const Window& w, F&& f) {
  std::int64_t o = 0;
  Extent at, first, last;
  const auto clip = [&](int d) {
    const std::int64_t start = w.position(d, at[d], 0);
    const std::int64_t step = w.dilation[d];
    first[d] = start < 0 ? std::min(w.kernel[d], (-start + step - 1) / step) : 0;
    last[d] = start < w.in[d] ? std::min(w.kernel[d], (w.in[d] - 1 - start) / step + 1) : 0;
    last[d] = std::max(first[d], last[d]);
  };
  for (at[0] = 0; at[0] < w.out[0]; ++at[0]) {
    clip(0);
    for (at[1] = 0; at[1] < w.out[1]; ++at[1]) {
      clip(1);
      for (at[2] = 0; at[2] < w.out[2]; ++at[2]) {
        clip(2);
        f(o++, at, first, last);
      }
    }
  }
}

// Calls f(offset in the plane) for every tap of a window, in row-major order.
template <typename F>
void for_each_tap(const Window& w, const Extent& at, const Extent& first, const Extent& last,
                  F&& f) {
  for (std::int64_t z = first[0]; z < last[0]; ++z) {
    for (std::int64_t y = first[1]; y < last[1]; ++y) {
      const std::int64_t row =
          (w.position(0, at[0], z) * w.in[1] + w.position(1, at[1], y)) * w.in[2];
      for (std::int64_t x = first[2]; x < last[2]; ++x) f(row + w.position(2, at[2], x));
    }
  }
}

// Taps that count for an average with padding: those inside the padded input. Under ceil_mode a
// window may stick out beyond it.
std::int64_t padded_taps(const Window& w, const Extent& at) {
  std::int64_t count = 1;
  for (int d = 0; d < 3; ++d) {
    const std::int64_t room = w.in[d] + w.pad_end[d] - w.position(d, at[d], 0);
    count *= std::clamp<std::int64_t>((room + w.dilation[d] - 1) / w.dilation[d], 0, w.kernel[d]);
  }
  return count;
}

// storage_order 1 numbers the elements of a plane with the first spatial dimension innermost.
std::int64_t column_major(const Window& w, std::int64_t offset) {
  const std::int64_t x = offset % w.in[2];
  const std::int64_t y = offset / w.in[2] % w.in[1];
  const std::int64_t z = offset / w.in[2] / w.in[1];
  return (x * w.in[1] + y) * w.in[0] + z;
}

template <typename C>
bool is_nan(C value) {
  if constexpr (std::is_floating_point_v<C>) return std::isnan(value);
  return false;
}

template <typename F>
void for_each_plane(const Run& run, const Type& x, const F& f) {
  const std::int64_t size = std::max<std::int64_t>(1, x.count(2, x.rank()));
  run.host.parallel_for(x.count(0, 2), std::max<std::int64_t>(1, kGrain / size), f);
}

}  // namespace

Body compile_max_pool(const Operation& op) {
  const Type x = op.input(0), y = op.has_output(0) ? op.output(0) : op.output(1);
  const Window window = read_window(op, x.dims, y.dims, {});
  const bool is_column_major = op.node().get_int("storage_order", 0) != 0;
  return [=](const Run& run) {
    with_compute_type(x.dtype, [&]<typename C>(C) {
      for_each_plane(run, x, [&](std::int64_t begin, std::int64_t end) {
        std::vector<C> plane(window.in_count()), best(window.out_count());
        std::vector<std::int64_t> where(window.out_count());
        for (std::int64_t p = begin; p < end; ++p) {
          load(x.dtype, run.in(0), p * window.in_count(), 1, window.in_count(), plane.data());
          for_each_window(window, [&](std::int64_t o, const Extent& at, const Extent& first,
                                      const Extent& last) {
            std::int64_t chosen = -1;
            for_each_tap(window, at, first, last, [&](std::int64_t i) {
              if (chosen < 0 || plane[i] > plane[chosen] ||
                  (is_nan(plane[i]) && !is_nan(plane[chosen]))) {
                chosen = i;
              }
            });
            best[o] = chosen < 0 ? lowest<C>(x.dtype) : plane[chosen];
            chosen = std::max<std::int64_t>(chosen, 0);
            where[o] =
                p * window.in_count() + (is_column_major ? column_major(window, chosen) : chosen);
          });
          const std::int64_t count = window.out_count();
          if (run.out(0)) store(x.dtype, run.out(0), p * count, 1, count, best.data());
          if (run.out(1)) store(INLAY_I64, run.out(1), p * count, 1, count, where.data());
        }
      });
    });
  };
}

Body compile_sum_pool(const Operation& op) {
  const Type x = op.input(0), y = op.output(0);
  const Window window = read_window(op, x.dims, y.dims, {});
  const bool is_average = op.node().op() == "AveragePool";
  const bool counts_padding = op.node().get_int("count_include_pad", 0) != 0;
  const auto power = static_cast<double>(op.node().get_int("p", 2));
  return [=](const Run& run) {
    for_each_plane(run, x, [&](std::int64_t begin, std::int64_t end) {
      std::vector<double> plane(window.in_count()), out(window.out_count());
      for (std::int64_t p = begin; p < end; ++p) {
        load(x.dtype, run.in(0), p * window.in_count(), 1, window.in_count(), plane.data());
        for_each_window(
            window, [&](std::int64_t o, const Extent& at, const Extent& first, const Extent& last) {
              double sum = 0;
              std::int64_t taps = 0;
              for_each_tap(window, at, first, last, [&](std::int64_t i) {
                sum += is_average ? plane[i] : std::pow(std::fabs(plane[i]), power);
                ++taps;
              });
              if (counts_padding) taps = padded_taps(window, at);
              if (is_average) {
                out[o] = taps == 0 ? 0.0 : sum / static_cast<double>(taps);
              } else {
                out[o] = std::pow(sum, 1.0 / power);
              }
            });
        store(y.dtype, run.out(0), p * window.out_count(), 1, window.out_count(), out.data());
      }
    });
  };
}

Body compile_global_pool(const Operation& op) {
  const Type x = op.input(0), y = op.output(0);
  if (x.rank() < 2) throw sdk::Decline(op.title() + ": rank below 2");
  const bool is_max = op.node().op() == "GlobalMaxPool";
  const std::int64_t size = x.count(2, x.rank());
  return [=](const Run& run) {
    for_each_plane(run, x, [&](std::int64_t begin, std::int64_t end) {
      std::vector<double> plane(size);
      for (std::int64_t p = begin; p < end; ++p) {
        load(x.dtype, run.in(0), p * size, 1, size, plane.data());
        double result = is_max ? lowest<double>(x.dtype) : 0.0;
        for (const double value : plane) {
          if (!is_max) {
            result += value;
          } else if (value > result || std::isnan(value)) {
            result = value;
          }
        }
        if (!is_max) result /= static_cast<double>(size);
        store(y.dtype, run.out(0), p, 1, 1, &result);
      }
    });
  };
}

}  // namespace inlay::reference
