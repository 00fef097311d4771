// Resize. All modes are separable: along each axis an output is a weighted sum of inputs, so one
// pass an axis does it.
#include <algorithm>
#include <cmath>
#include <string>

#include "plugins/reference/element.h"
#include "plugins/reference/lines.h"
#include "plugins/reference/operators.h"

namespace inlay::reference {
namespace {

struct Tap {
  std::int64_t source;
  double weight;
};

// How the outputs along one axis are made.
struct AxisMap {
  std::vector<std::vector<Tap>> taps;  // per output
  std::vector<bool> is_outside;        // per output: takes the extrapolation value
};

struct Settings {
  std::string mode, coordinates, nearest;
  double cubic_a, extrapolation;
  bool excludes_outside, is_antialiased;
};

// Input coordinate of output `o`; scale and extents of one axis. Formulas of ONNX's Resize.
double input_coordinate(const Settings& s, double o, double in, double out, double scale,
                        double roi_start, double roi_end) {
  if (s.coordinates == "align_corners") return out <= 1 ? 0.0 : o * (in - 1) / (out - 1);
  if (s.coordinates == "asymmetric") return o / scale;
  if (s.coordinates == "pytorch_half_pixel") return out > 1 ? (o + 0.5) / scale - 0.5 : 0.0;
  if (s.coordinates == "half_pixel_symmetric") {
    const double exact_out = scale * in;
    return in / 2 * (1 - out / exact_out) + (o + 0.5) / scale - 0.5;
  }
  if (s.coordinates == "tf_crop_and_resize") {
    const double span = (roi_end - roi_start) * (in - 1);
    return out > 1 ? roi_start * (in - 1) + o * span / (out - 1)
                   : 0.5 * (roi_start + roi_end) * (in - 1);
  }
  return (o + 0.5) / scale - 0.5;
}

std::int64_t nearest_index(const Settings& s, double x) {
  if (s.nearest == "floor") return static_cast<std::int64_t>(std::floor(x));
  if (s.nearest == "ceil") return static_cast<std::int64_t>(std::ceil(x));
  if (s.nearest == "round_prefer_ceil") return static_cast<std::int64_t>(std::floor(x + 0.5));
  return static_cast<std::int64_t>(std::ceil(x - 0.5));
}

// Triangle, or Keys' cubic convolution kernel (IEEE TASSP 29(6), 1981).
double kernel(const Settings& s, double distance) {
  const double d = std::fabs(distance);
  if (s.mode == "linear") return std::max(0.0, 1.0 - d);
  const double a = s.cubic_a;
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  if (d < 2) return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  return 0;
}

std::vector<Tap> taps_at(const Settings& s, double x, std::int64_t extent, double scale) {
  const auto clamped = [&](std::int64_t i) { return std::clamp<std::int64_t>(i, 0, extent - 1); };
  if (s.mode == "nearest") return {{clamped(nearest_index(s, x)), 1.0}};
  // Antialiasing stretches the kernel by the reduction factor.
  const double stretch = s.is_antialiased && scale < 1 ? scale : 1.0;
  const double reach = (s.mode == "linear" ? 1.0 : 2.0) / stretch;
  std::vector<Tap> taps;
  double sum = 0;
  const auto first = static_cast<std::int64_t>(std::floor(x - reach));
  const auto last = static_cast<std::int64_t>(std::ceil(x + reach));
  for (std::int64_t i = first; i <= last; ++i) {
    const double weight = kernel(s, (static_cast<double>(i) - x) * stretch);
    if (weight == 0 || (s.excludes_outside && (i < 0 || i >= extent))) continue;
    taps.push_back({clamped(i), weight});
    sum += weight;
  }
  if (s.excludes_outside || stretch != 1.0) {
    for (Tap& tap : taps) tap.weight /= sum;
  }
  return taps;
}

AxisMap map_axis(const Settings& s, std::int64_t in, std::int64_t out, double scale,
                 double roi_start, double roi_end) {
  AxisMap map;
  for (std::int64_t o = 0; o < out; ++o) {
    const double x = input_coordinate(s, static_cast<double>(o), static_cast<double>(in),
                                      static_cast<double>(out), scale, roi_start, roi_end);
    map.taps.push_back(taps_at(s, x, in, scale));
    map.is_outside.push_back(s.coordinates == "tf_crop_and_resize" &&
                             (x < 0 || x > static_cast<double>(in - 1)));
  }
  return map;
}

Settings read_settings(const Operation& op) {
  const auto text = [&](std::string_view key, std::string_view fallback) {
    return std::string(op.node().get_string(key, fallback));
  };
  Settings s{text("mode", "nearest"),
             text("coordinate_transformation_mode", "half_pixel"),
             text("nearest_mode", "round_prefer_floor"),
             op.node().get_float("cubic_coeff_a", -0.75f),
             op.node().get_float("extrapolation_value", 0),
             op.node().get_int("exclude_outside", 0) != 0,
             op.node().get_int("antialias", 0) != 0};
  if (s.mode != "nearest" && s.mode != "linear" && s.mode != "cubic") {
    throw sdk::Decline(op.title() + ": unknown mode '" + s.mode + "'");
  }
  return s;
}

// One axis of `values`, whose lines are resized by `map`.
std::vector<double> resize_axis(const sdk::Host& host, const std::vector<double>& values,
                                const Lines& lines, const AxisMap& map) {
  const auto length = static_cast<std::int64_t>(map.taps.size());
  std::vector<double> result(lines.outer * length * lines.inner);
  host.parallel_for(lines.outer * length, std::max<std::int64_t>(1, kGrain / (lines.inner + 1)),
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t row = begin; row < end; ++row) {
                        double* out = result.data() + row * lines.inner;
                        for (const Tap& tap : map.taps[row % length]) {
                          const double* in =
                              values.data() +
                              (row / length * lines.length + tap.source) * lines.inner;
                          for (std::int64_t i = 0; i < lines.inner; ++i) {
                            out[i] += tap.weight * in[i];
                          }
                        }
                      }
                    });
  return result;
}

}  // namespace

Body compile_resize(const Operation& op) {
  const Type x = op.input(0), y = op.output(0);
  const Settings settings = read_settings(op);
  const auto scales = op.node().get_floats("scales"), roi = op.node().get_floats("roi");
  const std::size_t rank = x.dims.size();
  if (scales.size() != rank || y.dims.size() != rank || (!roi.empty() && roi.size() != 2 * rank)) {
    throw sdk::Decline(op.title() + ": scales, roi and result must fit rank " +
                       std::to_string(rank));
  }
  if (x.count() == 0 && y.count() != 0) throw sdk::Decline(op.title() + ": operand is empty");
  std::vector<AxisMap> maps(rank);
  for (std::size_t d = 0; d < rank; ++d) {
    const double start = roi.empty() ? 0.0 : roi[d], end = roi.empty() ? 1.0 : roi[rank + d];
    const bool is_cropped =
        settings.coordinates == "tf_crop_and_resize" && (start != 0 || end != 1);
    if (x.dims[d] == y.dims[d] && scales[d] == 1.0f && !is_cropped) continue;
    // A scale that is the rounded quotient of the extents stands for the exact quotient.
    const double quotient = static_cast<double>(y.dims[d]) / static_cast<double>(x.dims[d]);
    const bool is_quotient = static_cast<float>(quotient) == scales[d];
    maps[d] =
        map_axis(settings, x.dims[d], y.dims[d], is_quotient ? quotient : scales[d], start, end);
  }
  return [=](const Run& run) {
    std::vector<double> values = load_all<double>(x.dtype, run.in(0), x.count());
    Type shape = x;
    for (std::size_t d = 0; d < rank; ++d) {
      if (maps[d].taps.empty()) continue;
      values = resize_axis(run.host, values, Lines(shape, static_cast<int>(d)), maps[d]);
      shape.dims[d] = y.dims[d];
    }
    for (std::size_t d = 0; d < rank; ++d) {
      const Lines lines(shape, static_cast<int>(d));
      for (std::size_t o = 0; o < maps[d].is_outside.size(); ++o) {
        if (!maps[d].is_outside[o]) continue;
        for (std::int64_t i = 0; i < lines.outer; ++i) {
          std::fill_n(values.data() + (i * lines.length + o) * lines.inner, lines.inner,
                      settings.extrapolation);
        }
      }
    }
    store(y.dtype, run.out(0), 0, 1, y.count(), values.data());
  };
}

}  // namespace inlay::reference
