#include "graphs/onnx/fold_pad.h"

#include <algorithm>

#include "graphs/onnx/operator.h"
#include "graphs/onnx/sole_producer.h"

namespace inlay {
namespace {

bool has_negative(const Ints& pads) {
  return std::any_of(pads.begin(), pads.end(), [](std::int64_t p) { return p < 0; });
}

bool has_any(const Ints& pads) {
  return std::any_of(pads.begin(), pads.end(), [](std::int64_t p) { return p != 0; });
}

// Zeros all around, and nothing cut off.
bool adds_zeros(const Node& node) {
  return node.op == "Pad" && node.inputs.size() == 1 &&
         get_string(node.attributes, "mode", "") == "constant" &&
         get_float(node.attributes, "value", 0) == 0 &&
         !has_negative(get_ints(node.attributes, "pads", {}));
}

// Adds the pads of all dimensions to a window's, which has those of the spatial ones. False, and
// nothing changes, if the window would see something else.
bool widen(Node& window, const Ints& added) {
  const std::size_t rank = added.size() / 2;
  if (added[0] != 0 || added[1] != 0 || added[rank] != 0 || added[rank + 1] != 0) return false;
  Ints pads = get_ints(window.attributes, "pads", {});
  if (has_negative(pads)) return false;
  if (window.op == "AveragePool") {  // the zeros count
    if (get_int(window.attributes, "ceil_mode", 0) != 0) return false;
    const bool counts = get_int(window.attributes, "count_include_pad", 0) != 0;
    if (!counts && has_any(pads)) return false;
    window.attributes["count_include_pad"] = std::int64_t{1};
  }
  const std::size_t spatial = rank - 2;
  for (std::size_t i = 0; i < spatial; ++i) {
    pads[i] += added[i + 2];
    pads[i + spatial] += added[i + 2 + rank];
  }
  window.attributes["pads"] = pads;
  return true;
}

// The pads of a transposed value.
Ints transposed_pads(const Ints& pads, const Ints& perm) {
  Ints result;
  for (const std::size_t half : {std::size_t{0}, perm.size()}) {
    for (const std::int64_t axis : perm) {
      result.push_back(pads[half + static_cast<std::size_t>(axis)]);
    }
  }
  return result;
}

}  // namespace

void fold_pads(Draft& draft) {
  SoleProducers producers(draft);
  for (Node& node : draft.nodes) {
    if (node.op != "Conv" && node.op != "AveragePool") continue;
    Node* before = producers.find(node.inputs[0]);
    Node* transpose = before != nullptr && before->op == "Transpose" ? before : nullptr;
    if (transpose != nullptr) before = producers.find(transpose->inputs[0]);
    if (before == nullptr || !adds_zeros(*before)) continue;

    Ints pads = get_ints(before->attributes, "pads", {});
    if (transpose != nullptr) {
      pads = transposed_pads(pads, get_ints(transpose->attributes, "perm", {}));
    }
    if (!widen(node, pads)) continue;
    draft.rewrites.push_back({"fold-pad", {before->name, node.name}, false});
    if (transpose != nullptr) {
      transpose->inputs[0] = before->inputs[0];
      Shape& shape = draft.value(transpose->outputs[0]).type.shape;
      for (std::size_t i = 0; i < shape.size(); ++i) shape[i] -= pads[i] + pads[i + shape.size()];
    } else {
      node.inputs[0] = before->inputs[0];
    }
    before->op.clear();
  }
}

}  // namespace inlay
