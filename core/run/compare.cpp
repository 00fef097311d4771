#include "core/run/compare.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/base/error.h"

namespace inlay {
namespace {

// Stored form and value of the 16-bit floats.
struct F16 {
  std::uint16_t bits;
  explicit operator double() const { return f16_to_f32(bits); }
};
struct BF16 {
  std::uint16_t bits;
  explicit operator double() const { return bf16_to_f32(bits); }
};

// Calls function with an empty pointer to the C++ type that stores `dtype`.
template <typename Function>
auto visit_type(const TensorType& type, const Function& function) {
  switch (type.dtype) {
    case DType::kF32:
      return function(static_cast<const float*>(nullptr));
    case DType::kF64:
      return function(static_cast<const double*>(nullptr));
    case DType::kF16:
      return function(static_cast<const F16*>(nullptr));
    case DType::kBF16:
      return function(static_cast<const BF16*>(nullptr));
    case DType::kI8:
      return function(static_cast<const std::int8_t*>(nullptr));
    case DType::kI16:
      return function(static_cast<const std::int16_t*>(nullptr));
    case DType::kI32:
      return function(static_cast<const std::int32_t*>(nullptr));
    case DType::kI64:
      return function(static_cast<const std::int64_t*>(nullptr));
    case DType::kU8:
    case DType::kBool:
      return function(static_cast<const std::uint8_t*>(nullptr));
    case DType::kU16:
      return function(static_cast<const std::uint16_t*>(nullptr));
    case DType::kU32:
      return function(static_cast<const std::uint32_t*>(nullptr));
    case DType::kU64:
      return function(static_cast<const std::uint64_t*>(nullptr));
    default:
      throw Error(Code::kUnsupported, fmt::format("no comparison of {}", to_string(type)));
  }
}

struct Format {
  int digits;        // of the significand, the hidden one included
  int min_exponent;  // of the smallest normal number
};

Format format_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return {53, -1022};
    case DType::kF16:
      return {11, -14};
    case DType::kBF16:
      return {8, -126};
    default:
      return {24, -126};
  }
}

double ulp(double value, const Format& format) {
  const int exponent = value == 0 ? format.min_exponent : std::ilogb(value);
  return std::ldexp(1.0, std::max(exponent, format.min_exponent) - format.digits + 1);
}

std::vector<double> to_doubles(const Tensor& tensor) {
  return visit_type(tensor.type(), [&]<typename T>(const T*) {
    const T* data = reinterpret_cast<const T*>(tensor.data());
    std::vector<double> values(tensor.size_bytes() / sizeof(T));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(data[i]);
    return values;
  });
}

double largest_finite(const std::vector<double>& values) {
  double largest = 0;
  for (const double v : values) {
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  }
  return largest;
}

// The bound of each element. Where the reference is not finite the bound plays no part.
constexpr double kEndToEnd = 1e-3;

class Bounds {
 public:
  Bounds(const Tensor& reference, const Tolerance& tolerance, const Tensor* magnitude)
      : tolerance_(tolerance),
        format_(format_of(reference.dtype())),
        is_float_(is_float(reference.dtype())),
        unit_(reference.dtype() == DType::kF64 ? 0x1p-53 : 0x1p-24) {
    if (magnitude != nullptr) magnitude_ = to_doubles(*magnitude);
    if (tolerance.kind == ToleranceClass::kEndToEnd ||
        (tolerance.kind == ToleranceClass::kReduced && magnitude == nullptr)) {
      largest_ = largest_finite(to_doubles(reference));
    }
  }

  double at(std::size_t i, double want) const {
    if (!is_float_ && tolerance_.kind != ToleranceClass::kReduced) return 0;
    constexpr double kTranscendental = 1e-6;
    switch (tolerance_.kind) {
      case ToleranceClass::kExact:
        return 0;
      case ToleranceClass::kElementwise:
        return 2 * ulp(want, format_);
      case ToleranceClass::kTranscendental:
        return std::max(kTranscendental, 16 * ulp(want, format_));
      case ToleranceClass::kAccum:
        return 2 * static_cast<double>(tolerance_.depth) * unit_ * std::abs(magnitude_[i]) +
               ulp(want, format_);
      case ToleranceClass::kReduced:
        return tolerance_.relative_bound *
                   (magnitude_.empty() ? largest_ : std::abs(magnitude_[i])) +
               (is_float_ ? ulp(want, format_) : 0);
      case ToleranceClass::kEndToEnd:
        return (tolerance_.relative_bound > 0 ? tolerance_.relative_bound : kEndToEnd) * largest_;
    }
    return 0;
  }

 private:
  Tolerance tolerance_;
  Format format_;
  bool is_float_;
  double unit_;
  std::vector<double> magnitude_;
  double largest_ = 0;
};

// How far `got` is from `want` in units of the bound; above 1 is a failure. Equal integers beyond
// 2^53 are told apart before they become doubles.
double ratio_of(bool is_same, double got, double want, double bound) {
  if (is_same || (std::isnan(got) && std::isnan(want))) return 0;
  if (!std::isfinite(got) || !std::isfinite(want) || bound == 0) {
    return std::numeric_limits<double>::infinity();
  }
  return std::abs(got - want) / bound;
}

template <typename T>
bool same(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return a == b;
  } else {
    return static_cast<double>(a) == static_cast<double>(b);
  }
}

void check_types(const Tensor& reference, const Tensor& result, const Tolerance& tolerance,
                 const Tensor* magnitude) {
  if (reference.type() != result.type()) {
    throw Error(Code::kShapeMismatch,
                fmt::format("compare: expected {}, found {}", to_string(reference.type()),
                            to_string(result.type())));
  }
  if (magnitude != nullptr && magnitude->shape() != reference.shape()) {
    throw Error(Code::kShapeMismatch,
                fmt::format("compare: the magnitude is {}, the reference {}",
                            to_string(magnitude->type()), to_string(reference.type())));
  }
  if (magnitude == nullptr && tolerance.kind == ToleranceClass::kAccum &&
      is_float(reference.dtype())) {
    throw Error(Code::kInvalidArgument, "compare: tolerance accum needs a magnitude");
  }
}

}  // namespace

Tolerance parse_tolerance(std::string_view text, std::int64_t depth) {
  constexpr std::string_view kReduced = "reduced:";
  const auto of = [depth](ToleranceClass kind) { return Tolerance{kind, depth, 0}; };
  if (text == "exact") return of(ToleranceClass::kExact);
  if (text == "elementwise") return of(ToleranceClass::kElementwise);
  if (text == "transcendental") return of(ToleranceClass::kTranscendental);
  if (text == "accum") return of(ToleranceClass::kAccum);
  if (text == "end_to_end") return of(ToleranceClass::kEndToEnd);
  if (text.substr(0, kReduced.size()) == kReduced) {
    const std::string_view number = text.substr(kReduced.size());
    double bound = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), bound);
    if (error == std::errc() && end == number.data() + number.size() && bound > 0 &&
        std::isfinite(bound)) {
      return {ToleranceClass::kReduced, depth, bound};
    }
  }
  throw Error(Code::kInvalidArgument,
              fmt::format("tolerance: expected exact, elementwise, transcendental, accum, "
                          "reduced:BOUND or end_to_end, found '{}'",
                          text));
}

std::string to_string(const Tolerance& tolerance) {
  switch (tolerance.kind) {
    case ToleranceClass::kExact:
      return "exact";
    case ToleranceClass::kElementwise:
      return "elementwise";
    case ToleranceClass::kTranscendental:
      return "transcendental";
    case ToleranceClass::kAccum:
      return "accum";
    case ToleranceClass::kReduced:
      return fmt::format("reduced:{}", tolerance.relative_bound);
    case ToleranceClass::kEndToEnd:
      return "end_to_end";
  }
  return "exact";
}

Comparison compare(const Tensor& reference, const Tensor& result, const Tolerance& tolerance,
                   const Tensor* magnitude) {
  check_types(reference, result, tolerance, magnitude);
  const Bounds bounds(reference, tolerance, magnitude);
  Comparison comparison;
  visit_type(reference.type(), [&]<typename T>(const T*) {
    const T* want = reinterpret_cast<const T*>(reference.data());
    const T* got = reinterpret_cast<const T*>(result.data());
    comparison.count = static_cast<std::int64_t>(reference.size_bytes() / sizeof(T));
    for (std::int64_t i = 0; i < comparison.count; ++i) {
      const double w = static_cast<double>(want[i]);
      const Deviation here = {i, static_cast<double>(got[i]), w,
                              bounds.at(static_cast<std::size_t>(i), w)};
      const double ratio = ratio_of(same(got[i], want[i]), here.got, here.want, here.bound);
      if (comparison.worst.index < 0 || ratio > comparison.worst_ratio) {
        comparison.worst = here;
        comparison.worst_ratio = ratio;
      }
      if (ratio <= 1) continue;
      if (comparison.failures++ == 0) comparison.first = here;
    }
  });
  return comparison;
}

std::string describe(const Comparison& c) {
  const auto element = [](const Deviation& d) {
    return fmt::format("{}: got {}, want {}, bound {:.3g}", d.index, d.got, d.want, d.bound);
  };
  if (c.is_equal()) {
    return fmt::format("{} {} within bounds, worst at {:.3g} of its bound", c.count,
                       c.count == 1 ? "element" : "elements", c.worst_ratio);
  }
  return fmt::format("{} of {} elements out of bounds, first at {}; worst at {}", c.failures,
                     c.count, element(c.first), element(c.worst));
}

}  // namespace inlay
