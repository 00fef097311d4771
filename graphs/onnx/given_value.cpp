#include "graphs/onnx/given_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/base/dtype.h"
#include "core/base/error.h"

namespace inlay {
namespace {

template <typename T>
bool fits(double number) {
  // Doubles at the ends of 64-bit integers are not exact: the upper one is already too large.
  const double end = std::ldexp(1.0, std::numeric_limits<T>::digits);
  return std::trunc(number) == number && number < end &&
         number >= static_cast<double>(std::numeric_limits<T>::min());
}

template <typename T>
void fill(Tensor& tensor, T value) {
  T* out = reinterpret_cast<T*>(tensor.mutable_bytes().data());
  std::fill_n(out, tensor.size_bytes() / sizeof(T), value);
}

template <typename T>
bool fill_integer(Tensor& tensor, double number) {
  if (!fits<T>(number)) return false;
  fill(tensor, static_cast<T>(number));
  return true;
}

// A float rounds, but no number becomes infinite or nothing by that.
bool is_near(double kept, double number) {
  return std::isfinite(kept) == std::isfinite(number) && (kept == 0) == (number == 0);
}

float narrowed(double number) {  // out of a float's range the conversion itself is undefined
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (std::abs(number) <= std::numeric_limits<float>::max() || !std::isfinite(number)) {
    return static_cast<float>(number);
  }
  return number < 0 ? -kInfinity : kInfinity;
}

bool fill_f32(Tensor& tensor, double number) {
  const float kept = narrowed(number);
  fill(tensor, kept);
  return is_near(kept, number);
}

bool fill_half(Tensor& tensor, double number, std::uint16_t (*narrow)(float),
               float (*widen)(std::uint16_t)) {
  const std::uint16_t kept = narrow(narrowed(number));
  fill(tensor, kept);
  return is_near(widen(kept), number);
}

bool fill_number(Tensor& tensor, double number) {
  switch (tensor.dtype()) {
    case DType::kF32:
      return fill_f32(tensor, number);
    case DType::kF64:
      fill(tensor, number);
      return true;
    case DType::kF16:
      return fill_half(tensor, number, f32_to_f16, f16_to_f32);
    case DType::kBF16:
      return fill_half(tensor, number, f32_to_bf16, bf16_to_f32);
    case DType::kU8:
      return fill_integer<std::uint8_t>(tensor, number);
    case DType::kI8:
      return fill_integer<std::int8_t>(tensor, number);
    case DType::kU16:
      return fill_integer<std::uint16_t>(tensor, number);
    case DType::kI16:
      return fill_integer<std::int16_t>(tensor, number);
    case DType::kU32:
      return fill_integer<std::uint32_t>(tensor, number);
    case DType::kI32:
      return fill_integer<std::int32_t>(tensor, number);
    case DType::kU64:
      return fill_integer<std::uint64_t>(tensor, number);
    case DType::kI64:
      return fill_integer<std::int64_t>(tensor, number);
    case DType::kBool:
      return fill_integer<bool>(tensor, number);
    default:
      throw Error(Code::kUnsupported,
                  fmt::format("no number can be given for {}", to_string(tensor.type())));
  }
}

// Digits only; a double keeps whole numbers exactly up to 2^53, and some larger ones.
bool is_kept(std::string_view digits) {
  const bool is_negative = digits.starts_with('-');
  if (is_negative) digits.remove_prefix(1);
  std::uint64_t whole = 0;
  const auto [next, status] = std::from_chars(digits.data(), digits.data() + digits.size(), whole);
  if (next != digits.data() + digits.size()) return true;  // a fraction, an exponent, a word
  constexpr double kEnd = 18446744073709551616.0;          // 2^64
  const auto kept = static_cast<double>(whole);
  return status == std::errc() && kept < kEnd && static_cast<std::uint64_t>(kept) == whole;
}

}  // namespace

double parse_given(std::string_view text, const std::string& where) {
  const auto fail = [&](const char* expected) {
    throw Error(Code::kInvalidArgument,
                fmt::format("{}: expected {}, found '{}'", where, expected, text));
  };
  if (text == "true" || text == "false") return text == "true" ? 1 : 0;
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [next, status] = std::from_chars(text.data(), end, number);
  if (next == end && status == std::errc::result_out_of_range) {
    fail("a number that a double can hold, or inf");
  }
  if (next != end || status != std::errc()) fail("a number, inf, nan, true or false");
  if (!is_kept(text)) fail("a whole number that a double holds exactly (all are up to 2^53)");
  return number;
}

Tensor given_value(const TensorType& type, double number, const std::string& input) {
  Tensor tensor = Tensor::zeros(type);
  if (!fill_number(tensor, number)) {
    throw Error(Code::kInvalidArgument, fmt::format("input '{}': {} cannot hold the value {}",
                                                    input, to_string(type), number));
  }
  return tensor;
}

}  // namespace inlay
