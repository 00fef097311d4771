#include "graphs/onnx/node_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "graphs/onnx/export_opset.h"
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

NodeWriter::NodeWriter(const Graph& graph, std::int64_t opset, onnx::GraphProto& out)
    : graph_(graph), opset_(opset), out_(out) {
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
  for (const auto& [name, value] : attributes_of_opset(node, attributes, opset_)) {
    onnx::AttributeProto& attribute = *out.add_attribute();
    attribute.set_name(name);
    std::visit(AttributeWriter{attribute}, value);
  }
}

std::string NodeWriter::add_inner(const Node& node, std::string_view op, const Names& inputs,
                                  const Attributes& attributes) {
  const std::string name = fresh_name(fmt::format("{}/{}", node.name, op));
  add(node, op, inputs, {name}, attributes);
  out_.mutable_node()->rbegin()->set_name(name);
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
  if (write_body(node) || write_moved_parameters(node)) return;
  check_opset(node, opset_);
  add(node, node.op, input_names(node), output_names(node), node.attributes);
}

// Operators whose parameters ONNX has elsewhere: most as operands.
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
    const Reduction reduction = reduce(node, inputs[0], get_ints(node.attributes, "axes", {}));
    add(node, node.op, reduction.inputs, output_names(node), reduction.attributes);
  } else if (node.op == "GridSample") {
    write_grid_sample(node);
  } else if (node.op == "QuantizeLinear" || node.op == "DequantizeLinear") {
    write_quantization(node);
  } else if (node.op == "LSTM" || node.op == "GRU" || node.op == "RNN") {
    write_recurrence(node);
  } else {
    return false;
  }
  return true;
}

// Axes are an operand of ReduceSum, and as of opset 18 of the others too.
NodeWriter::Reduction NodeWriter::reduce(const Node& node, const std::string& x, const Ints& axes) {
  Reduction result{{x}, {{"keepdims", get_int(node.attributes, "keepdims", 1)}}};
  if (opset_ >= 18 || node.op == "ReduceSum") {
    result.inputs.push_back(add_ints(node, "axes", axes));
    if (axes.empty()) result.attributes.emplace("noop_with_empty_axes", std::int64_t{1});
  } else if (axes.empty()) {
    throw unsupported(node, "to reduce nothing needs opset 18");
  } else {
    result.attributes.emplace("axes", axes);
  }
  return result;
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

void NodeWriter::write_grid_sample(const Node& node) {
  Attributes attributes = node.attributes;
  const std::string mode = get_string(attributes, "mode", "linear");
  if (opset_ < 20) {
    if (type(node.inputs[0]).shape.size() != 4) {
      throw unsupported(node, "other than two dimensions of space need opset 20");
    }
    attributes = without(std::move(attributes), {"mode"});
    attributes.emplace("mode", mode == "nearest" ? mode : "bi" + mode);
  }
  add(node, node.op, input_names(node), output_names(node), attributes);
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
