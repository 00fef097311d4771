// Which node gives a value that nothing else reads: what may be taken into its reader.
//
//   SoleProducers producers(draft);
//   if (Node* conv = producers.find(add.inputs[0])) ...   // only this Add reads the Conv's result
#pragma once

#include <vector>

#include "graphs/onnx/draft.h"

namespace inlay {

class SoleProducers {
 public:
  explicit SoleProducers(Draft& draft)
      : draft_(draft), readers_(draft.values.size(), 0), producer_(draft.values.size(), -1) {
    for (std::size_t i = 0; i < draft.nodes.size(); ++i) {
      if (draft.nodes[i].op.empty()) continue;  // removed
      for (const ValueId id : draft.nodes[i].inputs) {
        if (!id.is_none()) ++readers_[static_cast<std::size_t>(id.index)];
      }
      for (const ValueId id : draft.nodes[i].outputs) {
        if (!id.is_none()) producer_[static_cast<std::size_t>(id.index)] = static_cast<int>(i);
      }
    }
    for (const auto& [name, id] : draft.outputs) ++readers_[static_cast<std::size_t>(id.index)];
  }

  // The node whose one output is this value, read once and by no output of the graph; null if there
  // is none. Values added since the construction have none.
  Node* find(ValueId id) {
    const auto at = static_cast<std::size_t>(id.index);
    if (id.is_none() || at >= producer_.size() || producer_[at] < 0 || readers_[at] != 1) {
      return nullptr;
    }
    Node& node = draft_.nodes[static_cast<std::size_t>(producer_[at])];
    return node.outputs.size() == 1 ? &node : nullptr;
  }

  // The node that gave `from` gives `to` from now on.
  void take_over(ValueId from, ValueId to) {
    producer_[static_cast<std::size_t>(to.index)] = producer_[static_cast<std::size_t>(from.index)];
  }

 private:
  Draft& draft_;
  std::vector<int> readers_;
  std::vector<int> producer_;
};

}  // namespace inlay
