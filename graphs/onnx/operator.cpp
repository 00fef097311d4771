#include "graphs/onnx/operator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "graphs/ir/op_table.h"

namespace inlay {
namespace {

template <typename T, typename Out>
void append(const Tensor& tensor, std::vector<Out>& out) {
  for (const T element : tensor.as<T>()) out.push_back(static_cast<Out>(element));
}

// 16-bit floats are read through their bit patterns.
template <typename Out>
void append_half(const Tensor& tensor, std::vector<Out>& out) {
  const auto* bits = reinterpret_cast<const std::uint16_t*>(tensor.data());
  for (std::size_t i = 0; i < tensor.size_bytes() / 2; ++i) {
    out.push_back(static_cast<Out>(tensor.dtype() == DType::kF16 ? f16_to_f32(bits[i])
                                                                 : bf16_to_f32(bits[i])));
  }
}

template <typename Out>
std::vector<Out> elements(const Tensor& tensor) {
  std::vector<Out> out;
  switch (tensor.dtype()) {
    case DType::kF32:
      append<float>(tensor, out);
      break;
    case DType::kF64:
      append<double>(tensor, out);
      break;
    case DType::kI8:
      append<std::int8_t>(tensor, out);
      break;
    case DType::kI16:
      append<std::int16_t>(tensor, out);
      break;
    case DType::kI32:
      append<std::int32_t>(tensor, out);
      break;
    case DType::kI64:
      append<std::int64_t>(tensor, out);
      break;
    case DType::kU8:
      append<std::uint8_t>(tensor, out);
      break;
    case DType::kU16:
      append<std::uint16_t>(tensor, out);
      break;
    case DType::kU32:
      append<std::uint32_t>(tensor, out);
      break;
    case DType::kU64:
      append<std::uint64_t>(tensor, out);
      break;
    case DType::kBool:
      append<bool>(tensor, out);
      break;
    case DType::kF16:
    case DType::kBF16:
      append_half(tensor, out);
      break;
    default:
      throw Error(Code::kUnsupported, fmt::format("{} holds no numbers", to_string(tensor.type())));
  }
  return out;
}

template <typename T>
void store(Tensor& tensor, double value) {
  const T element = static_cast<T>(value);
  std::byte* out = tensor.mutable_bytes().data();
  for (std::size_t at = 0; at < tensor.size_bytes(); at += sizeof(T)) {
    std::memcpy(out + at, &element, sizeof(T));
  }
}

void store_bits(Tensor& tensor, std::uint16_t bits) {
  std::byte* out = tensor.mutable_bytes().data();
  for (std::size_t at = 0; at < tensor.size_bytes(); at += 2) std::memcpy(out + at, &bits, 2);
}

// Whether the table's "name:kind name:kind" has an attribute.
bool lists_attribute(const OpInfo& info, const std::string& name) {
  const std::string_view list = info.attributes;
  const std::string key = name + ":";
  for (auto at = list.find(key); at != list.npos; at = list.find(key, at + 1)) {
    if (at == 0 || list[at - 1] == ' ') return true;
  }
  return false;
}

}  // namespace

Ints to_ints(const Tensor& tensor) {
  // A float outside the range of i64 has no integer; no operand that is read here may hold one.
  if (is_float(tensor.dtype())) {
    Ints out;
    for (const double element : to_doubles(tensor)) {
      if (!(element > -9.2e18 && element < 9.2e18)) {
        throw Error(Code::kInvalidArgument, fmt::format("{} is not an integer", element));
      }
      out.push_back(static_cast<std::int64_t>(element));
    }
    return out;
  }
  return elements<std::int64_t>(tensor);
}

std::vector<double> to_doubles(const Tensor& tensor) { return elements<double>(tensor); }

Tensor scalar_of(DType dtype, double value, Shape shape) {
  Tensor tensor = Tensor::zeros({dtype, std::move(shape)});
  switch (dtype) {
    case DType::kF32:
      store<float>(tensor, value);
      break;
    case DType::kF64:
      store<double>(tensor, value);
      break;
    case DType::kI8:
      store<std::int8_t>(tensor, value);
      break;
    case DType::kI16:
      store<std::int16_t>(tensor, value);
      break;
    case DType::kI32:
      store<std::int32_t>(tensor, value);
      break;
    case DType::kI64:
      store<std::int64_t>(tensor, value);
      break;
    case DType::kU8:
      store<std::uint8_t>(tensor, value);
      break;
    case DType::kU16:
      store<std::uint16_t>(tensor, value);
      break;
    case DType::kU32:
      store<std::uint32_t>(tensor, value);
      break;
    case DType::kU64:
      store<std::uint64_t>(tensor, value);
      break;
    case DType::kBool:
      store<bool>(tensor, value);
      break;
    case DType::kF16:
      store_bits(tensor, f32_to_f16(static_cast<float>(value)));
      break;
    case DType::kBF16:
      store_bits(tensor, f32_to_bf16(static_cast<float>(value)));
      break;
    default:
      throw Error(Code::kUnsupported, fmt::format("{} holds no number", name_of(dtype)));
  }
  return tensor;
}

Operator::Operator(Draft& draft, std::string name, std::string op, std::int64_t opset,
                   Values inputs, std::vector<bool> wanted, Attributes attributes)
    : draft_(draft),
      name_(std::move(name)),
      op_(std::move(op)),
      opset_(opset),
      inputs_(std::move(inputs)),
      wanted_(std::move(wanted)),
      attributes_(std::move(attributes)) {}

Error Operator::error(Code code, const std::string& text) const {
  return Error(code, fmt::format("{} '{}': {}", op_, name_, text));
}

ValueId Operator::input(int i) const {
  if (!has_input(i)) {
    throw error(Code::kCorrupt, fmt::format("operand {} is missing, {} given", i, input_count()));
  }
  return inputs_[static_cast<std::size_t>(i)];
}

Ints Operator::constant_ints(int i, std::string_view what) const {
  const Tensor* tensor = constant(i);
  if (tensor == nullptr) {
    throw unsupported(
        fmt::format("operand '{}' is not constant, or could not be computed at import", what));
  }
  return to_ints(*tensor);
}

std::vector<double> Operator::constant_doubles(int i, std::string_view what) const {
  const Tensor* tensor = constant(i);
  if (tensor == nullptr) {
    throw unsupported(
        fmt::format("operand '{}' is not constant, or could not be computed at import", what));
  }
  return to_doubles(*tensor);
}

void Operator::limit_outputs(int count) const {
  for (int i = count; i < output_count(); ++i) {
    if (is_wanted(i)) throw unsupported(fmt::format("output {} is not supported", i));
  }
}

std::int64_t Operator::get_int(std::string_view name, std::int64_t fallback) const {
  return inlay::get_int(attributes_, name, fallback);
}
float Operator::get_float(std::string_view name, float fallback) const {
  return inlay::get_float(attributes_, name, fallback);
}
std::string Operator::get_string(std::string_view name, std::string_view fallback) const {
  return inlay::get_string(attributes_, name, fallback);
}
Ints Operator::get_ints(std::string_view name, const Ints& fallback) const {
  return inlay::get_ints(attributes_, name, fallback);
}
Floats Operator::get_floats(std::string_view name, const Floats& fallback) const {
  return inlay::get_floats(attributes_, name, fallback);
}

std::int64_t Operator::axis(std::int64_t axis, int rank) const {
  const std::int64_t positive = axis < 0 ? axis + rank : axis;
  if (positive < 0 || positive >= rank) {
    throw error(Code::kShapeMismatch, fmt::format("axis {} of a tensor of rank {}", axis, rank));
  }
  return positive;
}

Ints Operator::sorted_axes(Ints axes, int rank) const {
  for (std::int64_t& entry : axes) entry = axis(entry, rank);
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) {
    throw error(Code::kShapeMismatch,
                fmt::format("axes [{}] name one axis twice", fmt::join(axes, ", ")));
  }
  return axes;
}

const Ints& Operator::expect_count(std::string_view what, const Ints& list,
                                   std::size_t count) const {
  if (list.size() != count) {
    throw error(Code::kCorrupt,
                fmt::format("'{}': expected {} entries, found {}", what, count, list.size()));
  }
  return list;
}

ValueId Operator::emit(std::string_view op, Values inputs, Attributes attributes) {
  return emit_outputs(op, std::move(inputs), std::move(attributes), {true})[0];
}

Values Operator::emit_outputs(std::string_view op, Values inputs, Attributes attributes,
                              const std::vector<bool>& wanted) {
  Node node;
  node.name = name_;
  node.op = std::string(op);
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  return draft_.add_node(std::move(node), wanted);
}

Values Operator::emit_same(Values inputs, Attributes changed) {
  const OpInfo* info = find_op(op_);
  for (const auto& [name, value] : attributes_) {
    if (info != nullptr && lists_attribute(*info, name)) changed.emplace(name, value);
  }
  return emit_outputs(op_, std::move(inputs), std::move(changed), wanted_);
}

ValueId Operator::emit_as(TensorType type, std::string_view op, Values inputs,
                          Attributes attributes) {
  Node node;
  node.name = name_;
  node.op = std::string(op);
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  return draft_.add_node_as(std::move(node), {std::move(type)})[0];
}

ValueId Operator::reshape(ValueId id, Shape shape) {
  const TensorType& source = type(id);
  if (element_count(shape) != element_count(source.shape)) {
    throw error(Code::kShapeMismatch,
                fmt::format("{} cannot become {}", to_string(source), to_string(shape)));
  }
  if (const Node* before = producer(id, "Reshape")) id = before->inputs[0];
  if (shape == type(id).shape) return id;
  return emit_as({source.dtype, std::move(shape)}, "Reshape", {id});
}

const Node* Operator::producer(ValueId id, std::string_view op) const {
  const NodeId node = draft_.value(id).producer;
  if (node == kNoNode) return nullptr;
  const Node& found = draft_.nodes[static_cast<std::size_t>(node.index)];
  return found.op == op ? &found : nullptr;
}

ValueId Operator::transpose(ValueId id, Ints perm) {
  if (const Node* before = producer(id, "Transpose")) {
    const Ints first = inlay::get_ints(before->attributes, "perm", {});
    for (std::int64_t& axis : perm) axis = first[static_cast<std::size_t>(axis)];
    id = before->inputs[0];
  }
  Ints identity_perm(perm.size());
  std::iota(identity_perm.begin(), identity_perm.end(), 0);
  return perm == identity_perm ? id : emit("Transpose", {id}, {{"perm", perm}});
}

Values Operator::identity(ValueId id) {
  draft_.note("remove-identity", name_);
  return {id};
}

Canonicalizer find_canonicalizer(std::string_view domain, std::string_view op) {
  using Table = std::unordered_map<std::string_view, Canonicalizer>;
  static const Table kDefault = [] {
    Table table;
    for (const auto entries :
         {canonical_convolutions(), canonical_elementwise(), canonical_shapes(),
          canonical_selections(), canonical_reductions(), canonical_normalizations(),
          canonical_resizes(), canonical_recurrences(), canonical_quantizations(),
          canonical_generators()}) {
      for (const CanonicalEntry& entry : entries) table.emplace(entry.op, entry.function);
    }
    return table;
  }();
  static const Table kMicrosoft = [] {
    Table table;
    for (const CanonicalEntry& entry : canonical_microsoft())
      table.emplace(entry.op, entry.function);
    return table;
  }();
  const Table& table = domain == "com.microsoft" ? kMicrosoft : kDefault;
  if (!domain.empty() && domain != "com.microsoft") return nullptr;
  const auto it = table.find(op);
  return it == table.end() ? nullptr : it->second;
}

}  // namespace inlay
