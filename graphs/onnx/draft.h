// The graph while import fills it: nodes come in topological order; each gets its types and, where
// all it reads is constant, is replaced by its value at once.
//
//   Draft draft(options.evaluate);
//   const ValueId x = draft.add_input("x", {DType::kF32, {2, 3}});
//   const std::vector<ValueId> y = draft.add_node(relu, {true});
//   draft.outputs.push_back({"y", y[0]});
//   const Graph graph = draft.build();
#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graphs/ir/graph.h"
#include "graphs/onnx/import.h"

namespace inlay {

class Draft {
 public:
  explicit Draft(Evaluator evaluate) : evaluate_(std::move(evaluate)) {}

  ValueId add_input(std::string name, TensorType type);
  ValueId add_constant(Tensor tensor, std::string name = "");

  // Adds a node with inferred types. `wanted` has one entry per output; one that is false gives
  // kNoValue.
  std::vector<ValueId> add_node(Node node, const std::vector<bool>& wanted);
  // The same with types known to the caller: Reshape, Expand and Resize, whose target is their
  // output's type.
  std::vector<ValueId> add_node_as(Node node, const std::vector<TensorType>& types);

  const Value& value(ValueId id) const { return values[static_cast<std::size_t>(id.index)]; }
  Value& value(ValueId id) { return values[static_cast<std::size_t>(id.index)]; }
  const TensorType& type(ValueId id) const { return value(id).type; }
  const Tensor* constant(ValueId id) const;

  // Names a value after the file's tensor; the first name stays.
  void name_value(ValueId id, const std::string& name);
  // Adds a node to the list of a kind of rewrite.
  void note(const std::string& kind, const std::string& node);

  // The finished graph. An output that is an input, or another output, gets a Reshape of its own,
  // so that every output has its name. throws  Error{kInvalidArgument} if there is no output
  Graph build(const std::string& graph_name);

  std::vector<Node> nodes;   // an empty operator marks a node that a pass removed
  std::deque<Value> values;  // references stay valid while it grows
  std::vector<ValueId> inputs;
  std::vector<std::pair<std::string, ValueId>> outputs;
  std::vector<Rewrite> rewrites;

 private:
  std::optional<std::vector<ValueId>> fold(const Node& node, const std::vector<TensorType>& types);
  void separate_outputs();

  Evaluator evaluate_;
  std::map<std::string, std::size_t> grouped_;  // kind → its entry in rewrites
};

}  // namespace inlay
