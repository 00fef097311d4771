// Operators that an opset lacks, written out as the ones it has: as their ONNX function bodies or
// as exporters of that opset wrote them.
#include <cmath>
#include <numbers>
#include <numeric>

#include "graphs/onnx/node_writer.h"
#include "graphs/onnx/operator.h"

namespace inlay {

bool NodeWriter::write_body(const Node& node) {
  if (node.op == "Swish") {
    write_swish(node);
  } else if (node.op == "RMSNormalization") {
    write_rms_normalization(node);
  } else if (node.op == "GroupNormalization") {
    write_group_normalization(node);
  } else if (node.op == "Gelu" && opset_ < 20) {
    write_gelu(node);
  } else if (node.op == "Mish" && opset_ < 18) {
    write_mish(node);
  } else if (node.op == "LayerNormalization" && opset_ < 17) {
    write_layer_normalization(node);
  } else {
    return false;
  }
  return true;
}

// x · (1 + erf(x / sqrt(2))) · 0.5, or Hendrycks and Gimpel's approximation by tanh, with the cube
// as a power: as PyTorch's exporter writes them.
void NodeWriter::write_gelu(const Node& node) {
  const std::string x = input_names(node)[0];
  const auto scalar = [&](const char* what, double value) {
    return add_scalar(node, what, type(node.inputs[0]).dtype, value);
  };
  std::string inner;
  if (get_string(node.attributes, "approximate", "none") == "tanh") {
    const std::string cube = add_inner(node, "Pow", {x, scalar("three", 3)});
    const std::string term = add_inner(node, "Mul", {cube, scalar("cubic", 0.044715)});
    const std::string sum = add_inner(node, "Add", {x, term});
    const double scale = std::sqrt(2 / std::numbers::pi);
    inner = add_inner(node, "Tanh", {add_inner(node, "Mul", {sum, scalar("scale", scale)})});
  } else {
    inner = add_inner(node, "Erf",
                      {add_inner(node, "Div", {x, scalar("root_of_two", std::numbers::sqrt2)})});
  }
  const std::string sum = add_inner(node, "Add", {inner, scalar("one", 1)});
  const std::string product = add_inner(node, "Mul", {x, sum});
  add(node, "Mul", {product, scalar("half", 0.5)}, output_names(node), {});
}

// x · tanh(log(1 + e^x)).
void NodeWriter::write_mish(const Node& node) {
  const std::string x = input_names(node)[0];
  const std::string gate = add_inner(node, "Tanh", {add_inner(node, "Softplus", {x})});
  add(node, "Mul", {x, gate}, output_names(node), {});
}

// Over the dimensions from the attribute axis on, which stay as ones.
std::string NodeWriter::add_mean(const Node& node, const std::string& x) {
  const std::int64_t axis = get_int(node.attributes, "axis", 0);
  std::vector<std::int64_t> axes(type(node.inputs[0]).shape.size() -
                                 static_cast<std::size_t>(axis));
  std::iota(axes.begin(), axes.end(), axis);
  const Reduction mean = reduce(node, x, axes);
  return add_inner(node, "ReduceMean", mean.inputs, mean.attributes);
}

// sqrt(x + epsilon).
std::string NodeWriter::add_root(const Node& node, const std::string& x) {
  const double epsilon = static_cast<double>(get_float(node.attributes, "epsilon", 1e-5f));
  const std::string constant = add_scalar(node, "epsilon", type(node.inputs[0]).dtype, epsilon);
  return add_inner(node, "Sqrt", {add_inner(node, "Add", {x, constant})});
}

// d / sqrt(mean(d²) + epsilon) · scale + bias with d = x - mean(x), over the dimensions from axis
// on.
void NodeWriter::write_layer_normalization(const Node& node) {
  const Names inputs = input_names(node);
  const std::string d = add_inner(node, "Sub", {inputs[0], add_mean(node, inputs[0])});
  const std::string two = add_scalar(node, "two", type(node.inputs[0]).dtype, 2);
  const std::string variance = add_mean(node, add_inner(node, "Pow", {d, two}));
  const std::string normal = add_inner(node, "Div", {d, add_root(node, variance)});
  const bool has_bias = inputs.size() > 2 && !inputs[2].empty();
  if (!has_bias) {
    add(node, "Mul", {normal, inputs[1]}, output_names(node), {});
    return;
  }
  const std::string scaled = add_inner(node, "Mul", {normal, inputs[1]});
  add(node, "Add", {scaled, inputs[2]}, output_names(node), {});
}

void NodeWriter::write_swish(const Node& node) {
  const std::string x = input_names(node)[0];
  const float alpha = get_float(node.attributes, "alpha", 1);
  std::string inner = x;
  if (alpha != 1.0f) {
    inner = add_inner(
        node, "Mul",
        {x, add_scalar(node, "alpha", type(node.inputs[0]).dtype, static_cast<double>(alpha))});
  }
  add(node, "Mul", {x, add_inner(node, "Sigmoid", {inner})}, output_names(node), {});
}

// x / sqrt(mean(x²) + epsilon) · scale, over the dimensions from axis on.
void NodeWriter::write_rms_normalization(const Node& node) {
  const Names inputs = input_names(node);
  const std::string square = add_inner(node, "Mul", {inputs[0], inputs[0]});
  const std::string mean = add_mean(node, square);
  const std::string normal = add_inner(node, "Div", {inputs[0], add_root(node, mean)});
  add(node, "Mul", {normal, inputs[1]}, output_names(node), {});
}

// Up to opset 20 scale and bias are per group. So each group is normalised as a channel of its own,
// then scaled per channel.
void NodeWriter::write_group_normalization(const Node& node) {
  const Names inputs = input_names(node);
  const TensorType& x = type(node.inputs[0]);
  const std::int64_t groups = get_int(node.attributes, "num_groups", 1);
  const std::int64_t inner =
      x.shape[0] * groups == 0 ? 0 : element_count(x.shape) / (x.shape[0] * groups);
  const auto reshape = [&](const std::string& name, const Shape& shape) {
    return add_inner(node, "Reshape", {name, add_ints(node, "shape", shape)},
                     {{"allowzero", std::int64_t{1}}});
  };
  const std::string one = add_tensor(node, "ones", scalar_of(x.dtype, 1, {groups}));
  const std::string zero = add_tensor(node, "zeros", scalar_of(x.dtype, 0, {groups}));
  const std::string normal = add_inner(node, "InstanceNormalization",
                                       {reshape(inputs[0], {x.shape[0], groups, inner}), one, zero},
                                       {{"epsilon", get_float(node.attributes, "epsilon", 1e-5f)}});
  Shape per_channel(x.shape.size() - 1, 1);
  per_channel[0] = x.shape[1];
  const std::string scaled =
      add_inner(node, "Mul", {reshape(normal, x.shape), reshape(inputs[1], per_channel)});
  add(node, "Add", {scaled, reshape(inputs[2], per_channel)}, output_names(node), {});
}

}  // namespace inlay
