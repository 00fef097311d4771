// The few operators of domain com.microsoft that have a form in canonical ones.
#include <fmt/format.h>

#include "graphs/onnx/operator.h"

namespace inlay {
namespace {

Values gelu(Operator& op) {
  return {op.emit("Gelu", {op.input(0)}, {{"approximate", std::string("none")}})};
}

Values fast_gelu(Operator& op) {
  ValueId x = op.input(0);
  if (op.has_input(1)) x = op.emit("Add", {x, op.input(1)});
  return {op.emit("Gelu", {x}, {{"approximate", std::string("tanh")}})};
}

Values bias_gelu(Operator& op) {
  const ValueId x = op.emit("Add", {op.input(0), op.input(1)});
  return {op.emit("Gelu", {x}, {{"approximate", std::string("none")}})};
}

Values quick_gelu(Operator& op) {
  return {op.emit("Swish", {op.input(0)}, {{"alpha", op.get_float("alpha", 1.702f)}})};
}

constexpr CanonicalEntry kEntries[] = {
    {"Gelu", gelu},
    {"FastGelu", fast_gelu},
    {"BiasGelu", bias_gelu},
    {"QuickGelu", quick_gelu},
};

}  // namespace

std::span<const CanonicalEntry> canonical_microsoft() { return kEntries; }

}  // namespace inlay
