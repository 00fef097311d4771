// A tensor's type and an immutable tensor value. Copying a Tensor shares its bytes; a constant
// mapped from a file keeps the mapping alive and is never copied.
//
//   Tensor t = Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6});
//   std::span<const float> values = t.as<float>();
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/error.h"
#include "core/base/shape.h"

namespace inlay {

struct TensorType {
  DType dtype = DType::kNone;
  Shape shape;
  bool operator==(const TensorType&) const = default;
};

// "f32[1x3x224x224]"; "i64[scalar]".
std::string to_string(const TensorType& type);

// Bytes of the dense row-major form.
// throws  Error{kInvalidArgument} if the count overflows, Error{kUnsupported} for a type without a
//         fixed element size
std::size_t dense_bytes(const TensorType& type);

// The DType that stores C++ type T: float → kF32, std::int64_t → kI64, bool → kBool, ...
template <typename T>
constexpr DType dtype_of();

class Tensor {
 public:
  Tensor() = default;

  // Dense row-major bytes; `data` holds dense_bytes(type) bytes and is shared, not copied.
  Tensor(TensorType type, std::shared_ptr<const std::byte> data)
      : type_(std::move(type)), size_bytes_(dense_bytes(type_)), data_(std::move(data)) {}

  // A new tensor of zeros whose bytes the caller may fill through `mutable_bytes` before sharing
  // it.
  static Tensor zeros(TensorType type);

  template <typename T>
  static Tensor from(Shape shape, const std::vector<T>& values);

  const TensorType& type() const { return type_; }
  DType dtype() const { return type_.dtype; }
  const Shape& shape() const { return type_.shape; }
  std::size_t size_bytes() const { return size_bytes_; }
  const std::byte* data() const { return data_.get(); }
  std::span<const std::byte> bytes() const { return {data_.get(), size_bytes_}; }
  const std::shared_ptr<const std::byte>& shared_data() const { return data_; }

  // The elements. T must be the storage type of dtype(): asserted by size, checked by dtype.
  // throws  Error{kInvalidArgument} if T does not store dtype()
  template <typename T>
  std::span<const T> as() const;

  // Only for a tensor just made by zeros(), before it is shared.
  std::span<std::byte> mutable_bytes() {
    return {const_cast<std::byte*>(data_.get()), size_bytes_};
  }

  // Same type and same bytes.
  bool operator==(const Tensor& other) const;

 private:
  TensorType type_;
  std::size_t size_bytes_ = 0;
  std::shared_ptr<const std::byte> data_;
};

template <typename T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::kF32;
  if constexpr (std::is_same_v<T, double>) return DType::kF64;
  if constexpr (std::is_same_v<T, std::int8_t>) return DType::kI8;
  if constexpr (std::is_same_v<T, std::int16_t>) return DType::kI16;
  if constexpr (std::is_same_v<T, std::int32_t>) return DType::kI32;
  if constexpr (std::is_same_v<T, std::int64_t>) return DType::kI64;
  if constexpr (std::is_same_v<T, std::uint8_t>) return DType::kU8;
  if constexpr (std::is_same_v<T, std::uint16_t>) return DType::kU16;
  if constexpr (std::is_same_v<T, std::uint32_t>) return DType::kU32;
  if constexpr (std::is_same_v<T, std::uint64_t>) return DType::kU64;
  if constexpr (std::is_same_v<T, bool>) return DType::kBool;
  return DType::kNone;
}

template <typename T>
Tensor Tensor::from(Shape shape, const std::vector<T>& values) {
  static_assert(dtype_of<T>() != DType::kNone);
  Tensor tensor = zeros({dtype_of<T>(), std::move(shape)});
  if (values.size() * sizeof(T) != tensor.size_bytes()) {
    throw Error(Code::kShapeMismatch, to_string(tensor.type()) + " needs " +
                                          std::to_string(tensor.size_bytes() / sizeof(T)) +
                                          " values, got " + std::to_string(values.size()));
  }
  T* out = reinterpret_cast<T*>(tensor.mutable_bytes().data());
  std::copy(values.begin(), values.end(), out);
  return tensor;
}

template <typename T>
std::span<const T> Tensor::as() const {
  if (dtype_of<T>() != type_.dtype) {
    throw Error(Code::kInvalidArgument, "tensor is " + to_string(type_) + ", read as " +
                                            std::string(name_of(dtype_of<T>())));
  }
  return {reinterpret_cast<const T*>(data_.get()), size_bytes_ / sizeof(T)};
}

}  // namespace inlay
