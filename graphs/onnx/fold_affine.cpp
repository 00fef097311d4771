#include "graphs/onnx/fold_affine.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "graphs/onnx/operator.h"
#include "graphs/onnx/sole_producer.h"

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

// The largest finite and the smallest normal number of a type that weights come in.
std::pair<double, double> range_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return {std::numeric_limits<double>::max(), std::numeric_limits<double>::min()};
    case DType::kF16:
      return {65504.0, 6.103515625e-05};
    default:  // bf16 has the exponents of f32
      return {std::numeric_limits<float>::max(), std::numeric_limits<float>::min()};
  }
}

bool fits(const Doubles& numbers, DType dtype) {
  const double most = range_of(dtype).first;
  return std::all_of(numbers.begin(), numbers.end(),
                     [most](double n) { return std::abs(n) <= most; });
}

bool is_imprecise(double number, DType dtype) { return std::abs(number) < range_of(dtype).second; }

// The parts of a weight that meet one output, or one input: equally long runs of its numbers.
struct Parts {
  std::vector<std::int64_t> of_run;
  std::size_t count;

  Doubles largest(const Doubles& numbers) const {
    Doubles most(count, 0.0);
    const std::size_t length = of_run.empty() ? 0 : numbers.size() / of_run.size();
    for (std::size_t i = 0; i < length * of_run.size(); ++i) {
      double& largest = most[static_cast<std::size_t>(of_run[i / length])];
      largest = std::max(largest, std::abs(numbers[i]));
    }
    return most;
  }
};

Parts each_apart(std::size_t count) {
  Parts parts{std::vector<std::int64_t>(count), count};
  std::iota(parts.of_run.begin(), parts.of_run.end(), 0);
  return parts;
}

// Whether a weight that was `before` may become `after`: no number becomes infinite, and no part of
// it too small to be precise (subnormal) as a whole. Beside a larger number of its part, one that
// does errs by no more than the larger one is rounded by.
//   is_dead  parts that may vanish: what scales them was imprecise before
bool keeps_precision(const Parts& parts, const Doubles& before, const Doubles& after, DType dtype,
                     const std::vector<bool>& is_dead) {
  if (!fits(after, dtype)) return false;
  const Doubles had = parts.largest(before);
  const Doubles has = parts.largest(after);
  for (std::size_t p = 0; p < parts.count; ++p) {
    if (is_imprecise(has[p], dtype) && !is_imprecise(had[p], dtype) && !is_dead[p]) return false;
  }
  return true;
}

// Channels whose shift hides what is lost of a vanishing weight, for inputs up to about a million:
// networks have channels as good as dead, which give their shift.
std::vector<bool> are_shifts(const Doubles& shift, DType dtype) {
  constexpr double kLargestInput = 1 << 20;
  std::vector<bool> hides;
  for (const double s : shift) hides.push_back(!is_imprecise(s / kLargestInput, dtype));
  return hides;
}

std::vector<bool> either(std::vector<bool> a, const std::vector<bool>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = a[i] || b[i];
  return a;
}

bool is_convolution(const Node& node) { return node.op == "Conv" || node.op == "ConvTranspose"; }

// The output channel of each row and column of the weight, over its first two dimensions.
//   Conv           W[O, C/g, k…]
//   ConvTranspose  W[C, O/g, k…]; C/g rows in a row belong to one group
//   Gemm           B[K, N], or B[N, K] if transB
std::vector<std::int64_t> channels_of(const Node& node, const Shape& weight) {
  const bool by_row = node.op == "Conv" || get_int(node.attributes, "transB", 0) != 0;
  const std::int64_t rows_per_group = weight[0] / get_int(node.attributes, "group", 1);
  std::vector<std::int64_t> channels;
  for (std::int64_t row = 0; row < weight[0]; ++row) {
    const std::int64_t first = node.op == "Gemm" ? 0 : row / rows_per_group * weight[1];
    for (std::int64_t column = 0; column < weight[1]; ++column) {
      channels.push_back(by_row ? row : first + column);
    }
  }
  return channels;
}

// The input channel of each row and column of a Conv's weight.
std::vector<std::int64_t> input_channels_of(const Node& conv, const Shape& weight) {
  const std::int64_t rows_per_group = weight[0] / get_int(conv.attributes, "group", 1);
  std::vector<std::int64_t> channels;
  for (std::int64_t row = 0; row < weight[0]; ++row) {
    for (std::int64_t column = 0; column < weight[1]; ++column) {
      channels.push_back(row / rows_per_group * weight[1] + column);
    }
  }
  return channels;
}

bool is_arithmetic(const Node& node) {
  return node.op == "Add" || node.op == "Sub" || node.op == "Mul" || node.op == "Div";
}

// A node with a weight and a bias whose output has its channels second.
bool has_channels(const Node& node) { return is_convolution(node) || node.op == "Gemm"; }

// y = factor · x + shift, a number each per channel.
struct Affine {
  Doubles factor;
  Doubles shift;
  std::vector<bool> is_dead;  // the factor was given as a number too small to be precise, or as 0
};

bool has_other_than(const Doubles& numbers, double neutral) {
  return std::any_of(numbers.begin(), numbers.end(), [&](double n) { return n != neutral; });
}

class AffineFolder {
 public:
  explicit AffineFolder(Draft& draft) : draft_(draft), producers_(draft) {}

  void run() {
    const std::size_t count = draft_.nodes.size();
    for (std::size_t i = 0; i < count; ++i) {
      Node& node = draft_.nodes[i];
      if (node.op == "BatchNormalization") fold_batch_norm(node);
      if (is_arithmetic(node)) fold_after(node);
      if (node.op == "Conv") {
        while (fold_before(node)) {
        }
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      Node& node = draft_.nodes[i];
      if (node.op == "Add" || node.op == "Sub") recognize_batch_norm(node);
    }
  }

 private:
  // `into` takes over the output of `gone`.
  void absorb(Node& into, Node& gone, const char* kind) {
    draft_.rewrites.push_back({kind, {into.name, gone.name}, true});
    const ValueId output = gone.outputs[0];
    producers_.take_over(into.outputs[0], output);
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

  // Scales and then shifts what a node gives, per output channel. False, and nothing changes, if
  // its weight or bias is not constant or a number would not be finite.
  bool apply_after(Node& node, const Affine& affine) {
    const auto channels = static_cast<std::int64_t>(affine.factor.size());
    const std::optional<Doubles> bias = bias_of(node, channels);
    if (!bias) return false;
    const bool scales = has_other_than(affine.factor, 1);
    const bool has_bias = node.inputs.size() >= 3 || has_other_than(affine.shift, 0);
    const Tensor* weight = draft_.constant(node.inputs[1]);
    if (scales && (weight == nullptr || !is_float(weight->dtype()))) return false;
    Doubles new_bias(affine.factor.size());
    for (std::size_t c = 0; c < new_bias.size(); ++c) {
      new_bias[c] = (*bias)[c] * affine.factor[c] + affine.shift[c];
      // A factor that is not a number would spread from one channel's zeros to its weight.
      if (!std::isfinite(affine.factor[c])) return false;
    }
    const DType dtype = draft_.type(node.inputs[1]).dtype;
    if (!fits(new_bias, dtype)) return false;
    if (scales) {
      Doubles scaled = to_doubles(*weight);
      const std::vector<std::int64_t> channel = channels_of(node, weight->shape());
      const std::size_t inner = channel.empty() ? 1 : scaled.size() / channel.size();
      for (std::size_t i = 0; i < channel.size(); ++i) {
        const double factor = affine.factor[static_cast<std::size_t>(channel[i])];
        for (std::size_t k = i * inner; k < (i + 1) * inner; ++k) scaled[k] *= factor;
      }
      const Parts outputs{channel, affine.factor.size()};
      if (!keeps_precision(outputs, to_doubles(*weight), scaled, dtype,
                           either(affine.is_dead, are_shifts(new_bias, dtype)))) {
        return false;
      }
      const TensorType type = weight->type();
      node.inputs[1] = new_constant(type, scaled, node.name + ".weight");
    }
    if (has_bias) {
      node.inputs.resize(3);
      node.inputs[2] = new_constant({dtype, {channels}}, new_bias, node.name + ".bias");
      if (node.op == "Gemm") node.attributes["beta"] = 1.0f;
    }
    return true;
  }

  void fold_batch_norm(Node& norm) {
    Node* node = producers_.find(norm.inputs[0]);
    if (node == nullptr || !has_channels(*node)) return;
    Doubles parameters[4];
    for (std::size_t i = 0; i < 4; ++i) {
      const Tensor* tensor = draft_.constant(norm.inputs[i + 1]);
      if (tensor == nullptr) return;
      parameters[i] = to_doubles(*tensor);
    }
    const auto& [scale, shift, mean, variance] = parameters;
    const auto epsilon = static_cast<double>(get_float(norm.attributes, "epsilon", 1e-5f));
    Affine affine;
    for (std::size_t c = 0; c < scale.size(); ++c) {
      const double factor = scale[c] / std::sqrt(variance[c] + epsilon);
      affine.factor.push_back(factor);
      affine.shift.push_back(shift[c] - mean[c] * factor);
      affine.is_dead.push_back(is_imprecise(scale[c], draft_.type(norm.inputs[1]).dtype));
    }
    if (apply_after(*node, affine)) absorb(*node, norm, "fold-batch-norm");
  }

  // What the node does to operand `side`, whose type it keeps, if the other is a constant of one
  // number a channel; empty if that is not what it does.
  std::optional<Affine> affine_of(const Node& node, std::size_t side) const {
    const Tensor* tensor = draft_.constant(node.inputs[1 - side]);
    const TensorType& type = draft_.type(node.inputs[side]);
    if (tensor == nullptr || !is_float(type.dtype) || type.shape.size() < 2) return std::nullopt;
    if (draft_.type(node.outputs[0]) != type || tensor->shape().size() > type.shape.size()) {
      return std::nullopt;
    }
    // Aligned at the end; only the channel dimension, which stands second, may be more than 1.
    const std::size_t first = type.shape.size() - tensor->shape().size();
    for (std::size_t i = 0; i < tensor->shape().size(); ++i) {
      if (tensor->shape()[i] != 1 && i + first != 1) return std::nullopt;
    }
    const auto channels = static_cast<std::size_t>(type.shape[1]);
    Doubles numbers = to_doubles(*tensor);
    if (numbers.size() == 1) numbers.assign(channels, numbers[0]);
    Affine affine{Doubles(channels, 1.0), Doubles(channels, 0.0),
                  std::vector<bool>(channels, false)};
    if (node.op == "Add") affine.shift = numbers;
    if (node.op == "Mul") {
      affine.factor = numbers;
      for (std::size_t c = 0; c < channels; ++c) {
        affine.is_dead[c] = is_imprecise(numbers[c], type.dtype);
      }
    }
    if (node.op == "Sub") {
      if (side == 1) affine.factor.assign(channels, -1.0);
      affine.shift = numbers;
      if (side == 0) {
        for (double& number : affine.shift) number = -number;
      }
    }
    if (node.op == "Div") {
      if (side == 1) return std::nullopt;
      for (std::size_t c = 0; c < channels; ++c) affine.factor[c] = 1.0 / numbers[c];
    }
    return affine;
  }

  static const char* kind_of(const Node& node) {
    return node.op == "Mul" || node.op == "Div" ? "fold-scale" : "fold-bias";
  }

  void fold_after(Node& node) {
    for (const std::size_t side : {0u, 1u}) {
      Node* before = producers_.find(node.inputs[side]);
      if (before == nullptr) continue;
      const bool is_norm = before->op == "BatchNormalization";
      if (!is_norm && !has_channels(*before)) continue;
      const std::optional<Affine> affine = affine_of(node, side);
      if (!affine) continue;
      if (!(is_norm ? apply_to_norm(*before, *affine) : apply_after(*before, *affine))) continue;
      absorb(*before, node, kind_of(node));
      return;
    }
  }

  bool apply_to_norm(Node& norm, const Affine& affine) {
    const Tensor* scale = draft_.constant(norm.inputs[1]);
    const Tensor* bias = draft_.constant(norm.inputs[2]);
    if (scale == nullptr || bias == nullptr || !is_float(scale->dtype())) return false;
    Doubles new_scale = to_doubles(*scale);
    Doubles new_bias = to_doubles(*bias);
    for (std::size_t c = 0; c < new_scale.size(); ++c) {
      new_scale[c] *= affine.factor[c];
      new_bias[c] = new_bias[c] * affine.factor[c] + affine.shift[c];
    }
    if (!fits(new_bias, bias->dtype()) ||
        !keeps_precision(each_apart(new_scale.size()), to_doubles(*scale), new_scale,
                         scale->dtype(),
                         either(affine.is_dead, are_shifts(new_bias, scale->dtype())))) {
      return false;
    }
    norm.inputs[1] = new_constant(TensorType(scale->type()), new_scale, norm.name + ".scale");
    norm.inputs[2] = new_constant(TensorType(bias->type()), new_bias, norm.name + ".bias");
    return true;
  }

  bool is_per_channel(ValueId id, std::int64_t channels) const {
    return element_count(draft_.type(id).shape) == channels;
  }

  // A product and a sum by constants, at least one of them a number per channel, that nothing took
  // in: a batch normalization of mean 0 and variance 1.
  void recognize_batch_norm(Node& add) {
    const std::size_t side = draft_.constant(add.inputs[0]) == nullptr ? 0 : 1;
    Node* product = producers_.find(add.inputs[side]);
    if (product == nullptr || (product->op != "Mul" && product->op != "Div")) return;
    const std::size_t inner = draft_.constant(product->inputs[0]) == nullptr ? 0 : 1;
    const std::optional<Affine> outer_affine = affine_of(add, side);
    const std::optional<Affine> inner_affine = affine_of(*product, inner);
    if (!outer_affine || !inner_affine) return;
    const auto channels = static_cast<std::int64_t>(inner_affine->factor.size());
    if (channels == 1 || !(is_per_channel(add.inputs[1 - side], channels) ||
                           is_per_channel(product->inputs[1 - inner], channels))) {
      return;
    }
    Doubles factor = inner_affine->factor;
    for (std::size_t c = 0; c < factor.size(); ++c) factor[c] *= outer_affine->factor[c];
    const TensorType type = {draft_.type(add.outputs[0]).dtype, {channels}};
    // A quotient's factor is no number of the file: it too may be too small.
    const Doubles precise(factor.size(), 1.0);
    if (!keeps_precision(
            each_apart(factor.size()), precise, factor, type.dtype,
            either(inner_affine->is_dead, are_shifts(outer_affine->shift, type.dtype))) ||
        !fits(outer_affine->shift, type.dtype)) {
      return;
    }
    const Doubles zeros(factor.size(), 0.0);
    const Doubles ones(factor.size(), 1.0);
    product->op = "BatchNormalization";
    product->attributes = {{"epsilon", 0.0f}};
    product->inputs = {product->inputs[inner], new_constant(type, factor, add.name + ".scale"),
                       new_constant(type, outer_affine->shift, add.name + ".bias"),
                       new_constant(type, zeros, add.name + ".mean"),
                       new_constant(type, ones, add.name + ".var")};
    absorb(*product, add, "recognize-batch-norm");
  }

  // The last factor of a GELU or hard-swish written out stays with it, for it to be recognised.
  bool is_product_of_two(ValueId id) {
    const Node* node = producers_.find(id);
    return node != nullptr && node->op == "Mul" && draft_.constant(node->inputs[0]) == nullptr &&
           draft_.constant(node->inputs[1]) == nullptr;
  }

  // What is done to each input channel of a Conv goes into its weight; an addition only where no
  // padding is, for padding is not added to.
  bool fold_before(Node& conv) {
    Node* node = producers_.find(conv.inputs[0]);
    if (node == nullptr || !is_arithmetic(*node)) return false;
    const std::size_t side = draft_.constant(node->inputs[0]) == nullptr ? 0 : 1;
    if (is_product_of_two(node->inputs[side])) return false;
    const std::optional<Affine> affine = affine_of(*node, side);
    const Tensor* weight = draft_.constant(conv.inputs[1]);
    if (!affine || weight == nullptr || !is_float(weight->dtype())) return false;
    const bool shifts = has_other_than(affine->shift, 0);
    const std::vector<std::int64_t> pads = get_ints(conv.attributes, "pads", {});
    if (shifts && std::any_of(pads.begin(), pads.end(), [](auto p) { return p != 0; }))
      return false;

    const Shape& shape = weight->shape();
    const std::vector<std::int64_t> channel = input_channels_of(conv, shape);
    Doubles scaled = to_doubles(*weight);
    const std::size_t inner = channel.empty() ? 1 : scaled.size() / channel.size();
    const auto outputs = static_cast<std::size_t>(shape[0]);
    const std::vector<bool> no_output(outputs, false);
    Affine sums{Doubles(outputs, 1.0), Doubles(outputs, 0.0), no_output};
    for (std::size_t i = 0; i < channel.size(); ++i) {
      const double factor = affine->factor[static_cast<std::size_t>(channel[i])];
      const double shift = affine->shift[static_cast<std::size_t>(channel[i])];
      if (!std::isfinite(factor)) return false;
      double& sum = sums.shift[i / static_cast<std::size_t>(shape[1])];
      for (std::size_t k = i * inner; k < (i + 1) * inner; ++k) {
        sum += scaled[k] * shift;
        scaled[k] *= factor;
      }
    }
    const TensorType type = weight->type();
    const Doubles unscaled = to_doubles(*weight);
    if (!keeps_precision({channel, affine->factor.size()}, unscaled, scaled, type.dtype,
                         affine->is_dead) ||
        !keeps_precision(each_apart(outputs), unscaled, scaled, type.dtype, no_output)) {
      return false;
    }
    if (!apply_after(conv, sums)) return false;
    if (has_other_than(affine->factor, 1)) {
      conv.inputs[1] = new_constant(type, scaled, conv.name + ".weight");
    }
    draft_.rewrites.push_back({kind_of(*node), {node->name, conv.name}, true});
    conv.inputs[0] = node->inputs[side];
    node->op.clear();
    return true;
  }

  Draft& draft_;
  SoleProducers producers_;
};

}  // namespace

void fold_affine(Draft& draft) { AffineFolder(draft).run(); }

}  // namespace inlay
