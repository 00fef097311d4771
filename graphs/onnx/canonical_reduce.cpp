// Reductions along axes, scans, and the softmax family.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "graphs/onnx/operator.h"

namespace inlay {
namespace {

// ReduceSum takes its axes as an operand as of opset 13, the others as of 18.
Values reduce(Operator& op) {
  const bool by_attribute = op.opset() < (op.op() == "ReduceSum" ? 13 : 18);
  Ints axes;
  if (by_attribute) {
    axes = op.get_ints("axes");
  } else if (op.has_input(1)) {
    axes = op.constant_ints(1, "axes");
  }
  if (axes.empty()) {
    const bool is_no_op = !by_attribute && op.get_int("noop_with_empty_axes", 0) != 0;
    const bool keeps_elements = op.op() == "ReduceSum" || op.op() == "ReduceMean" ||
                                op.op() == "ReduceMax" || op.op() == "ReduceMin" ||
                                op.op() == "ReduceProd";
    if (is_no_op && keeps_elements) return op.identity(op.input(0));
    if (!is_no_op) {
      axes.resize(static_cast<std::size_t>(op.rank(0)));
      std::iota(axes.begin(), axes.end(), 0);
    }
  }
  axes = op.sorted_axes(std::move(axes), op.rank(0));
  return {
      op.emit(op.op(), {op.input(0)}, {{"axes", axes}, {"keepdims", op.get_int("keepdims", 1)}})};
}

Values arg_reduce(Operator& op) {
  return op.emit_same({op.input(0)}, {{"axis", op.axis(op.get_int("axis", 0), op.rank(0))}});
}

Values cumulative_sum(Operator& op) {
  const Ints axis = op.constant_ints(1, "axis");
  op.expect_count("axis", axis, 1);
  return op.emit_same({op.input(0)}, {{"axis", op.axis(axis[0], op.rank(0))}});
}

// Below opset 13 everything from `axis` on counts as one dimension.
Values softmax(Operator& op) {
  const Shape& shape = op.shape(0);
  if (op.rank(0) == 0) {
    throw op.error(Code::kShapeMismatch, "a scalar has no axis to normalise");
  }
  if (op.opset() >= 13) {
    return {
        op.emit(op.op(), {op.input(0)}, {{"axis", op.axis(op.get_int("axis", -1), op.rank(0))}})};
  }
  const std::int64_t given = op.get_int("axis", 1);
  const std::int64_t axis = given == op.rank(0) ? given : op.axis(given, op.rank(0));
  const auto at = shape.begin() + axis;
  const bool is_one_axis =
      axis < op.rank(0) &&
      std::all_of(at + 1, shape.end(), [](std::int64_t dim) { return dim == 1; });
  if (is_one_axis) return {op.emit(op.op(), {op.input(0)}, {{"axis", axis}})};
  const Shape flat{element_count(Shape(shape.begin(), at)), element_count(Shape(at, shape.end()))};
  const Shape original = shape;
  const ValueId flattened = op.reshape(op.input(0), flat);
  const ValueId result = op.emit(op.op(), {flattened}, {{"axis", std::int64_t{1}}});
  return {op.reshape(result, original)};
}

constexpr CanonicalEntry kEntries[] = {
    {"ReduceSum", reduce},       {"ReduceMean", reduce},   {"ReduceMax", reduce},
    {"ReduceMin", reduce},       {"ReduceProd", reduce},   {"ReduceL1", reduce},
    {"ReduceL2", reduce},        {"ReduceLogSum", reduce}, {"ReduceLogSumExp", reduce},
    {"ReduceSumSquare", reduce}, {"ArgMax", arg_reduce},   {"ArgMin", arg_reduce},
    {"CumSum", cumulative_sum},  {"Softmax", softmax},     {"LogSoftmax", softmax},
    {"Hardmax", softmax},
};

}  // namespace

std::span<const CanonicalEntry> canonical_reductions() { return kEntries; }

}  // namespace inlay
