#include "tests/graphs/onnx/model_builder.h"

#include <gtest/gtest.h>

#include <cctype>

#include "graphs/onnx/node_writer.h"

namespace inlay {
namespace {

void write_attribute(const Attribute& value, onnx::AttributeProto& out) {
  if (const auto* i = std::get_if<std::int64_t>(&value)) {
    out.set_type(onnx::AttributeProto::INT);
    out.set_i(*i);
  } else if (const auto* f = std::get_if<float>(&value)) {
    out.set_type(onnx::AttributeProto::FLOAT);
    out.set_f(*f);
  } else if (const auto* s = std::get_if<std::string>(&value)) {
    out.set_type(onnx::AttributeProto::STRING);
    out.set_s(*s);
  } else if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) {
    out.set_type(onnx::AttributeProto::INTS);
    out.mutable_ints()->Add(list->begin(), list->end());
  } else if (const auto* floats = std::get_if<std::vector<float>>(&value)) {
    out.set_type(onnx::AttributeProto::FLOATS);
    out.mutable_floats()->Add(floats->begin(), floats->end());
  } else if (const auto* tensor = std::get_if<Tensor>(&value)) {
    out.set_type(onnx::AttributeProto::TENSOR);
    write_tensor(*tensor, "", *out.mutable_t());
  }
}

}  // namespace

ModelBuilder::ModelBuilder(std::int64_t opset) {
  model.set_ir_version(8);
  model.add_opset_import()->set_version(opset);
  model.mutable_graph()->set_name("test");
}

ModelBuilder& ModelBuilder::input(const std::string& name, DType dtype,
                                  const std::vector<std::string>& dims) {
  onnx::ValueInfoProto& info = *model.mutable_graph()->add_input();
  info.set_name(name);
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(static_cast<int>(dtype));
  type.mutable_shape();
  for (const std::string& dim : dims) {
    auto& out = *type.mutable_shape()->add_dim();
    if (std::isdigit(static_cast<unsigned char>(dim[0])) != 0) {
      out.set_dim_value(std::stoll(dim));
    } else if (dim != "?") {
      out.set_dim_param(dim);
    }
  }
  return *this;
}

ModelBuilder& ModelBuilder::input(const std::string& name, DType dtype, const Shape& dims) {
  std::vector<std::string> texts;
  for (const std::int64_t dim : dims) texts.push_back(std::to_string(dim));
  return input(name, dtype, texts);
}

ModelBuilder& ModelBuilder::constant(const std::string& name, const Tensor& tensor) {
  write_tensor(tensor, name, *model.mutable_graph()->add_initializer());
  return *this;
}

ModelBuilder& ModelBuilder::output(const std::string& name) {
  model.mutable_graph()->add_output()->set_name(name);
  return *this;
}

onnx::NodeProto& ModelBuilder::node(const std::string& op, const std::vector<std::string>& inputs,
                                    const std::vector<std::string>& outputs,
                                    const Attributes& attributes) {
  onnx::NodeProto& node = *model.mutable_graph()->add_node();
  node.set_op_type(op);
  node.set_name("n_" + (outputs.empty() ? op : outputs[0]));
  for (const std::string& name : inputs) node.add_input(name);
  for (const std::string& name : outputs) node.add_output(name);
  for (const auto& [name, value] : attributes) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    write_attribute(value, attribute);
  }
  return node;
}

Imported ModelBuilder::import(const ImportOptions& options) const {
  return import_bytes(bytes(), options);
}

Attribute ints(std::initializer_list<std::int64_t> values) {
  return std::vector<std::int64_t>(values);
}

Attribute text(const char* value) { return std::string(value); }

Tensor ints_tensor(const std::vector<std::int64_t>& values) {
  return Tensor::from<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

Imported import_bytes(const std::string& bytes, const ImportOptions& options) {
  return import_onnx_bytes(std::as_bytes(std::span(bytes.data(), bytes.size())), "test.onnx", {},
                           options);
}

std::string import_error(const std::string& bytes, Code code, const ImportOptions& options) {
  try {
    import_bytes(bytes, options);
  } catch (const Error& error) {
    EXPECT_EQ(code_name(error.code()), std::string(code_name(code))) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "import did not fail";
  return "";
}

void expect_in(const std::string& part, const std::string& whole) {
  EXPECT_NE(whole.find(part), std::string::npos) << "'" << part << "' is not in: " << whole;
}

}  // namespace inlay
