// Elementwise operators, Gemm, MatMul and Einsum.
#include <fmt/format.h>

#include <cmath>

#include "graphs/onnx/operator.h"

namespace inlay {
namespace {

// Operators whose ONNX form is the canonical one, defaults apart.
Values same(Operator& op) { return op.emit_same(op.inputs()); }

// Whether every element of an operand is this number.
bool is_constant_of(Operator& op, int i, double number) {
  const Tensor* tensor = op.constant(i);
  if (tensor == nullptr || element_count(tensor->shape()) != 1) return false;
  return to_doubles(*tensor)[0] == number;
}

// The operand that the operator gives back bit for bit: x · 1, x / 1, x - 0, x to the power of 1.
// Not x + 0, which makes 0 of -0.
std::optional<ValueId> unchanged(Operator& op) {
  const std::string& name = op.op();
  const bool keeps_first =
      ((name == "Mul" || name == "Div" || name == "Pow") && is_constant_of(op, 1, 1)) ||
      (name == "Sub" && is_constant_of(op, 1, 0));
  if (keeps_first && op.rank(1) <= op.rank(0)) return op.input(0);
  if (name == "Mul" && is_constant_of(op, 0, 1) && op.rank(0) <= op.rank(1)) return op.input(1);
  return std::nullopt;
}

// Up to opset 6 the second operand was aligned by attributes: with `broadcast`, its dimensions
// start at `axis` of the first one's. As of 7 trailing dimensions match, so ones are appended.
Values binary(Operator& op) {
  if (const auto same_value = unchanged(op)) return op.identity(*same_value);
  ValueId b = op.input(1);
  if (op.opset() < 7 && op.get_int("broadcast", 0) != 0 && op.has_attribute("axis")) {
    const std::int64_t axis = op.axis(op.get_int("axis", 0), op.rank(0) + 1);
    Shape shape = op.shape(1);
    while (axis + static_cast<std::int64_t>(shape.size()) < op.rank(0)) shape.push_back(1);
    b = op.reshape(b, shape);
  }
  return op.emit_same({op.input(0), b});
}

Values chain(Operator& op, std::string_view step) {
  if (op.input_count() == 1) return op.identity(op.input(0));
  ValueId total = op.input(0);
  for (int i = 1; i < op.input_count(); ++i) total = op.emit(step, {total, op.input(i)});
  return {total};
}

Values sum(Operator& op) { return chain(op, "Add"); }
Values maximum(Operator& op) { return chain(op, "Max"); }
Values minimum(Operator& op) { return chain(op, "Min"); }

Values mean(Operator& op) {
  if (op.input_count() == 1) return op.identity(op.input(0));
  const ValueId total = chain(op, "Add")[0];
  const Tensor share = scalar_of(op.type(total).dtype, 1.0 / op.input_count());
  return {op.emit("Mul", {total, op.constant_value(share)})};
}

Values prelu(Operator& op) {
  // Up to opset 6 a slope of C elements went along the channels.
  if (op.opset() < 7 && op.rank(1) == 1 && op.rank(0) > 2 && op.shape(1)[0] != 1) {
    Shape shape(static_cast<std::size_t>(op.rank(0)) - 1, 1);
    shape[0] = op.shape(1)[0];
    return {op.emit("PRelu", {op.input(0), op.reshape(op.input(1), shape)})};
  }
  return op.emit_same({op.input(0), op.input(1)});
}

// Bounds become attributes where a float can hold them.
Values clip(Operator& op) {
  if (op.opset() < 11) {
    if (!op.has_attribute("min") && !op.has_attribute("max")) return op.identity(op.input(0));
    return op.emit_same({op.input(0)});
  }
  Attributes bounds;
  bool is_held = is_float(op.type(0).dtype);
  const char* const names[] = {"min", "max"};
  for (int i = 1; i <= 2; ++i) {
    if (!op.has_input(i)) continue;
    const Tensor* bound = op.constant(i);
    if (bound != nullptr && element_count(bound->shape()) != 1) {
      throw op.error(Code::kShapeMismatch, fmt::format("'{}' is not one number but {}",
                                                       names[i - 1], to_string(bound->type())));
    }
    const double value = bound == nullptr ? 0.0 : to_doubles(*bound)[0];
    const float narrow = static_cast<float>(value);
    is_held =
        is_held && bound != nullptr && (std::isnan(value) || static_cast<double>(narrow) == value);
    bounds.emplace(names[i - 1], narrow);
  }
  if (bounds.empty()) return op.identity(op.input(0));
  if (is_held) return {op.emit("Clip", {op.input(0)}, bounds)};
  return {op.emit("Clip", {op.input(0), op.input_or_none(1), op.input_or_none(2)})};
}

DType target_dtype(Operator& op, std::int64_t number) {
  const auto dtype = static_cast<DType>(number);
  if (number < 0 || number > 64 || size_of(dtype) == 0) {
    throw op.unsupported(fmt::format("element type {} is not supported", number));
  }
  return dtype;
}

Values cast_to(Operator& op, DType dtype) {
  if (op.type(0).dtype == dtype) return op.identity(op.input(0));
  return {
      op.emit("Cast", {op.input(0)},
              {{"to", static_cast<std::int64_t>(dtype)}, {"saturate", op.get_int("saturate", 1)}})};
}

Values cast(Operator& op) { return cast_to(op, target_dtype(op, op.get_int("to", 0))); }
Values cast_like(Operator& op) { return cast_to(op, op.type(1).dtype); }

Values identity(Operator& op) { return op.identity(op.input(0)); }

// At inference it does nothing; its mask is then all true.
Values dropout(Operator& op) {
  if (op.opset() >= 12 && op.has_input(2) && op.constant_ints(2, "training_mode").at(0) != 0) {
    throw op.unsupported("training mode is not supported");
  }
  Values results = op.identity(op.input(0));
  if (op.is_wanted(1)) {
    const DType dtype = op.opset() < 10 ? op.type(0).dtype : DType::kBool;
    results.push_back(op.constant_value(scalar_of(dtype, 1, op.shape(0))));
  }
  return results;
}

Values bit_shift(Operator& op) {
  const std::string direction = op.get_string("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") {
    throw op.error(Code::kCorrupt, fmt::format("direction '{}' is not LEFT or RIGHT", direction));
  }
  return op.emit_same(op.inputs());
}

Values gelu(Operator& op) {
  const std::string approximate = op.get_string("approximate", "none");
  if (approximate != "none" && approximate != "tanh") {
    throw op.error(Code::kCorrupt,
                   fmt::format("approximate '{}' is not none or tanh", approximate));
  }
  return op.emit_same({op.input(0)});
}

constexpr CanonicalEntry kEntries[] = {
    {"Relu", same},
    {"Sigmoid", same},
    {"Tanh", same},
    {"Erf", same},
    {"Sqrt", same},
    {"Exp", same},
    {"Log", same},
    {"Neg", same},
    {"Abs", same},
    {"Floor", same},
    {"Ceil", same},
    {"Round", same},
    {"Sign", same},
    {"Reciprocal", same},
    {"Sin", same},
    {"Cos", same},
    {"Tan", same},
    {"Asin", same},
    {"Acos", same},
    {"Atan", same},
    {"Sinh", same},
    {"Cosh", same},
    {"Asinh", same},
    {"Acosh", same},
    {"Atanh", same},
    {"Softplus", same},
    {"Softsign", same},
    {"HardSwish", same},
    {"Mish", same},
    {"Not", same},
    {"BitwiseNot", same},
    {"IsNaN", same},
    {"Elu", same},
    {"Celu", same},
    {"LeakyRelu", same},
    {"ThresholdedRelu", same},
    {"Selu", same},
    {"HardSigmoid", same},
    {"Gelu", gelu},
    {"Swish", same},
    {"Shrink", same},
    {"IsInf", same},
    {"Clip", clip},
    {"PRelu", prelu},
    {"Add", binary},
    {"Sub", binary},
    {"Mul", binary},
    {"Div", binary},
    {"Pow", binary},
    {"And", binary},
    {"Or", binary},
    {"Xor", binary},
    {"Equal", binary},
    {"Less", binary},
    {"LessOrEqual", binary},
    {"Greater", binary},
    {"GreaterOrEqual", binary},
    {"BitwiseAnd", binary},
    {"BitwiseOr", binary},
    {"BitwiseXor", binary},
    {"Mod", binary},
    {"BitShift", bit_shift},
    {"Where", same},
    {"Sum", sum},
    {"Max", maximum},
    {"Min", minimum},
    {"Mean", mean},
    {"Cast", cast},
    {"CastLike", cast_like},
    {"Identity", identity},
    {"Dropout", dropout},
    {"Gemm", same},
    {"MatMul", same},
    {"Einsum", same},
};

}  // namespace

std::span<const CanonicalEntry> canonical_elementwise() { return kEntries; }

}  // namespace inlay
