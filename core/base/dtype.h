// Element types of tensors, numbered as in ONNX's TensorProto so that they cross files and the
// plugin ABI unchanged.
//
//   size_of(DType::kF32) == 4;  name_of(DType::kI64) == "i64";  parse_dtype("f32") == DType::kF32
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace inlay {

enum class DType : std::int32_t {
  kNone = 0,
  kF32 = 1,
  kU8 = 2,
  kI8 = 3,
  kU16 = 4,
  kI16 = 5,
  kI32 = 6,
  kI64 = 7,
  kString = 8,
  kBool = 9,
  kF16 = 10,
  kF64 = 11,
  kU32 = 12,
  kU64 = 13,
  kBF16 = 16,
};

// Bytes per element. 0 for kNone and kString, whose elements have no fixed size.
std::size_t size_of(DType dtype);

// "f32", "i64", "bool", ...; "none" for anything unknown.
std::string_view name_of(DType dtype);

// Inverse of name_of; nullopt for an unknown name.
std::optional<DType> parse_dtype(std::string_view name);

bool is_float(DType dtype);    // f16, bf16, f32, f64
bool is_integer(DType dtype);  // signed and unsigned integers; bool is neither

// Conversions of the 16-bit formats, round to nearest even; NaN stays NaN, infinities stay.
float f16_to_f32(std::uint16_t bits);
std::uint16_t f32_to_f16(float value);
float bf16_to_f32(std::uint16_t bits);
std::uint16_t f32_to_bf16(float value);

}  // namespace inlay
