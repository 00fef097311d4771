// Elements of all types by way of three: double for the float types, std::int64_t for signed
// integers, std::uint64_t for unsigned ones and bool. A kernel loads a run of elements, computes,
// and stores, which rounds or wraps once.
//
//   with_compute_type(x.dtype, [&]<typename C>(C) {
//     C line[64];
//     load(x.dtype, data, offset, stride, 64, line);
//     ...
//     store(y.dtype, out, offset, 1, 64, line);
//   });
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/abi/inlay_plugin.h"

namespace inlay::reference {

// Bytes per element; 0 for strings and unknown types.
std::size_t size_of(inlay_dtype dtype);
bool is_float(inlay_dtype dtype);
bool is_signed_integer(inlay_dtype dtype);

// Reads `count` elements, `stride` elements apart, starting `offset` elements after `base`.
// C: double, std::int64_t or std::uint64_t. A float read as an integer saturates; NaN becomes 0.
template <typename C>
void load(inlay_dtype dtype, const void* base, std::int64_t offset, std::int64_t stride,
          std::int64_t count, C* out);

// Writes likewise. double rounds to nearest even in one step, saturates in integers (NaN: 0,
// fractions truncated); integers wrap; anything but 0 is true.
template <typename C>
void store(inlay_dtype dtype, void* base, std::int64_t offset, std::int64_t stride,
           std::int64_t count, const C* in);

// The least and the greatest value of an integer or bool type; minus and plus infinity for floats.
template <typename C>
C lowest(inlay_dtype dtype);
template <typename C>
C highest(inlay_dtype dtype);

// All elements of a tensor in one vector.
template <typename C>
std::vector<C> load_all(inlay_dtype dtype, const void* base, std::int64_t count) {
  std::vector<C> values(static_cast<std::size_t>(count));
  load(dtype, base, 0, 1, count, values.data());
  return values;
}

// Calls f with a value of the type that `dtype` is computed in.
template <typename F>
decltype(auto) with_compute_type(inlay_dtype dtype, F&& f) {
  if (is_float(dtype)) return f(double{});
  if (is_signed_integer(dtype)) return f(std::int64_t{});
  return f(std::uint64_t{});
}

// Calls f with an unsigned integer as wide as an element, for kernels that only move bytes.
template <typename F>
decltype(auto) with_element_size(inlay_dtype dtype, F&& f) {
  switch (size_of(dtype)) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    default:
      return f(std::uint64_t{});
  }
}

}  // namespace inlay::reference
