// GridSample in any number of spatial dimensions.
#include <algorithm>
#include <cmath>
#include <string>

#include "plugins/reference/element.h"
#include "plugins/reference/operators.h"
#include "plugins/reference/walk.h"

namespace inlay::reference {
namespace {

constexpr double kCubicA = -0.75;  // ONNX's GridSample fixes the cubic kernel's parameter

struct Sampling {
  std::string mode, padding;
  bool aligns_corners;
};

// Reflects at the borders until `x` lies within [low, high].
double reflect(double x, double low, double high) {
  const double span = high - low;
  if (span <= 0) return low;
  const double distance = std::fabs(x - low);
  const double rest = std::fmod(distance, span);
  const bool is_mirrored = static_cast<std::int64_t>(std::floor(distance / span)) % 2 != 0;
  return is_mirrored ? high - rest : low + rest;
}

double pixel_of(const Sampling& s, double grid, double extent) {
  return s.aligns_corners ? (grid + 1) / 2 * (extent - 1) : ((grid + 1) * extent - 1) / 2;
}

// Folds a coordinate into the image; NaN and huge values land outside, so that they cannot overflow
// an index.
double fold(const Sampling& s, double x, std::int64_t extent) {
  const auto size = static_cast<double>(extent);
  if (!(std::fabs(x) < 1e15)) return -1e9;
  const double low = s.aligns_corners ? 0 : -0.5;
  const double high = s.aligns_corners ? size - 1 : size - 0.5;
  if (s.padding == "zeros" || (x >= low && x <= high)) return x;
  return s.padding == "border" ? std::clamp(x, 0.0, size - 1) : reflect(x, low, high);
}

struct AxisTaps {
  std::int64_t first;
  int count;
  double weights[4];
};

double cubic(double distance) {
  const double d = std::fabs(distance);
  if (d <= 1) return ((kCubicA + 2) * d - (kCubicA + 3)) * d * d + 1;
  return ((kCubicA * d - 5 * kCubicA) * d + 8 * kCubicA) * d - 4 * kCubicA;
}

AxisTaps taps_at(const Sampling& s, double x) {
  const auto floor = static_cast<std::int64_t>(std::floor(x));
  const double rest = x - std::floor(x);
  if (s.mode == "nearest") return {static_cast<std::int64_t>(std::nearbyint(x)), 1, {1, 0, 0, 0}};
  if (s.mode == "linear") return {floor, 2, {1 - rest, rest, 0, 0}};
  return {floor - 1, 4, {cubic(1 + rest), cubic(rest), cubic(1 - rest), cubic(2 - rest)}};
}

// The image's element at integer coordinates, folded or zero outside.
double pixel(const Sampling& s, const double* plane, const Dims& extents,
             const std::int64_t* coordinates) {
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    std::int64_t i = coordinates[d];
    if (i < 0 || i >= extents[d]) {
      if (s.padding == "zeros") return 0;
      i = static_cast<std::int64_t>(fold(s, static_cast<double>(i), extents[d]));
      i = std::min(std::max<std::int64_t>(i, 0), extents[d] - 1);
    }
    offset = offset * extents[d] + i;
  }
  return plane[offset];
}

double sample(const Sampling& s, const double* plane, const Dims& extents,
              const std::vector<AxisTaps>& taps) {
  std::int64_t total = 1;
  for (const AxisTaps& axis : taps) total *= axis.count;
  Dims at(extents.size());
  double sum = 0;
  for (std::int64_t t = 0; t < total; ++t) {
    double weight = 1;
    std::int64_t rest = t;
    for (std::size_t d = 0; d < taps.size(); ++d) {
      const std::int64_t k = rest % taps[d].count;
      rest /= taps[d].count;
      at[d] = taps[d].first + k;
      weight *= taps[d].weights[k];
    }
    if (weight != 0) sum += weight * pixel(s, plane, extents, at.data());
  }
  return sum;
}

}  // namespace

Body compile_grid_sample(const Operation& op) {
  const Type x = op.input(0), grid = op.input(1), y = op.output(0);
  std::string mode(op.node().get_string("mode", "linear"));
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  const Sampling s{mode, std::string(op.node().get_string("padding_mode", "zeros")),
                   op.node().get_int("align_corners", 0) != 0};
  const int rank = x.rank() - 2;
  if (rank < 1 || grid.rank() != x.rank() || grid.dims.back() != rank || x.count() == 0) {
    throw sdk::Decline(op.title() + ": grid does not fit the image");
  }
  const Dims extents(x.dims.begin() + 2, x.dims.end());
  const std::int64_t size = x.count(2, x.rank()), points = y.count(2, y.rank());
  return [=](const Run& run) {
    const std::vector<double> image = load_all<double>(x.dtype, run.in(0), x.count());
    const std::vector<double> places = load_all<double>(grid.dtype, run.in(1), grid.count());
    run.host.parallel_for(x.dims[0] * points, 64, [&](std::int64_t begin, std::int64_t end) {
      std::vector<AxisTaps> taps(rank);
      for (std::int64_t i = begin; i < end; ++i) {
        for (int d = 0; d < rank; ++d) {
          // The grid's last dimension counts from the innermost spatial dimension.
          const double place = places[i * rank + rank - 1 - d];
          taps[d] =
              taps_at(s, fold(s, pixel_of(s, place, static_cast<double>(extents[d])), extents[d]));
        }
        for (std::int64_t c = 0; c < x.dims[1]; ++c) {
          const std::int64_t plane = i / points * x.dims[1] + c;
          const double value = sample(s, image.data() + plane * size, extents, taps);
          store(y.dtype, run.out(0), plane * points + i % points, 1, 1, &value);
        }
      }
    });
  };
}

}  // namespace inlay::reference
