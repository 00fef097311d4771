// Read-only C++ views of the ABI's region, as a plugin sees it at compile time. They own nothing
// and die with the call.
//
//   const RegionView region(request->region);
//   const ValueView weight = region.port("W");                 // the pattern's variable
//   const std::int64_t group = region.node(0).get_int("group", 1);
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/abi/inlay_plugin.h"

namespace inlay::sdk {

// Thrown by a plugin's code to decline: becomes INLAY_DECLINED with this text.
struct Decline : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// "f32", "i64", …, as patterns name element types.
inline std::string_view dtype_name(inlay_dtype dtype) {
  constexpr std::string_view kNames[] = {"none", "f32", "u8",     "i8",   "u16", "i16",
                                         "i32",  "i64", "string", "bool", "f16", "f64",
                                         "u32",  "u64", "?",      "?",    "bf16"};
  const auto at = static_cast<std::size_t>(dtype);
  return at < std::size(kNames) ? kNames[at] : "?";
}

// Elements in a tensor of these extents.
inline std::int64_t element_count(std::span<const std::int64_t> dims) {
  std::int64_t count = 1;
  for (const std::int64_t extent : dims) count *= extent;
  return count;
}

class TensorView {
 public:
  TensorView() = default;
  explicit TensorView(const inlay_tensor* tensor) : tensor_(tensor) {}

  inlay_dtype dtype() const { return tensor_->dtype; }
  std::span<const std::int64_t> dims() const {
    return {tensor_->dims, static_cast<std::size_t>(tensor_->rank)};
  }
  std::int64_t count() const { return element_count(dims()); }
  std::string_view layout() const { return tensor_->layout->text; }
  std::size_t size_bytes() const { return tensor_->size_bytes; }
  void* data() const { return tensor_->data; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(tensor_->data);
  }

 private:
  const inlay_tensor* tensor_ = nullptr;
};

class ValueView {
 public:
  ValueView(const inlay_value* value, int index) : value_(value), index_(index) {}

  int index() const { return index_; }  // into the region's values
  std::string_view name() const { return value_->name; }
  inlay_dtype dtype() const { return value_->dtype; }
  std::span<const std::int64_t> dims() const {
    return {value_->dims, static_cast<std::size_t>(value_->rank)};
  }
  std::int64_t dim(int axis) const { return value_->dims[axis]; }
  int rank() const { return value_->rank; }
  std::int64_t count() const { return element_count(dims()); }
  std::string_view layout() const { return value_->layout->text; }
  bool is_constant() const { return value_->constant != nullptr; }
  TensorView constant() const { return TensorView(value_->constant); }
  template <typename T>
  std::span<const T> constant_as() const {
    return {static_cast<const T*>(value_->constant->data), static_cast<std::size_t>(count())};
  }

 private:
  const inlay_value* value_;
  int index_;
};

class NodeView {
 public:
  explicit NodeView(const inlay_node* node) : node_(node) {}

  std::string_view name() const { return node_->name; }
  std::string_view domain() const { return node_->domain; }
  std::string_view op() const { return node_->op; }
  // Value indices; -1 for an omitted one. Reading past the end gives -1.
  std::span<const std::int32_t> inputs() const {
    return {node_->inputs, static_cast<std::size_t>(node_->input_count)};
  }
  std::span<const std::int32_t> outputs() const {
    return {node_->outputs, static_cast<std::size_t>(node_->output_count)};
  }
  int input(int i) const { return i < node_->input_count ? node_->inputs[i] : -1; }

  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::int64_t get_int(std::string_view name, std::int64_t fallback) const {
    const inlay_attribute* a = find(name, INLAY_ATTRIBUTE_INT);
    return a ? a->ints[0] : fallback;
  }
  float get_float(std::string_view name, float fallback) const {
    const inlay_attribute* a = find(name, INLAY_ATTRIBUTE_FLOAT);
    return a ? a->floats[0] : fallback;
  }
  std::string_view get_string(std::string_view name, std::string_view fallback) const {
    const inlay_attribute* a = find(name, INLAY_ATTRIBUTE_STRING);
    return a ? std::string_view(a->strings[0]) : fallback;
  }
  std::span<const std::int64_t> get_ints(std::string_view name) const {
    const inlay_attribute* a = find(name, INLAY_ATTRIBUTE_INTS);
    if (a == nullptr) return {};
    return {a->ints, static_cast<std::size_t>(a->count)};
  }
  std::span<const float> get_floats(std::string_view name) const {
    const inlay_attribute* a = find(name, INLAY_ATTRIBUTE_FLOATS);
    if (a == nullptr) return {};
    return {a->floats, static_cast<std::size_t>(a->count)};
  }
  std::vector<std::string_view> get_strings(std::string_view name) const {
    const inlay_attribute* a = find(name, INLAY_ATTRIBUTE_STRINGS);
    if (a == nullptr) return {};
    return {a->strings, a->strings + a->count};
  }

 private:
  const inlay_attribute* find(std::string_view name, inlay_attribute_kind kind = 0) const {
    for (std::int32_t i = 0; i < node_->attribute_count; ++i) {
      const inlay_attribute* a = node_->attributes[i];
      if (a->name == name && (kind == 0 || a->kind == kind)) return a;
    }
    return nullptr;
  }
  const inlay_node* node_;
};

class RegionView {
 public:
  explicit RegionView(const inlay_region* region) : region_(region) {}

  std::string_view pattern() const { return region_->pattern_id; }
  int node_count() const { return region_->node_count; }
  NodeView node(int i) const {
    if (i < 0 || i >= node_count()) throw Decline("region has no node " + std::to_string(i));
    return NodeView(region_->nodes[i]);
  }
  // The first node with this operator; nullopt if there is none.
  std::optional<NodeView> find(std::string_view op) const {
    for (int i = 0; i < node_count(); ++i) {
      if (node(i).op() == op) return node(i);
    }
    return std::nullopt;
  }

  int value_count() const { return region_->value_count; }
  // Declines the region for an index that it does not have, such as that of an operand left out: a
  // region may come from a plan that somebody edited.
  ValueView value(int index) const {
    if (index < 0 || index >= value_count()) {
      throw Decline("region has no value " + std::to_string(index));
    }
    return ValueView(region_->values[index], index);
  }
  std::span<const std::int32_t> inputs() const {
    return {region_->inputs, static_cast<std::size_t>(region_->input_count)};
  }
  std::span<const std::int32_t> outputs() const {
    return {region_->outputs, static_cast<std::size_t>(region_->output_count)};
  }
  ValueView input(int i) const { return value(at(inputs(), i)); }
  ValueView output(int i) const { return value(at(outputs(), i)); }

  // The value bound to a pattern variable; nullopt if the variable's optional operand was not
  // there.
  std::optional<ValueView> find_port(std::string_view port) const {
    for (int i = 0; i < value_count(); ++i) {
      const char* name = region_->values[i]->port;
      if (name != nullptr && port == name) return value(i);
    }
    return std::nullopt;
  }
  ValueView port(std::string_view name) const {
    if (auto value = find_port(name)) return *value;
    throw Decline("region has no value bound to '" + std::string(name) + "'");
  }
  // Position of a value among the inputs that run receives; -1 if it is not an input (a constant,
  // say).
  int input_position(int value_index) const {
    for (int i = 0; i < region_->input_count; ++i) {
      if (region_->inputs[i] == value_index) return i;
    }
    return -1;
  }

 private:
  static int at(std::span<const std::int32_t> list, int i) {
    return i >= 0 && i < std::ssize(list) ? list[static_cast<std::size_t>(i)] : -1;
  }

  const inlay_region* region_;
};

}  // namespace inlay::sdk
