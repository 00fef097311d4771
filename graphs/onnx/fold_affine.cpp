#include "graphs/onnx/fold_affine.h"

#include <algorithm>
#include <cmath>

#include "graphs/onnx/operator.h"

namespace inlay {
namespace {

using Doubles = std::vector<double>;

Tensor from_doubles(const TensorType& type, const Doubles& values) {
  Tensor tensor = Tensor::zeros(type);
  std::byte* out = tensor.mutable_bytes().data();
  const std::size_t width = size_of(type.dtype);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (type.dtype == DType::kF64) {
      std::memcpy(out + i * width, &values[i], width);
      continue;
    }
    const auto narrow = static_cast<float>(values[i]);
    if (type.dtype == DType::kF32) {
      std::memcpy(out + i * width, &narrow, width);
      continue;
    }
    const std::uint16_t bits = type.dtype == DType::kF16 ? f32_to_f16(narrow) : f32_to_bf16(narrow);
    std::memcpy(out + i * width, &bits, width);
  }
  return tensor;
}

// Which of the two a node is.
bool is_convolution(const Node& node) { return node.op == "Conv" || node.op == "ConvTranspose"; }

// The output channel that element i of the weight contributes to.
//   Conv           W[O, C/g, k…]
//   ConvTranspose  W[C, O/g, k…]; C/g rows in a row belong to one group
//   Gemm           B[K, N], or B[N, K] if transB
std::int64_t channel_of(const Node& node, const Shape& weight, std::int64_t i) {
  const std::int64_t inner = element_count(Shape(weight.begin() + 2, weight.end()));
  const std::int64_t column = i / inner % weight[1];
  const std::int64_t row = i / inner / weight[1];
  if (node.op == "Conv") return row;
  if (node.op == "Gemm") return get_int(node.attributes, "transB", 0) != 0 ? row : column;
  const std::int64_t rows_per_group = weight[0] / get_int(node.attributes, "group", 1);
  return row / rows_per_group * weight[1] + column;
}

class AffineFolder {
 public:
  explicit AffineFolder(Draft& draft)
      : draft_(draft), readers_(draft.values.size(), 0), producer_(draft.values.size(), -1) {
    for (std::size_t i = 0; i < draft.nodes.size(); ++i) {
      for (const ValueId id : draft.nodes[i].inputs) {
        if (!id.is_none()) ++readers_[static_cast<std::size_t>(id.index)];
      }
      for (const ValueId id : draft.nodes[i].outputs) {
        if (!id.is_none()) producer_[static_cast<std::size_t>(id.index)] = static_cast<int>(i);
      }
    }
    for (const auto& [name, id] : draft.outputs) ++readers_[static_cast<std::size_t>(id.index)];
  }

  void run() {
    const std::size_t count = draft_.nodes.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (draft_.nodes[i].op == "BatchNormalization") fold_batch_norm(draft_.nodes[i]);
      if (draft_.nodes[i].op == "Add") fold_add(draft_.nodes[i]);
    }
  }

 private:
  // The node that gives a value which nothing else reads; null if there is none.
  Node* sole_producer(ValueId id) {
    const auto at = static_cast<std::size_t>(id.index);
    if (at >= producer_.size() || producer_[at] < 0 || readers_[at] != 1) return nullptr;
    Node& node = draft_.nodes[static_cast<std::size_t>(producer_[at])];
    return node.outputs.size() == 1 ? &node : nullptr;
  }

  // `into` takes over the output of `gone`.
  void absorb(Node& into, Node& gone, const char* kind) {
    draft_.rewrites.push_back({kind, {into.name, gone.name}, true});
    const ValueId output = gone.outputs[0];
    producer_[static_cast<std::size_t>(output.index)] =
        producer_[static_cast<std::size_t>(into.outputs[0].index)];
    into.outputs[0] = output;
    gone.op.clear();
  }

  ValueId new_constant(const TensorType& type, const Doubles& values, const std::string& name) {
    return draft_.add_constant(from_doubles(type, values), name);
  }

  // The bias of a node that has none, or that a Gemm takes once per column; empty if it is not
  // such.
  std::optional<Doubles> bias_of(const Node& node, std::int64_t channels) {
    if (node.inputs.size() < 3) return Doubles(static_cast<std::size_t>(channels), 0.0);
    const Tensor* tensor = draft_.constant(node.inputs[2]);
    if (tensor == nullptr) return std::nullopt;
    Doubles bias = to_doubles(*tensor);
    const Shape& shape = tensor->shape();
    if (bias.size() == 1) bias.assign(static_cast<std::size_t>(channels), bias[0]);
    const bool is_row = shape.empty() || shape.back() == element_count(shape);
    if (static_cast<std::int64_t>(bias.size()) != channels || !is_row) return std::nullopt;
    if (node.op == "Gemm") {
      for (double& b : bias) b *= static_cast<double>(get_float(node.attributes, "beta", 1));
    }
    return bias;
  }

  void fold_batch_norm(Node& norm) {
    Node* node = sole_producer(norm.inputs[0]);
    if (node == nullptr || !(is_convolution(*node) || node->op == "Gemm")) return;
    const Tensor* weight = draft_.constant(node->inputs[1]);
    if (weight == nullptr || !is_float(weight->dtype())) return;
    Doubles parameters[4];
    for (std::size_t i = 0; i < 4; ++i) {
      const Tensor* tensor = draft_.constant(norm.inputs[i + 1]);
      if (tensor == nullptr) return;
      parameters[i] = to_doubles(*tensor);
    }
    const auto& [scale, shift, mean, variance] = parameters;
    const auto channels = static_cast<std::int64_t>(scale.size());
    const std::optional<Doubles> bias = bias_of(*node, channels);
    if (!bias) return;

    const auto epsilon = static_cast<double>(get_float(norm.attributes, "epsilon", 1e-5f));
    Doubles factor(scale.size());
    Doubles new_bias(scale.size());
    for (std::size_t c = 0; c < factor.size(); ++c) {
      factor[c] = scale[c] / std::sqrt(variance[c] + epsilon);
      new_bias[c] = ((*bias)[c] - mean[c]) * factor[c] + shift[c];
      // A factor that is not a number would spread from one channel's zeros to its weight.
      if (!std::isfinite(factor[c]) || !std::isfinite(new_bias[c])) return;
    }
    Doubles new_weight = to_doubles(*weight);
    for (std::size_t i = 0; i < new_weight.size(); ++i) {
      new_weight[i] *= factor[static_cast<std::size_t>(
          channel_of(*node, weight->shape(), static_cast<std::int64_t>(i)))];
    }
    const TensorType weight_type = weight->type();
    node->inputs.resize(3);
    node->inputs[1] = new_constant(weight_type, new_weight, node->name + ".weight");
    node->inputs[2] = new_constant({weight_type.dtype, {channels}}, new_bias, node->name + ".bias");
    if (node->op == "Gemm") node->attributes["beta"] = 1.0f;
    absorb(*node, norm, "fold-batch-norm");
  }

  void fold_add(Node& add) {
    for (const std::size_t side : {0u, 1u}) {
      Node* node = sole_producer(add.inputs[side]);
      const Tensor* addend = draft_.constant(add.inputs[1 - side]);
      if (node == nullptr || addend == nullptr) continue;
      if (!is_convolution(*node) || node->inputs.size() != 2) continue;
      const Shape& output = draft_.type(add.inputs[side]).shape;
      const Shape& shape = addend->shape();
      if (shape.size() > output.size()) continue;
      // Aligned at the end; only the channel dimension, which stands second, may be more than 1.
      bool is_per_channel = true;
      const std::size_t first = output.size() - shape.size();
      for (std::size_t i = 0; i < shape.size(); ++i) {
        const bool may_span = i + first == 1 && shape[i] == output[1];
        is_per_channel = is_per_channel && (may_span || shape[i] == 1);
      }
      if (!is_per_channel) continue;
      Doubles bias = to_doubles(*addend);
      if (bias.size() == 1) bias.assign(static_cast<std::size_t>(output[1]), bias[0]);
      const DType dtype = addend->dtype();
      node->inputs.push_back(new_constant({dtype, {output[1]}}, bias, node->name + ".bias"));
      absorb(*node, add, "fold-bias");
      return;
    }
  }

  Draft& draft_;
  std::vector<int> readers_;
  std::vector<int> producer_;
};

}  // namespace

void fold_affine(Draft& draft) { AffineFolder(draft).run(); }

}  // namespace inlay
