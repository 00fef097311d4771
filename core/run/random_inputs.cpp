#include "core/run/random_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/base/error.h"

namespace inlay {
namespace {

template <typename T, typename Draw>
void fill(Tensor* tensor, const Draw& draw) {
  T* out = reinterpret_cast<T*>(tensor->mutable_bytes().data());
  const std::size_t count = tensor->size_bytes() / sizeof(T);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<T>(draw());
}

template <typename T>
void fill_integers(Tensor* tensor, Rng& rng, std::int64_t max_value) {
  constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<T>::max());
  const std::uint64_t largest =
      std::min(static_cast<std::uint64_t>(std::max<std::int64_t>(max_value, 0)), kLargest);
  fill<T>(tensor, [&] { return rng.below(largest + 1); });
}

}  // namespace

Tensor random_tensor(const TensorType& type, Rng& rng, std::int64_t max_value) {
  Tensor tensor = Tensor::zeros(type);
  const auto normal = [&] { return static_cast<float>(rng.normal()); };
  switch (type.dtype) {
    case DType::kF32:
      fill<float>(&tensor, normal);
      break;
    case DType::kF64:
      fill<double>(&tensor, [&] { return rng.normal(); });
      break;
    case DType::kF16:
      fill<std::uint16_t>(&tensor, [&] { return f32_to_f16(normal()); });
      break;
    case DType::kBF16:
      fill<std::uint16_t>(&tensor, [&] { return f32_to_bf16(normal()); });
      break;
    case DType::kU8:
      fill_integers<std::uint8_t>(&tensor, rng, max_value);
      break;
    case DType::kI8:
      fill_integers<std::int8_t>(&tensor, rng, max_value);
      break;
    case DType::kU16:
      fill_integers<std::uint16_t>(&tensor, rng, max_value);
      break;
    case DType::kI16:
      fill_integers<std::int16_t>(&tensor, rng, max_value);
      break;
    case DType::kU32:
      fill_integers<std::uint32_t>(&tensor, rng, max_value);
      break;
    case DType::kI32:
      fill_integers<std::int32_t>(&tensor, rng, max_value);
      break;
    case DType::kU64:
      fill_integers<std::uint64_t>(&tensor, rng, max_value);
      break;
    case DType::kI64:
      fill_integers<std::int64_t>(&tensor, rng, max_value);
      break;
    case DType::kBool:
      fill<std::uint8_t>(&tensor, [&] { return rng.below(2); });
      break;
    default:
      throw Error(Code::kUnsupported, fmt::format("no random values for {}", to_string(type)));
  }
  return tensor;
}

std::vector<Tensor> random_inputs(const Plan& plan, std::uint64_t seed,
                                  const MaxValues& max_values) {
  std::vector<Tensor> inputs;
  Rng seeds(seed);
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
    Rng rng(seeds.next());
    const auto max_value = max_values.find(static_cast<int>(i));
    const PlanValue& value = plan.values[static_cast<std::size_t>(plan.inputs[i])];
    inputs.push_back(random_tensor(
        value.type, rng, max_value == max_values.end() ? kDefaultMaxValue : max_value->second));
  }
  return inputs;
}

Tensor absolute_values(const Tensor& tensor) {
  if (!is_float(tensor.dtype())) return tensor;
  // The sign is the highest bit of every float format, and the last byte of the little-endian
  // element.
  Tensor result = Tensor::zeros(tensor.type());
  const std::span<std::byte> bytes = result.mutable_bytes();
  std::copy(tensor.bytes().begin(), tensor.bytes().end(), bytes.begin());
  const std::size_t element = size_of(tensor.dtype());
  for (std::size_t last = element - 1; last < bytes.size(); last += element) {
    bytes[last] &= std::byte{0x7f};
  }
  return result;
}

}  // namespace inlay
