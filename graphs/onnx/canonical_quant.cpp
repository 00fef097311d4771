// Quantised operators.
#include <fmt/format.h>

#include "graphs/onnx/operator.h"

namespace inlay {
namespace {

Values same(Operator& op) { return op.emit_same(op.inputs()); }

// The axis matters only where there is more than one scale; the default of 1 may not exist then.
std::int64_t quantized_axis(Operator& op) {
  if (element_count(op.shape(1)) == 1 && op.rank(1) <= 1) return 0;
  return op.axis(op.get_int("axis", 1), op.rank(0));
}

Values quantize(Operator& op) {
  auto target = static_cast<std::int64_t>(DType::kU8);
  if (op.has_input(2)) target = static_cast<std::int64_t>(op.type(2).dtype);
  if (const std::int64_t given = op.get_int("output_dtype", 0); given != 0) target = given;
  if (size_of(static_cast<DType>(target)) == 0) {
    throw op.unsupported(fmt::format("element type {} is not supported", target));
  }
  return op.emit_same(op.inputs(), {{"axis", quantized_axis(op)}, {"to", target}});
}

Values dequantize(Operator& op) {
  const std::int64_t given = op.get_int("output_dtype", 0);
  if (given != 0 && given != static_cast<std::int64_t>(op.type(1).dtype)) {
    throw op.unsupported(
        fmt::format("output_dtype {} other than the scale's is not supported", given));
  }
  return op.emit_same(op.inputs(), {{"axis", quantized_axis(op)}});
}

Values dynamic_quantize(Operator& op) {
  return op.emit_outputs("DynamicQuantizeLinear", {op.input(0)}, {},
                         {op.is_wanted(0), op.is_wanted(1), op.is_wanted(2)});
}

constexpr CanonicalEntry kEntries[] = {
    {"QuantizeLinear", quantize},
    {"DequantizeLinear", dequantize},
    {"DynamicQuantizeLinear", dynamic_quantize},
    {"MatMulInteger", same},
    {"QLinearMatMul", same},
};

}  // namespace

std::span<const CanonicalEntry> canonical_quantizations() { return kEntries; }

}  // namespace inlay
