// The graph Inlay works on: SSA, canonical operators, every shape known. A value: build it with
// GraphBuilder; once built it does not change. Parts are named by id, never by pointer.
//
//   GraphBuilder b("tiny");
//   const ValueId x = b.input("x", {DType::kF32, {1, 3, 8, 8}});
//   const ValueId w = b.constant("w", Tensor::zeros({DType::kF32, {4, 3, 1, 1}}));
//   const ValueId y = b.node("conv", "Conv", {x, w});  // types inferred, see infer.h
//   b.output(y);
//   const Graph graph = b.build();
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/attribute.h"
#include "core/base/tensor.h"

namespace inlay {

struct NodeId {
  std::int32_t index = -1;
  auto operator<=>(const NodeId&) const = default;
};

struct ValueId {
  std::int32_t index = -1;
  bool is_none() const { return index < 0; }
  auto operator<=>(const ValueId&) const = default;
};

inline constexpr ValueId kNoValue{};  // an omitted optional operand, an output nobody reads
inline constexpr NodeId kNoNode{};    // the producer of an input or constant

class Graph;

struct Node {
  std::string name;    // unique in its graph; made up at import where the file has none
  std::string domain;  // "" for ai.onnx
  std::string op;      // canonical, see op_table.h
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  Attributes attributes;
  // Nested graphs of If, Loop and Scan by attribute name; captured outer values are the node's
  // last inputs.
  std::map<std::string, std::vector<Graph>> bodies;
  bool operator==(const Node&) const;
};

struct Value {
  std::string name;  // unique in its graph
  TensorType type;
  NodeId producer;                 // kNoNode for inputs and constants
  std::optional<Tensor> constant;  // mapped or owned bytes, shared
  bool operator==(const Value&) const = default;
};

class Graph {
 public:
  const std::string& name() const { return name_; }

  // Nodes in topological order: every producer stands before its consumers.
  std::span<const Node> nodes() const { return nodes_; }
  std::span<const Value> values() const { return values_; }
  const Node& node(NodeId id) const { return nodes_[static_cast<std::size_t>(id.index)]; }
  const Value& value(ValueId id) const { return values_[static_cast<std::size_t>(id.index)]; }
  std::int32_t node_count() const { return static_cast<std::int32_t>(nodes_.size()); }
  std::int32_t value_count() const { return static_cast<std::int32_t>(values_.size()); }

  std::span<const ValueId> inputs() const { return inputs_; }
  std::span<const ValueId> outputs() const { return outputs_; }

  // Nodes that read a value, in order, each once.
  std::span<const NodeId> consumers(ValueId id) const {
    return consumers_[static_cast<std::size_t>(id.index)];
  }
  bool is_constant(ValueId id) const { return value(id).constant.has_value(); }
  bool is_output(ValueId id) const { return is_output_[static_cast<std::size_t>(id.index)]; }

  std::optional<NodeId> find_node(std::string_view name) const;
  std::optional<ValueId> find_value(std::string_view name) const;

  // A line per node: "y: f32[1x4x8x8] = Conv(x, w) {group=1}".
  std::string to_text() const;

  bool operator==(const Graph&) const = default;

 private:
  friend class GraphBuilder;
  std::string name_;
  std::vector<Node> nodes_;
  std::vector<Value> values_;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> outputs_;
  std::vector<std::vector<NodeId>> consumers_;
  std::vector<bool> is_output_;
  std::vector<std::int32_t> nodes_by_name_;  // indices, sorted by name
  std::vector<std::int32_t> values_by_name_;
};

// Makes a graph node by node, in topological order.
class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name);

  ValueId input(std::string name, TensorType type);
  ValueId constant(std::string name, Tensor tensor);

  // Adds a node whose output types are inferred by infer_types (infer.h). An empty name is made up
  // from the operator and a number; a taken one gets a number appended. Outputs are named after the
  // node: "n", then "n_1", "n_2". Attributes left out get ONNX's defaults where it has them
  // (op_table.h), so that the node is canonical.
  // throws  Error{kShapeMismatch, kInvalidArgument, kUnsupported} naming node, expected and found
  ValueId node(std::string name, std::string op, std::vector<ValueId> inputs,
               Attributes attributes = {});
  // The same with several outputs, of given number; output_names may be shorter or empty.
  std::vector<ValueId> node(std::string name, std::string op, std::vector<ValueId> inputs,
                            Attributes attributes, int output_count,
                            std::vector<std::string> output_names = {});
  // The same with types given by the caller (passes that rebuild a graph, opaque operators).
  // `node.outputs` is ignored; an output with dtype kNone stands for one nobody reads and gives
  // kNoValue. Attributes are taken as they are.
  // throws  Error{kInvalidArgument} for an operand that does not exist; Error{kShapeMismatch} for a
  //         Reshape, Expand or Resize whose given type cannot be
  std::vector<ValueId> node_with_types(Node node, const std::vector<TensorType>& output_types,
                                       std::vector<std::string> output_names);

  // A Reshape: its target is the type of its output.
  // throws  Error{kShapeMismatch} if the element counts differ
  ValueId reshape(std::string name, ValueId x, Shape shape);

  void output(ValueId value);

  const Value& value(ValueId id) const { return graph_.value(id); }
  std::int32_t value_count() const { return graph_.value_count(); }

  // throws  Error{kInvalidArgument} if there is no output
  Graph build();

 private:
  using Names = std::unordered_map<std::string, int>;  // name → last number appended to it

  ValueId add_value(std::string name, TensorType type, NodeId producer);
  std::vector<TensorType> input_types(const Node& node) const;

  Graph graph_;
  Names node_names_;
  Names value_names_;
};

}  // namespace inlay
