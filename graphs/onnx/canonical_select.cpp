// Operators that pick elements by index: gathers, scatters, TopK, OneHot, Trilu, GridSample.
#include <fmt/format.h>

#include "graphs/onnx/operator.h"

namespace inlay {
namespace {

Values gather(Operator& op) {
  return op.emit_same(op.inputs(), {{"axis", op.axis(op.get_int("axis", 0), op.rank(0))}});
}

Values same(Operator& op) { return op.emit_same(op.inputs()); }

// Scatter is the first name of ScatterElements.
Values scatter_elements(Operator& op) {
  return {op.emit("ScatterElements", {op.input(0), op.input(1), op.input(2)},
                  {{"axis", op.axis(op.get_int("axis", 0), op.rank(0))},
                   {"reduction", op.get_string("reduction", "none")}})};
}

Values top_k(Operator& op) {
  const std::int64_t axis = op.axis(op.get_int("axis", -1), op.rank(0));
  std::int64_t k = op.get_int("k", 0);
  if (op.opset() >= 10) {
    const Ints given = op.constant_ints(1, "k");
    op.expect_count("k", given, 1);
    k = given[0];
  }
  return op.emit_outputs("TopK", {op.input(0)},
                         {{"axis", axis},
                          {"k", k},
                          {"largest", op.get_int("largest", 1)},
                          {"sorted", op.get_int("sorted", 1)}},
                         {op.is_wanted(0), op.is_wanted(1)});
}

Values one_hot(Operator& op) {
  const Ints depth = op.constant_ints(1, "depth");
  op.expect_count("depth", depth, 1);
  return {
      op.emit("OneHot", {op.input(0), op.input(2)},
              {{"axis", op.axis(op.get_int("axis", -1), op.rank(0) + 1)}, {"depth", depth[0]}})};
}

Values trilu(Operator& op) {
  std::int64_t k = 0;
  if (op.has_input(1)) {
    const Ints given = op.constant_ints(1, "k");
    op.expect_count("k", given, 1);
    k = given[0];
  }
  return {op.emit("Trilu", {op.input(0)}, {{"upper", op.get_int("upper", 1)}, {"k", k}})};
}

// Opset 20 renamed the modes.
Values grid_sample(Operator& op) {
  std::string mode = op.get_string("mode", "linear");
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  return op.emit_same(op.inputs(), {{"mode", mode}});
}

constexpr CanonicalEntry kEntries[] = {
    {"Gather", gather},
    {"GatherElements", gather},
    {"GatherND", same},
    {"ScatterElements", scatter_elements},
    {"Scatter", scatter_elements},
    {"ScatterND", same},
    {"TopK", top_k},
    {"OneHot", one_hot},
    {"Trilu", trilu},
    {"GridSample", grid_sample},
};

}  // namespace

std::span<const CanonicalEntry> canonical_selections() { return kEntries; }

}  // namespace inlay
