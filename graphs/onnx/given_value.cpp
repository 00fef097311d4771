#include "graphs/onnx/given_value.h"

#include <fmt/format.h>

#include <algorithm>
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

bool fill_number(Tensor& tensor, double number) {
  switch (tensor.dtype()) {
    case DType::kF32:
      fill(tensor, static_cast<float>(number));
      return true;
    case DType::kF64:
      fill(tensor, number);
      return true;
    case DType::kF16:
      fill(tensor, f32_to_f16(static_cast<float>(number)));
      return true;
    case DType::kBF16:
      fill(tensor, f32_to_bf16(static_cast<float>(number)));
      return true;
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

}  // namespace

Tensor given_value(const TensorType& type, double number, const std::string& input) {
  Tensor tensor = Tensor::zeros(type);
  if (!fill_number(tensor, number)) {
    throw Error(Code::kInvalidArgument, fmt::format("input '{}': {} cannot hold the value {}",
                                                    input, to_string(type), number));
  }
  return tensor;
}

}  // namespace inlay
