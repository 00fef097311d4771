#include "plugins/openblas/epilogue.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <string>

namespace inlay::openblas {

namespace {

using Kind = Activation::Kind;

std::optional<Activation> find_activation(const sdk::NodeView& node) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (node.op() == "Relu") return Activation{Kind::kRelu};
  if (node.op() == "LeakyRelu") return Activation{Kind::kLeakyRelu, node.get_float("alpha", 0.01f)};
  if (node.op() == "Clip" && node.input(1) < 0 && node.input(2) < 0) {
    return Activation{Kind::kClip, node.get_float("min", -kInfinity),
                      node.get_float("max", kInfinity)};
  }
  if (node.op() == "Sigmoid") return Activation{Kind::kSigmoid};
  if (node.op() == "Tanh") return Activation{Kind::kTanh};
  if (node.op() == "Gelu") {
    const bool is_tanh = node.get_string("approximate", "none") == "tanh";
    return Activation{is_tanh ? Kind::kGeluTanh : Kind::kGelu};
  }
  return std::nullopt;
}

template <typename Function>
void map_row(float* row, std::int64_t count, const Function& function) {
  for (std::int64_t i = 0; i < count; ++i) row[i] = function(row[i]);
}

float gelu_tanh(float x) {
  // Hendrycks, Gimpel: Gaussian Error Linear Units, 2016, section 2.
  constexpr float kScale = 0.7978845608f;  // sqrt(2 / pi)
  return 0.5f * x * (1 + std::tanh(kScale * (x + 0.044715f * x * x * x)));
}

// The comparisons are such that NaN stays NaN.
void activate_row(const Activation& activation, float* row, std::int64_t count) {
  const float low = activation.low, high = activation.high;
  switch (activation.kind) {
    case Kind::kNone:
      return;
    case Kind::kRelu:
      return map_row(row, count, [](float x) { return x < 0 ? 0.f : x; });
    case Kind::kLeakyRelu:
      return map_row(row, count, [=](float x) { return x < 0 ? low * x : x; });
    case Kind::kClip:
      return map_row(row, count, [=](float x) {
        const float raised = x < low ? low : x;
        return raised > high ? high : raised;
      });
    case Kind::kSigmoid:
      return map_row(row, count, [](float x) { return 1 / (1 + std::exp(-x)); });
    case Kind::kTanh:
      return map_row(row, count, [](float x) { return std::tanh(x); });
    case Kind::kGelu:
      return map_row(row, count, [](float x) {
        return 0.5f * x * (1 + std::erf(x * (std::numbers::sqrt2_v<float> / 2)));
      });
    case Kind::kGeluTanh:
      return map_row(row, count, gelu_tanh);
  }
}

void add_row(float* __restrict row, std::int64_t count, const float* __restrict addend,
             std::int64_t step, float scale) {
  if (step == 0) {
    const float value = scale * addend[0];
    for (std::int64_t i = 0; i < count; ++i) row[i] += value;
  } else if (step == 1 && scale == 1) {
    for (std::int64_t i = 0; i < count; ++i) row[i] += addend[i];
  } else {
    for (std::int64_t i = 0; i < count; ++i) row[i] += scale * addend[i * step];
  }
}

}  // namespace

Operand locate(const sdk::RegionView& region, const sdk::ValueView& value) {
  if (value.is_constant()) return {value.constant().as<float>(), -1};
  const int position = region.input_position(value.index());
  if (position < 0)
    throw sdk::Decline("value '" + std::string(value.name()) + "' is inside the region");
  return {nullptr, position};
}

void Epilogue::read(const sdk::RegionView& region, int main,
                    const std::function<Placing(const sdk::ValueView&)>& place) {
  int previous = region.node(main).outputs()[0];
  for (int i = main + 1; i < region.node_count(); ++i) {
    const sdk::NodeView node = region.node(i);
    if (activation_.kind != Kind::kNone) throw sdk::Decline("an operator after the activation");
    if (node.op() == "Add") {
      const bool is_second = node.input(1) == previous;
      if (is_second == (node.input(0) == previous)) {
        throw sdk::Decline("Add does not take the value before it once");
      }
      const sdk::ValueView other = region.value(node.input(is_second ? 0 : 1));
      add({locate(region, other), 1, place(other)});
    } else if (const auto activation = find_activation(node);
               activation && node.input(0) == previous) {
      activation_ = *activation;
    } else {
      throw sdk::Decline("no epilogue for " + std::string(node.op()));
    }
    previous = node.outputs()[0];
  }
}

void Epilogue::apply(const Block& block, float* c, std::int64_t ldc,
                     std::span<const sdk::TensorView> inputs, std::int64_t batch) const {
  if (addends_.empty() && activation_.kind == Kind::kNone) return;
  const std::int64_t columns = block.column_end - block.column_begin;
  for (std::int64_t row = block.row_begin; row < block.row_end; ++row) {
    float* target = c + row * ldc + block.column_begin;
    for (const Addend& addend : addends_) {
      const Placing& placing = addend.placing;
      const std::int64_t matrix =
          placing.matrices.empty() ? 0 : placing.matrices[static_cast<std::size_t>(batch)];
      const float* source = addend.operand.data(inputs) + matrix + row * placing.row +
                            block.column_begin * placing.column;
      add_row(target, columns, source, placing.column, addend.scale);
    }
    activate_row(activation_, target, columns);
  }
}

}  // namespace inlay::openblas
