#include "core/base/tensor.h"

#include <fmt/format.h>

namespace inlay {

std::string to_string(const TensorType& type) {
  return fmt::format("{}[{}]", name_of(type.dtype), to_string(type.shape));
}

std::size_t dense_bytes(const TensorType& type) {
  const std::size_t element = size_of(type.dtype);
  if (element == 0) {
    throw Error(Code::kUnsupported,
                fmt::format("{}: elements have no fixed size", to_string(type)));
  }
  const std::int64_t count = element_count(type.shape);
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(count, static_cast<std::int64_t>(element), &bytes)) {
    throw Error(Code::kInvalidArgument, fmt::format("{}: more than 2^63 bytes", to_string(type)));
  }
  return static_cast<std::size_t>(bytes);
}

Tensor Tensor::zeros(TensorType type) {
  constexpr std::size_t kAlignment = 64;  // a cache line, and the widest vector register
  const std::size_t size = dense_bytes(type);
  const std::size_t padded = (size + kAlignment) / kAlignment * kAlignment;
  void* bytes = std::aligned_alloc(kAlignment, padded);
  if (bytes == nullptr) {
    throw Error(Code::kNoMemory, fmt::format("{}: {} bytes not available", to_string(type), size));
  }
  std::memset(bytes, 0, padded);
  return Tensor(std::move(type), std::shared_ptr<const std::byte>(
                                     static_cast<const std::byte*>(bytes), [](const std::byte* p) {
                                       std::free(const_cast<std::byte*>(p));
                                     }));
}

bool Tensor::operator==(const Tensor& other) const {
  return type_ == other.type_ &&
         (size_bytes_ == 0 || std::memcmp(data(), other.data(), size_bytes_) == 0);
}

}  // namespace inlay
