#include "core/host/region_view.h"

#include <fmt/format.h>

#include <cstring>

#include "core/base/error.h"

namespace inlay {
namespace {

constexpr std::size_t kAlignment = 64;  // the ABI's promise about a tensor's data

template <typename Container>
std::int32_t size32(const Container& container) {
  return static_cast<std::int32_t>(container.size());
}

bool is_aligned(const std::byte* data) {
  return reinterpret_cast<std::uintptr_t>(data) % kAlignment == 0;
}

// New aligned memory that holds the constant in `layout`.
Tensor relaid(const Tensor& dense, const Layout& layout) {
  const auto size = static_cast<std::int64_t>(layout.size_bytes(dense.type()));
  Tensor bytes = Tensor::zeros({DType::kU8, {size}});
  if (layout.is_dense()) {
    if (size > 0) std::memcpy(bytes.mutable_bytes().data(), dense.data(), dense.size_bytes());
  } else {
    convert_layout(dense.type(), Layout::dense(layout.rank()), dense.data(), layout,
                   bytes.mutable_bytes().data());
  }
  return bytes;
}

// The ABI's structs are not const, although plugins never write constants.
std::byte* unconst(const std::byte* data) { return const_cast<std::byte*>(data); }

}  // namespace

LayoutView::LayoutView(const Layout& layout)
    : order_(layout.order().begin(), layout.order().end()), text_(layout.text()) {
  for (const LayoutBlock& block : layout.blocks()) {
    block_dims_.push_back(block.dim);
    block_sizes_.push_back(block.size);
  }
  view_.struct_size = sizeof(view_);
  view_.rank = layout.rank();
  view_.order = order_.data();
  view_.block_count = size32(block_dims_);
  view_.block_dims = block_dims_.data();
  view_.block_sizes = block_sizes_.data();
  view_.text = text_.c_str();
}

TensorView::TensorView(const TensorType& type, const Layout& layout, std::byte* data)
    : dims_(type.shape), layout_(layout) {
  view_.struct_size = sizeof(view_);
  view_.dtype = static_cast<inlay_dtype>(type.dtype);
  view_.rank = size32(dims_);
  view_.dims = dims_.empty() ? nullptr : dims_.data();
  view_.layout = layout_.get();
  view_.data = data;
  view_.size_bytes = layout.size_bytes(type);
}

RegionView::RegionView(Region region)
    : region_(std::move(region)),
      inputs_(region_.inputs.begin(), region_.inputs.end()),
      outputs_(region_.outputs.begin(), region_.outputs.end()) {
  for (const RegionValue& value : region_.values) add_value(value);
  for (const RegionNode& node : region_.nodes) add_node(node);
  view_.struct_size = sizeof(view_);
  view_.pattern_id = region_.pattern.c_str();
  view_.value_count = size32(value_pointers_);
  view_.values = value_pointers_.data();
  view_.node_count = size32(node_pointers_);
  view_.nodes = node_pointers_.data();
  view_.input_count = size32(inputs_);
  view_.inputs = inputs_.data();
  view_.output_count = size32(outputs_);
  view_.outputs = outputs_.data();
}

void RegionView::add_value(const RegionValue& value) {
  Value& made = values_.emplace_back();
  made.layout = std::make_unique<LayoutView>(value.layout);
  inlay_value& view = made.view;
  view.struct_size = sizeof(view);
  view.name = value.name.c_str();
  view.port = value.port.empty() ? nullptr : value.port.c_str();
  view.dtype = static_cast<inlay_dtype>(value.type.dtype);
  view.rank = size32(value.type.shape);
  view.dims = value.type.shape.empty() ? nullptr : value.type.shape.data();
  view.layout = made.layout->get();
  if (value.is_constant) add_constant(value, made);
  value_pointers_.push_back(&view);
}

void RegionView::add_constant(const RegionValue& value, Value& made) {
  if (!value.constant) {
    throw Error(Code::kInvalidArgument,
                fmt::format("region '{}': constant '{}': expected its bytes, found none",
                            region_.pattern, value.name));
  }
  const Tensor& dense = *value.constant;
  if (dense.type() != value.type) {
    throw Error(Code::kInvalidArgument,
                fmt::format("region '{}': constant '{}': expected {}, found {}", region_.pattern,
                            value.name, to_string(value.type), to_string(dense.type())));
  }
  const bool is_usable = value.layout.is_dense() && dense.data() != nullptr;
  made.bytes = is_usable && is_aligned(dense.data()) ? dense : relaid(dense, value.layout);
  made.constant =
      std::make_unique<TensorView>(value.type, value.layout, unconst(made.bytes.data()));
  const Hash hash = hash_of(dense.bytes());
  made.hash[0] = hash.high;
  made.hash[1] = hash.low;
  made.view.constant = made.constant->get();
  made.view.constant_hash = made.hash;
}

void RegionView::add_node(const RegionNode& node) {
  Node& made = nodes_.emplace_back();
  made.inputs.assign(node.inputs.begin(), node.inputs.end());
  made.outputs.assign(node.outputs.begin(), node.outputs.end());
  for (const auto& [name, attribute] : node.attributes) add_attribute(name, attribute, made);
  inlay_node& view = made.view;
  view.struct_size = sizeof(view);
  view.name = node.name.c_str();
  view.domain = node.domain.c_str();
  view.op = node.op.c_str();
  view.input_count = size32(made.inputs);
  view.inputs = made.inputs.data();
  view.output_count = size32(made.outputs);
  view.outputs = made.outputs.data();
  view.attribute_count = size32(made.attribute_pointers);
  view.attributes = made.attribute_pointers.data();
  node_pointers_.push_back(&view);
}

void RegionView::add_attribute(const std::string& name, const Attribute& attribute, Node& node) {
  AttributeView& made = node.attributes.emplace_back();
  inlay_attribute& view = made.view;
  view.struct_size = sizeof(view);
  view.name = name.c_str();
  view.count = 1;
  // The variant's order is the ABI's.
  view.kind = static_cast<inlay_attribute_kind>(attribute.index()) + INLAY_ATTRIBUTE_INT;
  if (const auto* number = std::get_if<std::int64_t>(&attribute)) {
    view.ints = number;
  } else if (const auto* real = std::get_if<float>(&attribute)) {
    view.floats = real;
  } else if (const auto* text = std::get_if<std::string>(&attribute)) {
    made.strings = {text->c_str()};
  } else if (const auto* numbers = std::get_if<std::vector<std::int64_t>>(&attribute)) {
    view.ints = numbers->data();
    view.count = static_cast<std::int64_t>(numbers->size());
  } else if (const auto* reals = std::get_if<std::vector<float>>(&attribute)) {
    view.floats = reals->data();
    view.count = static_cast<std::int64_t>(reals->size());
  } else if (const auto* texts = std::get_if<std::vector<std::string>>(&attribute)) {
    for (const std::string& each : *texts) made.strings.push_back(each.c_str());
    view.count = static_cast<std::int64_t>(texts->size());
  } else {
    const Tensor& tensor = std::get<Tensor>(attribute);
    made.tensor = std::make_unique<TensorView>(
        tensor.type(), Layout::dense(static_cast<int>(tensor.shape().size())),
        unconst(tensor.data()));
    view.tensor = made.tensor->get();
  }
  if (!made.strings.empty()) view.strings = made.strings.data();
  node.attribute_pointers.push_back(&view);
}

}  // namespace inlay
