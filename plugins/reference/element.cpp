#include "plugins/reference/element.h"

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

namespace inlay::reference {
namespace {

struct F16 {
  std::uint16_t bits;
};
struct BF16 {
  std::uint16_t bits;
};
struct Bool {
  std::uint8_t byte;
};

// Calls f with a value of the type that stores `dtype`.
template <typename F>
void with_storage_type(inlay_dtype dtype, F&& f) {
  switch (dtype) {
    case INLAY_F32:
      return f(float{});
    case INLAY_F64:
      return f(double{});
    case INLAY_F16:
      return f(F16{});
    case INLAY_BF16:
      return f(BF16{});
    case INLAY_I8:
      return f(std::int8_t{});
    case INLAY_I16:
      return f(std::int16_t{});
    case INLAY_I32:
      return f(std::int32_t{});
    case INLAY_I64:
      return f(std::int64_t{});
    case INLAY_U8:
      return f(std::uint8_t{});
    case INLAY_U16:
      return f(std::uint16_t{});
    case INLAY_U32:
      return f(std::uint32_t{});
    case INLAY_U64:
      return f(std::uint64_t{});
    case INLAY_BOOL:
      return f(Bool{});
    default:
      return;
  }
}

// Rounds to odd: the last bit of an inexact result is set, so that a second rounding to a shorter
// format gives what one rounding would (Boldo and Melquiond, IEEE TC 57(4), 2008).
template <typename Wide>
float round_to_odd(Wide value) {
  const auto nearest = static_cast<float>(value);
  if (static_cast<Wide>(nearest) == value || std::isnan(nearest)) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::fabs(static_cast<Wide>(nearest)) > std::fabs(value)) --bits;
  return std::bit_cast<float>(bits | 1u);
}

float widen(F16 half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half.bits & 0x8000u) << 16;
  const std::uint32_t magnitude = half.bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | (magnitude << 13));
  // Shifted into place the exponent is 112 too small; one exact multiplication puts that right,
  // subnormals included.
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | sign);
}

float widen(BF16 brain) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(brain.bits) << 16);
}

F16 narrow_to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const float magnitude = std::fabs(value);
  std::uint32_t result = 0;
  if (std::isnan(value)) {
    result = 0x7e00u;
  } else if (magnitude >= 65520.0f) {
    result = 0x7c00u;
  } else if (magnitude < 0x1p-14f) {  // subnormal: units of 2^-24
    result = static_cast<std::uint32_t>(std::nearbyint(magnitude * 0x1p24f));
  } else {
    const std::uint32_t rebased = (bits & 0x7fffffffu) - (112u << 23);
    result = (rebased + 0xfffu + ((rebased >> 13) & 1u)) >> 13;
  }
  return {static_cast<std::uint16_t>(sign | result)};
}

BF16 narrow_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return {static_cast<std::uint16_t>((bits >> 16) | 0x40u)};
  return {static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

template <typename Integer>
Integer saturate(double value) {
  using Limits = std::numeric_limits<Integer>;
  if (std::isnan(value)) return 0;
  // The bounds are powers of two, so the comparison is exact although max() itself may not be a
  // double.
  if (value < static_cast<double>(Limits::min())) return Limits::min();
  if (value >= std::ldexp(1.0, Limits::digits)) return Limits::max();
  return static_cast<Integer>(value);
}

template <typename C, typename S>
C widen_to(S element) {
  if constexpr (std::is_same_v<S, Bool>) {
    return element.byte != 0 ? C{1} : C{0};
  } else if constexpr (std::is_same_v<S, F16> || std::is_same_v<S, BF16>) {
    return widen_to<C>(widen(element));
  } else if constexpr (std::is_floating_point_v<S> && std::is_integral_v<C>) {
    return saturate<C>(element);
  } else {
    return static_cast<C>(element);
  }
}

template <typename S, typename C>
S narrow_to(C value) {
  // 64-bit integers fit x86's long double exactly; so nothing rounds before the last step.
  using Exact = std::conditional_t<std::is_integral_v<C>, long double, double>;
  if constexpr (std::is_same_v<S, Bool>) {
    return {static_cast<std::uint8_t>(value != 0)};
  } else if constexpr (std::is_same_v<S, F16>) {
    return narrow_to_f16(round_to_odd(static_cast<Exact>(value)));
  } else if constexpr (std::is_same_v<S, BF16>) {
    return narrow_to_bf16(round_to_odd(static_cast<Exact>(value)));
  } else if constexpr (std::is_integral_v<S> && std::is_floating_point_v<C>) {
    return saturate<S>(value);
  } else {
    return static_cast<S>(value);
  }
}

}  // namespace

std::size_t size_of(inlay_dtype dtype) {
  std::size_t size = 0;
  with_storage_type(dtype, [&](auto element) { size = sizeof(element); });
  return size;
}

bool is_float(inlay_dtype dtype) {
  return dtype == INLAY_F32 || dtype == INLAY_F64 || dtype == INLAY_F16 || dtype == INLAY_BF16;
}

bool is_signed_integer(inlay_dtype dtype) {
  return dtype == INLAY_I8 || dtype == INLAY_I16 || dtype == INLAY_I32 || dtype == INLAY_I64;
}

template <typename C>
void load(inlay_dtype dtype, const void* base, std::int64_t offset, std::int64_t stride,
          std::int64_t count, C* out) {
  if (count <= 0) return;
  with_storage_type(dtype, [&]<typename S>(S) {
    const S* in = static_cast<const S*>(base) + offset;
    if (stride == 1) {
      for (std::int64_t i = 0; i < count; ++i) out[i] = widen_to<C>(in[i]);
    } else {
      for (std::int64_t i = 0; i < count; ++i) out[i] = widen_to<C>(in[i * stride]);
    }
  });
}

template <typename C>
void store(inlay_dtype dtype, void* base, std::int64_t offset, std::int64_t stride,
           std::int64_t count, const C* in) {
  if (count <= 0) return;
  with_storage_type(dtype, [&]<typename S>(S) {
    S* out = static_cast<S*>(base) + offset;
    if (stride == 1) {
      for (std::int64_t i = 0; i < count; ++i) out[i] = narrow_to<S>(in[i]);
    } else {
      for (std::int64_t i = 0; i < count; ++i) out[i * stride] = narrow_to<S>(in[i]);
    }
  });
}

template <typename C>
C lowest(inlay_dtype dtype) {
  C value{};
  with_storage_type(dtype, [&]<typename S>(S) {
    if constexpr (std::is_integral_v<S> && std::is_integral_v<C>) {
      value = static_cast<C>(std::numeric_limits<S>::min());
    } else if constexpr (std::is_floating_point_v<C>) {
      value = -std::numeric_limits<C>::infinity();
    }
  });
  return value;
}

template <typename C>
C highest(inlay_dtype dtype) {
  C value{1};  // bool
  with_storage_type(dtype, [&]<typename S>(S) {
    if constexpr (std::is_integral_v<S> && std::is_integral_v<C>) {
      value = static_cast<C>(std::numeric_limits<S>::max());
    } else if constexpr (std::is_floating_point_v<C>) {
      value = std::numeric_limits<C>::infinity();
    }
  });
  return value;
}

#define INLAY_INSTANTIATE(C)                                                                      \
  template void load<C>(inlay_dtype, const void*, std::int64_t, std::int64_t, std::int64_t, C*);  \
  template void store<C>(inlay_dtype, void*, std::int64_t, std::int64_t, std::int64_t, const C*); \
  template C lowest<C>(inlay_dtype);                                                              \
  template C highest<C>(inlay_dtype);
INLAY_INSTANTIATE(double)
INLAY_INSTANTIATE(std::int64_t)
INLAY_INSTANTIATE(std::uint64_t)
#undef INLAY_INSTANTIATE

}  // namespace inlay::reference
