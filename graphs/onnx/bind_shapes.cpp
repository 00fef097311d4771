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

bool is_open(const Dimension& dim, const Bindings& bindings) {
  return !is_fixed(dim) && (!has_symbol(dim) || !bindings.contains(dim.dim_param()));
}

// A size that a network which leaves the dimension open will most likely take: one image or
// sequence at a time, colours, pixels that can be halved five times, a short sequence.
std::int64_t example_size(int dimension, int rank) {
  constexpr int kImageRank = 4;
  constexpr std::int64_t kColours = 3;
  constexpr std::int64_t kPixels = 224;
  constexpr std::int64_t kLength = 16;
  if (dimension == 0) return 1;
  if (rank != kImageRank) return kLength;
  return dimension == 1 ? kColours : kPixels;
}

// As a shell takes it.
std::string quoted(const std::string& word) {
  constexpr const char* kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-";
  if (word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

// "--shape x=1x3x224x224": what is known filled in, and for the rest an example, which from then on
// is the symbol's size in all inputs.
std::string shape_flag(const onnx::ValueInfoProto& input, Bindings& bindings) {
  const onnx::TensorShapeProto& shape = tensor_type(input).shape();
  std::vector<std::string> dims;
  for (int i = 0; i < shape.dim_size(); ++i) {
    const Dimension& dim = shape.dim(i);
    std::int64_t size = example_size(i, shape.dim_size());
    if (is_fixed(dim)) size = dim.dim_value();
    if (!is_fixed(dim) && has_symbol(dim)) {
      size = bindings.emplace(dim.dim_param(), Binding{size, input.name()}).first->second.size;
    }
    dims.push_back(std::to_string(size));
  }
  return "--shape " + quoted(fmt::format("{}={}", input.name(), fmt::join(dims, "x")));
}

// All inputs that are still open, in one error.
void check_all_bound(const std::vector<const onnx::ValueInfoProto*>& inputs,
                     const std::map<std::string, Shape>& shapes, const Bindings& bindings) {
  Bindings with_examples = bindings;
  std::vector<std::string> open;
  std::vector<std::string> flags;
  for (const auto* input : inputs) {
    if (shapes.contains(input->name()) || !tensor_type(*input).has_shape()) continue;
    const auto& dims = tensor_type(*input).shape().dim();
    if (std::none_of(dims.begin(), dims.end(),
                     [&](const Dimension& dim) { return is_open(dim, bindings); })) {
      continue;
    }
    open.push_back(fmt::format("'{}' {}", input->name(), declared(tensor_type(*input).shape())));
    flags.push_back(shape_flag(*input, with_examples));
  }
  if (open.empty()) return;
  throw Error(Code::kInvalidArgument,
              fmt::format("{} of symbolic dimensions: {}; give each a size, for example: {}",
                          open.size() == 1 ? "input" : "inputs", fmt::join(open, ", "),
                          fmt::join(flags, " ")));
}

// check_all_bound has passed.
Shape resolve(const onnx::ValueInfoProto& input, const Bindings& bindings) {
  const auto& type = tensor_type(input);
  if (!type.has_shape()) {
    throw Error(
        Code::kInvalidArgument,
        fmt::format("input '{0}' has no shape in the file: give --shape {0}=…", input.name()));
  }
  Shape shape;
  for (const Dimension& dim : type.shape().dim()) {
    shape.push_back(is_fixed(dim) ? dim.dim_value() : bindings.at(dim.dim_param()).size);
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
  check_all_bound(inputs, shapes, bindings);
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
