// C views of Inlay's data, as the plugin ABI wants it. Each owns every array its C struct points
// to, and stays where it was made: neither copied nor moved.
//
//   const RegionView view(region);            // shares the constants' bytes
//   plugin->compile(device, request_with(view.get()), ...);
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "core/abi/inlay_plugin.h"
#include "core/base/layout.h"
#include "core/plan/region.h"

namespace inlay {

class LayoutView {
 public:
  explicit LayoutView(const Layout& layout);
  LayoutView(const LayoutView&) = delete;
  LayoutView& operator=(const LayoutView&) = delete;
  const inlay_layout* get() const { return &view_; }

 private:
  std::vector<std::int32_t> order_;
  std::vector<std::int32_t> block_dims_;
  std::vector<std::int64_t> block_sizes_;
  std::string text_;
  inlay_layout view_{};
};

// A tensor in the space "host".
class TensorView {
 public:
  TensorView(const TensorType& type, const Layout& layout, std::byte* data);
  const inlay_tensor* get() const { return &view_; }
  void set_data(std::byte* data) { view_.data = data; }

 private:
  Shape dims_;
  LayoutView layout_;
  inlay_tensor view_{};
};

class RegionView {
 public:
  // Copies the region, whose constants keep their bytes. A constant is handed over in its value's
  // layout and aligned to 64 bytes; one that is dense and aligned already, as all in a weights file
  // are, is not copied. throws  Error{kInvalidArgument} naming a constant without bytes
  explicit RegionView(Region region);
  const inlay_region* get() const { return &view_; }

 private:
  struct Value {
    std::unique_ptr<LayoutView> layout;
    std::unique_ptr<TensorView> constant;
    Tensor bytes;
    std::uint64_t hash[2] = {};
    inlay_value view{};
  };
  struct AttributeView {
    std::vector<const char*> strings;
    std::unique_ptr<TensorView> tensor;
    inlay_attribute view{};
  };
  struct Node {
    std::vector<std::int32_t> inputs;
    std::vector<std::int32_t> outputs;
    std::deque<AttributeView> attributes;
    std::vector<const inlay_attribute*> attribute_pointers;
    inlay_node view{};
  };

  void add_value(const RegionValue& value);
  void add_constant(const RegionValue& value, Value& view);
  void add_node(const RegionNode& node);
  static void add_attribute(const std::string& name, const Attribute& attribute, Node& node);

  Region region_;
  std::deque<Value> values_;
  std::deque<Node> nodes_;
  std::vector<const inlay_value*> value_pointers_;
  std::vector<const inlay_node*> node_pointers_;
  std::vector<std::int32_t> inputs_;
  std::vector<std::int32_t> outputs_;
  inlay_region view_{};
};

}  // namespace inlay
