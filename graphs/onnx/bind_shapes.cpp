#include "graphs/onnx/bind_shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "graphs/onnx/tensor_proto.h"

namespace inlay {
namespace {

using Dimension = onnx::TensorShapeProto::Dimension;

struct Binding {
  std::int64_t size = 0;
  std::string input;
};
using Bindings = std::map<std::string, Binding>;

// Some exporters write "?" for every open dimension: not one symbol, but none.
bool has_symbol(const Dimension& dim) { return !dim.dim_param().empty() && dim.dim_param() != "?"; }

bool is_fixed(const Dimension& dim) { return dim.has_dim_value() && dim.dim_value() >= 0; }

const onnx::TypeProto::Tensor& tensor_type(const onnx::ValueInfoProto& input) {
  if (!input.has_type() || input.type().value_case() == onnx::TypeProto::VALUE_NOT_SET) {
    throw Error(Code::kCorrupt, fmt::format("input '{}' has no type", input.name()));
  }
  if (!input.type().has_tensor_type()) {
    throw Error(Code::kUnsupported, fmt::format("input '{}' is not a tensor", input.name()));
  }
  return input.type().tensor_type();
}

std::string declared(const onnx::TensorShapeProto& shape) {
  std::vector<std::string> dims;
  for (const Dimension& dim : shape.dim()) {
    dims.push_back(is_fixed(dim)      ? std::to_string(dim.dim_value())
                   : !has_symbol(dim) ? "?"
                                      : dim.dim_param());
  }
  return fmt::format("[{}]", fmt::join(dims, ", "));
}

// Checks a given shape against the declaration and takes the symbols' sizes from it.
void bind_input(const onnx::ValueInfoProto& input, const Shape& given, Bindings& bindings) {
  element_count(given);  // throws for a negative extent
  const auto& type = tensor_type(input);
  if (!type.has_shape()) return;
  const auto& shape = type.shape();
  const auto mismatch = [&] {
    return Error(Code::kInvalidArgument,
                 fmt::format("input '{}': the file declares {}, the shape given is {}",
                             input.name(), declared(shape), to_string(given)));
  };
  if (static_cast<std::size_t>(shape.dim_size()) != given.size()) throw mismatch();
  for (int i = 0; i < shape.dim_size(); ++i) {
    const Dimension& dim = shape.dim(i);
    const std::int64_t size = given[static_cast<std::size_t>(i)];
    if (is_fixed(dim) && dim.dim_value() != size) throw mismatch();
    if (is_fixed(dim) || !has_symbol(dim)) continue;
    const auto [it, is_new] = bindings.emplace(dim.dim_param(), Binding{size, input.name()});
    if (!is_new && it->second.size != size) {
      throw Error(
          Code::kInvalidArgument,
          fmt::format("dimension '{}' is {} in input '{}' and {} in input '{}'", dim.dim_param(),
                      it->second.size, it->second.input, size, input.name()));
    }
  }
}

// "1x3x?x?" with what is known filled in, to be completed by the user.
std::string suggestion(const onnx::TensorShapeProto& shape, const Bindings& bindings) {
  std::vector<std::string> dims;
  for (const Dimension& dim : shape.dim()) {
    const auto it = bindings.find(dim.dim_param());
    if (is_fixed(dim)) {
      dims.push_back(std::to_string(dim.dim_value()));
    } else {
      dims.push_back(it == bindings.end() ? "?" : std::to_string(it->second.size));
    }
  }
  return fmt::format("{}", fmt::join(dims, "x"));
}

Shape resolve(const onnx::ValueInfoProto& input, const Bindings& bindings) {
  const auto& type = tensor_type(input);
  if (!type.has_shape()) {
    throw Error(
        Code::kInvalidArgument,
        fmt::format("input '{0}' has no shape in the file: give --shape {0}=…", input.name()));
  }
  Shape shape;
  for (int i = 0; i < type.shape().dim_size(); ++i) {
    const Dimension& dim = type.shape().dim(i);
    const auto it = bindings.find(dim.dim_param());
    if (is_fixed(dim)) {
      shape.push_back(dim.dim_value());
    } else if (has_symbol(dim) && it != bindings.end()) {
      shape.push_back(it->second.size);
    } else {
      const std::string name =
          !has_symbol(dim) ? std::to_string(i) : fmt::format("'{}'", dim.dim_param());
      throw Error(
          Code::kInvalidArgument,
          fmt::format("input '{}': dimension {} is symbolic: give --shape {}={}", input.name(),
                      name, input.name(), suggestion(type.shape(), bindings)));
    }
  }
  return shape;
}

}  // namespace

std::vector<NamedType> bind_shapes(const std::vector<const onnx::ValueInfoProto*>& inputs,
                                   const std::map<std::string, Shape>& shapes) {
  for (const auto& [name, shape] : shapes) {
    const auto has_name = [&](const auto* input) { return input->name() == name; };
    if (std::none_of(inputs.begin(), inputs.end(), has_name)) {
      std::vector<std::string> names;
      for (const auto* input : inputs) names.push_back("'" + input->name() + "'");
      throw Error(Code::kInvalidArgument, fmt::format("there is no input '{}'; the inputs are {}",
                                                      name, fmt::join(names, ", ")));
    }
  }
  Bindings bindings;
  for (const auto* input : inputs) {
    if (const auto it = shapes.find(input->name()); it != shapes.end()) {
      bind_input(*input, it->second, bindings);
    }
  }
  std::vector<NamedType> types;
  for (const auto* input : inputs) {
    const auto it = shapes.find(input->name());
    const DType dtype =
        dtype_of_proto(tensor_type(*input).elem_type(), fmt::format("input '{}'", input->name()));
    types.push_back(
        {input->name(), {dtype, it != shapes.end() ? it->second : resolve(*input, bindings)}});
    dense_bytes(types.back().second);
  }
  return types;
}

}  // namespace inlay
