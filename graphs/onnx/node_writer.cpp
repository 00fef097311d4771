#include "graphs/onnx/node_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "graphs/onnx/operator.h"

namespace inlay {
namespace {

Error unsupported(const Node& node, const std::string& text) {
  return Error(Code::kUnsupported, fmt::format("{} '{}': {}", node.op, node.name, text));
}

Attributes without(Attributes attributes, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (const auto it = attributes.find(name); it != attributes.end()) attributes.erase(it);
  }
  return attributes;
}

std::int64_t int_of(const Node& node, std::string_view name) {
  return get_int(node.attributes, name, 0);
}

struct AttributeWriter {
  onnx::AttributeProto& out;
  void operator()(std::int64_t value) const {
    out.set_type(onnx::AttributeProto::INT);
    out.set_i(value);
  }
  void operator()(float value) const {
    out.set_type(onnx::AttributeProto::FLOAT);
    out.set_f(value);
  }
  void operator()(const std::string& value) const {
    out.set_type(onnx::AttributeProto::STRING);
    out.set_s(value);
  }
  void operator()(const Ints& value) const {
    out.set_type(onnx::AttributeProto::INTS);
    out.mutable_ints()->Add(value.begin(), value.end());
  }
  void operator()(const Floats& value) const {
    out.set_type(onnx::AttributeProto::FLOATS);
    out.mutable_floats()->Add(value.begin(), value.end());
  }
  void operator()(const std::vector<std::string>& value) const {
    out.set_type(onnx::AttributeProto::STRINGS);
    for (const std::string& text : value) out.add_strings(text);
  }
  void operator()(const Tensor& value) const {
    out.set_type(onnx::AttributeProto::TENSOR);
    write_tensor(value, "", *out.mutable_t());
  }
};

}  // namespace

void write_tensor(const Tensor& tensor, const std::string& name, onnx::TensorProto& out) {
  out.set_name(name);
  out.set_data_type(static_cast<std::int32_t>(tensor.dtype()));
  for (const std::int64_t dim : tensor.shape()) out.add_dims(dim);
  out.set_raw_data(tensor.data(), tensor.size_bytes());
}

NodeWriter::NodeWriter(const Graph& graph, onnx::GraphProto& out) : graph_(graph), out_(out) {
  for (const Value& value : graph.values()) taken_.insert(value.name);
}

std::string NodeWriter::fresh_name(const std::string& stem) {
  std::string name = stem;
  for (int number = 1; !taken_.insert(name).second; ++number) {
    name = fmt::format("{}_{}", stem, number);
  }
  return name;
}

NodeWriter::Names NodeWriter::input_names(const Node& node) const {
  Names names;
  for (const ValueId id : node.inputs) names.push_back(id.is_none() ? "" : graph_.value(id).name);
  return names;
}

NodeWriter::Names NodeWriter::output_names(const Node& node) const {
  Names names;
  for (const ValueId id : node.outputs) names.push_back(id.is_none() ? "" : graph_.value(id).name);
  return names;
}

void NodeWriter::add(const Node& node, std::string_view op, const Names& inputs,
                     const Names& outputs, const Attributes& attributes) {
  onnx::NodeProto& out = *out_.add_node();
  out.set_name(node.name);
  out.set_op_type(std::string(op));
  for (const std::string& name : inputs) out.add_input(name);
  for (const std::string& name : outputs) out.add_output(name);
  for (const auto& [name, value] : attributes) {
    onnx::AttributeProto& attribute = *out.add_attribute();
    attribute.set_name(name);
    std::visit(AttributeWriter{attribute}, value);
  }
}

std::string NodeWriter::add_inner(const Node& node, std::string_view op, const Names& inputs,
                                  const Attributes& attributes) {
  const std::string name = fresh_name(fmt::format("{}/{}", node.name, op));
  add(node, op, inputs, {name}, attributes);
  return name;
}

std::string NodeWriter::add_tensor(const Node& node, std::string_view what, const Tensor& tensor) {
  const std::string name = fresh_name(fmt::format("{}/{}", node.name, what));
  write_tensor(tensor, name, *out_.add_initializer());
  return name;
}

std::string NodeWriter::add_ints(const Node& node, std::string_view what, const Ints& values) {
  return add_tensor(node, what,
                    Tensor::from<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
}

std::string NodeWriter::add_scalar(const Node& node, std::string_view what, DType dtype,
                                   double value) {
  return add_tensor(node, what, scalar_of(dtype, value));
}

void NodeWriter::write(const Node& node) {
  if (!node.domain.empty()) {
    throw unsupported(node, fmt::format("an operator of domain {} has no ONNX form", node.domain));
  }
  if (!node.bodies.empty()) throw unsupported(node, "nested graphs are not written");
  if (node.op == "Convert") throw unsupported(node, "a layout conversion has no ONNX form");
  if (write_moved_parameters(node) || write_decomposed(node)) return;
  add(node, node.op, input_names(node), output_names(node), node.attributes);
}

// Operators whose parameters are operands in ONNX.
bool NodeWriter::write_moved_parameters(const Node& node) {
  const auto move = [&](std::string_view name, const Names& before, const std::string& moved,
                        const Names& after = {}) {
    Names inputs = before;
    inputs.push_back(moved);
    inputs.insert(inputs.end(), after.begin(), after.end());
    add(node, node.op, inputs, output_names(node), without(node.attributes, {name}));
  };
  const Names inputs = input_names(node);
  const auto list = [&](std::string_view name) {
    return add_ints(node, name, get_ints(node.attributes, name, {}));
  };
  const auto number = [&](std::string_view name) {
    return add_scalar(node, name, DType::kI64, static_cast<double>(int_of(node, name)));
  };
  if (node.op == "Reshape" || node.op == "Expand") {
    write_reshape(node);
  } else if (node.op == "Slice") {
    write_slice(node);
  } else if (node.op == "Pad") {
    write_pad(node);
  } else if (node.op == "Clip") {
    write_clip(node);
  } else if (node.op == "Resize") {
    write_resize(node);
  } else if (node.op == "Split") {
    move("split", inputs, list("split"));
  } else if (node.op == "Tile") {
    move("repeats", inputs, list("repeats"));
  } else if (node.op == "CumSum") {
    move("axis", inputs, number("axis"));
  } else if (node.op == "Trilu") {
    move("k", inputs, number("k"));
  } else if (node.op == "TopK") {
    move("k", inputs, add_ints(node, "k", {int_of(node, "k")}));
  } else if (node.op == "OneHot") {
    move("depth", {inputs[0]}, number("depth"), {inputs[1]});
  } else if (node.op.starts_with("Reduce")) {
    Attributes attributes = without(node.attributes, {"axes"});
    if (get_ints(node.attributes, "axes", {}).empty()) {
      attributes.emplace("noop_with_empty_axes", std::int64_t{1});
    }
    add(node, node.op, {inputs[0], list("axes")}, output_names(node), attributes);
  } else {
    return false;
  }
  return true;
}

// Operators that opset 20 lacks, or has with other parameters.
bool NodeWriter::write_decomposed(const Node& node) {
  if (node.op == "Swish") {
    write_swish(node);
  } else if (node.op == "RMSNormalization") {
    write_rms_normalization(node);
  } else if (node.op == "GroupNormalization") {
    write_group_normalization(node);
  } else if (node.op == "QuantizeLinear" || node.op == "DequantizeLinear") {
    write_quantization(node);
  } else if (node.op == "LSTM" || node.op == "GRU" || node.op == "RNN") {
    write_recurrence(node);
  } else {
    return false;
  }
  return true;
}

void NodeWriter::write_reshape(const Node& node) {
  const Shape& target = type(node.outputs[0]).shape;
  Attributes attributes = node.attributes;
  const bool has_zero = std::find(target.begin(), target.end(), 0) != target.end();
  if (node.op == "Reshape" && has_zero) attributes.emplace("allowzero", std::int64_t{1});
  add(node, node.op, {input_names(node)[0], add_ints(node, "shape", target)}, output_names(node),
      attributes);
}

void NodeWriter::write_slice(const Node& node) {
  Ints ends = get_ints(node.attributes, "ends", {});
  // Before the first element, where a step goes down; -1 would mean the last one in ONNX.
  for (std::int64_t& end : ends) {
    if (end < 0) end = std::numeric_limits<std::int64_t>::min();
  }
  const auto list = [&](std::string_view name) {
    return add_ints(node, name, get_ints(node.attributes, name, {}));
  };
  add(node, "Slice",
      {input_names(node)[0], list("starts"), add_ints(node, "ends", ends), list("axes"),
       list("steps")},
      output_names(node), {});
}

void NodeWriter::write_pad(const Node& node) {
  Names inputs = input_names(node);
  const std::string pads = add_ints(node, "pads", get_ints(node.attributes, "pads", {}));
  const float value = get_float(node.attributes, "value", 0);
  if (inputs.size() == 1 && value != 0.0f) {
    inputs.push_back(
        add_scalar(node, "value", type(node.inputs[0]).dtype, static_cast<double>(value)));
  }
  inputs.insert(inputs.begin() + 1, pads);
  add(node, "Pad", inputs, output_names(node), without(node.attributes, {"pads", "value"}));
}

void NodeWriter::write_clip(const Node& node) {
  Names inputs = input_names(node);
  for (const char* name : {"min", "max"}) {
    if (!has(node.attributes, "min") && !has(node.attributes, "max")) break;
    const float bound = get_float(node.attributes, name, 0);
    inputs.push_back(has(node.attributes, name) ? add_scalar(node, name, type(node.inputs[0]).dtype,
                                                             static_cast<double>(bound))
                                                : "");
  }
  while (inputs.back().empty()) inputs.pop_back();
  add(node, "Clip", inputs, output_names(node), without(node.attributes, {"min", "max"}));
}

// By scales where they give the output's shape, else by sizes, whose scales are then the quotients.
void NodeWriter::write_resize(const Node& node) {
  const Shape& from = type(node.inputs[0]).shape;
  const Shape& to = type(node.outputs[0]).shape;
  const Floats scales = get_floats(node.attributes, "scales", {});
  const Floats roi = get_floats(node.attributes, "roi", {});
  bool by_scales = true;
  bool by_sizes = true;
  for (std::size_t i = 0; i < from.size(); ++i) {
    float scale = scales[i];
    if (!roi.empty()) scale *= roi[i + from.size()] - roi[i];
    const auto in = static_cast<float>(from[i]);
    by_scales = by_scales && std::floor(in * scale) == static_cast<float>(to[i]);
    by_sizes = by_sizes && static_cast<float>(to[i]) / in == scales[i];
  }
  if (!by_scales && !by_sizes) {
    throw unsupported(node, "its scales and its output's shape do not follow from each other");
  }
  Names inputs = input_names(node);
  const auto floats = [&](std::string_view what, const Floats& values) {
    return add_tensor(node, what,
                      Tensor::from<float>({static_cast<std::int64_t>(values.size())}, values));
  };
  inputs.push_back(roi.empty() ? "" : floats("roi", roi));
  inputs.push_back(by_scales ? floats("scales", scales) : "");
  if (!by_scales) inputs.push_back(add_ints(node, "sizes", to));
  add(node, "Resize", inputs, output_names(node), without(node.attributes, {"scales", "roi"}));
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
  const TensorType& x = type(node.inputs[0]);
  Ints axes(x.shape.size() - static_cast<std::size_t>(int_of(node, "axis")));
  std::iota(axes.begin(), axes.end(), int_of(node, "axis"));
  const std::string square = add_inner(node, "Mul", {inputs[0], inputs[0]});
  const std::string mean = add_inner(node, "ReduceMean", {square, add_ints(node, "axes", axes)},
                                     {{"keepdims", std::int64_t{1}}});
  const double epsilon = static_cast<double>(get_float(node.attributes, "epsilon", 1e-5f));
  const std::string sum =
      add_inner(node, "Add", {mean, add_scalar(node, "epsilon", x.dtype, epsilon)});
  const std::string normal = add_inner(node, "Div", {inputs[0], add_inner(node, "Sqrt", {sum})});
  add(node, "Mul", {normal, inputs[1]}, output_names(node), {});
}

// In opset 20 scale and bias are per group. So each group is normalised as a channel of its own,
// then scaled per channel.
void NodeWriter::write_group_normalization(const Node& node) {
  const Names inputs = input_names(node);
  const TensorType& x = type(node.inputs[0]);
  const std::int64_t groups = int_of(node, "num_groups");
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

void NodeWriter::write_quantization(const Node& node) {
  if (int_of(node, "block_size") != 0) throw unsupported(node, "blocks need opset 21");
  const bool is_quantize = node.op == "QuantizeLinear";
  const auto target =
      is_quantize ? static_cast<DType>(int_of(node, "to")) : type(node.inputs[0]).dtype;
  if (target == DType::kI16 || target == DType::kU16)
    throw unsupported(node, "16 bits need opset 21");
  Names inputs = input_names(node);
  if (is_quantize && inputs.size() == 2 && target != DType::kU8) {
    inputs.push_back(
        add_tensor(node, "zero_point", Tensor::zeros({target, type(node.inputs[1]).shape})));
  }
  add(node, node.op, inputs, output_names(node), without(node.attributes, {"block_size", "to"}));
}

void NodeWriter::write_recurrence(const Node& node) {
  Attributes attributes = node.attributes;
  for (const char* name : {"activation_alpha", "activation_beta"}) {
    if (get_floats(attributes, name, {}).empty())
      attributes = without(std::move(attributes), {name});
  }
  if (get_float(attributes, "clip", 0) == 0.0f)
    attributes = without(std::move(attributes), {"clip"});
  add(node, node.op, input_names(node), output_names(node), attributes);
}

}  // namespace inlay
