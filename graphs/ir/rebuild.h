// Copies a graph piece by piece, keeping track of which new value stands for which old one: what
// passes are made of.
//
//   Rebuild rebuild(graph);
//   rebuild.copy_constants();
//   for (const Node& node : graph.nodes()) rebuild.add(rebuild.translate(node), node.outputs);
//   const Graph copy = rebuild.finish();
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graphs/ir/graph.h"

namespace inlay {

class Rebuild {
 public:
  explicit Rebuild(const Graph& old)
      : old_(old), builder_(old.name()), new_id_(static_cast<std::size_t>(old.value_count())) {
    for (const ValueId id : old.inputs()) {
      at(id) = builder_.input(old.value(id).name, old.value(id).type);
    }
  }

  ValueId& at(ValueId old) { return new_id_[static_cast<std::size_t>(old.index)]; }

  void copy_constant(ValueId id) {
    at(id) = builder_.constant(old_.value(id).name, *old_.value(id).constant);
  }

  void copy_constants() {
    for (std::int32_t i = 0; i < old_.value_count(); ++i) {
      if (old_.is_constant(ValueId{i})) copy_constant(ValueId{i});
    }
  }

  // The node with its operands replaced by the new ones.
  Node translate(const Node& node) {
    Node copy = node;
    for (ValueId& id : copy.inputs) {
      if (!id.is_none()) id = at(id);
    }
    return copy;
  }

  // Adds a translated node; of the old outputs only those in `outputs`, in which kNoValue stands
  // for one that is dropped.
  void add(Node translated, const std::vector<ValueId>& outputs) {
    std::vector<TensorType> types;
    std::vector<std::string> names;
    for (const ValueId id : outputs) {
      types.push_back(id.is_none() ? TensorType{} : old_.value(id).type);
      names.push_back(id.is_none() ? std::string() : old_.value(id).name);
    }
    const auto made = builder_.node_with_types(std::move(translated), types, std::move(names));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].is_none()) at(outputs[i]) = made[i];
    }
  }

  Graph finish() {
    for (const ValueId id : old_.outputs()) builder_.output(at(id));
    return builder_.build();
  }

 private:
  const Graph& old_;
  GraphBuilder builder_;
  std::vector<ValueId> new_id_;
};

}  // namespace inlay
