#include "graphs/ir/passes.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/content_hash.h"
#include "graphs/ir/op_table.h"
#include "graphs/ir/rebuild.h"

namespace inlay {
namespace {

bool is_any(const std::vector<ValueId>& ids, const auto& claim) {
  return std::any_of(ids.begin(), ids.end(),
                     [&](ValueId id) { return !id.is_none() && claim(id); });
}

// ---- equal constants

bool is_same_content(const Tensor& a, const Tensor& b) { return a.data() == b.data() || a == b; }

// Up to eight pieces spread over the bytes: tells most different tensors apart without reading
// them.
Hash sample(const Tensor& tensor) {
  constexpr std::size_t kPieces = 8;
  constexpr std::size_t kPieceBytes = 64;
  Hasher hasher;
  add_to_hash(hasher, tensor.type());
  const auto bytes = tensor.bytes();
  if (bytes.size() <= kPieces * kPieceBytes) return hasher.add(bytes).finish();
  for (std::size_t i = 0; i < kPieces; ++i) {
    const std::size_t offset = (bytes.size() - kPieceBytes) / (kPieces - 1) * i;
    hasher.add(bytes.subspan(offset, kPieceBytes));
  }
  return hasher.finish();
}

// Finds an equal constant among those seen. Bytes are read in full only where samples agree.
class ConstantIndex {
 public:
  explicit ConstantIndex(const Graph& graph) : graph_(graph) {}

  // The first constant equal to this one: itself if it is new.
  ValueId find_or_add(ValueId id) {
    const Tensor& tensor = *graph_.value(id).constant;
    Bucket& bucket = buckets_[sample(tensor)];
    if (bucket.first.is_none()) {
      bucket.first = id;
      return id;
    }
    const Tensor& first = *graph_.value(bucket.first).constant;
    if (is_same_content(first, tensor)) return bucket.first;
    const auto [it, is_new] = bucket.others.emplace(hash_of(tensor.bytes()), id);
    const bool is_equal = is_same_content(*graph_.value(it->second).constant, tensor);
    return is_new || !is_equal ? id : it->second;
  }

 private:
  struct Bucket {
    ValueId first;
    std::map<Hash, ValueId> others;  // full hash → constant
  };
  const Graph& graph_;
  std::map<Hash, Bucket> buckets_;
};

// ---- equal nodes

Hash key_of(const Node& translated, const Graph& graph) {
  Hasher hasher;
  hasher.add(translated.domain).add(translated.op);
  add_to_hash(hasher, translated.attributes);
  hasher.add(static_cast<std::int64_t>(translated.inputs.size()));
  for (const ValueId id : translated.inputs) hasher.add(std::int64_t{id.index});
  hasher.add(static_cast<std::int64_t>(translated.outputs.size()));
  for (const ValueId id : translated.outputs) {
    add_to_hash(hasher, id.is_none() ? TensorType{} : graph.value(id).type);
  }
  return hasher.finish();
}

// Equal hashes are not trusted: everything that went into them is compared.
bool computes_same(const Node& a, const Node& b, const Graph& graph) {
  if (a.domain != b.domain || a.op != b.op || a.inputs != b.inputs ||
      a.attributes != b.attributes || a.outputs.size() != b.outputs.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.outputs.size(); ++i) {
    const bool is_none = a.outputs[i].is_none();
    if (is_none != b.outputs[i].is_none()) return false;
    if (!is_none && graph.value(a.outputs[i]).type != graph.value(b.outputs[i]).type) return false;
  }
  return true;
}

}  // namespace

PassResult remove_dead(const Graph& graph) {
  std::vector<bool> is_live(static_cast<std::size_t>(graph.value_count()), false);
  const auto live = [&](ValueId id) { return is_live[static_cast<std::size_t>(id.index)]; };
  const auto keep = [&](ValueId id) { is_live[static_cast<std::size_t>(id.index)] = true; };
  for (const ValueId id : graph.outputs()) keep(id);
  for (std::int32_t i = graph.node_count() - 1; i >= 0; --i) {
    const Node& node = graph.node(NodeId{i});
    if (!is_any(node.outputs, live)) continue;
    for (const ValueId id : node.inputs) {
      if (!id.is_none()) keep(id);
    }
  }

  Rebuild rebuild(graph);
  for (std::int32_t i = 0; i < graph.value_count(); ++i) {
    if (graph.is_constant(ValueId{i}) && live(ValueId{i})) rebuild.copy_constant(ValueId{i});
  }
  std::vector<std::string> removed;
  for (const Node& node : graph.nodes()) {
    if (!is_any(node.outputs, live)) {
      removed.push_back(node.name);
      continue;
    }
    std::vector<ValueId> outputs = node.outputs;
    for (ValueId& id : outputs) {
      if (!id.is_none() && !live(id)) id = kNoValue;
    }
    const OpInfo* info = find_op(node.op);
    const bool may_shrink = info != nullptr && info->max_outputs > info->min_outputs;
    while (may_shrink && outputs.back().is_none() &&
           static_cast<int>(outputs.size()) > info->min_outputs) {
      outputs.pop_back();
    }
    rebuild.add(rebuild.translate(node), outputs);
  }
  return {rebuild.finish(), std::move(removed)};
}

PassResult merge_equal(const Graph& graph) {
  Rebuild rebuild(graph);
  ConstantIndex constants(graph);
  for (std::int32_t i = 0; i < graph.value_count(); ++i) {
    const ValueId id{i};
    if (!graph.is_constant(id)) continue;
    const ValueId first = constants.find_or_add(id);
    if (first == id || graph.is_output(id)) {
      rebuild.copy_constant(id);
    } else {
      rebuild.at(id) = rebuild.at(first);
    }
  }

  std::vector<std::string> removed;
  std::map<Hash, Node> seen;  // with new operands and old outputs
  for (const Node& node : graph.nodes()) {
    Node translated = rebuild.translate(node);
    if (node.bodies.empty()) {
      const auto [it, is_new] = seen.emplace(key_of(translated, graph), translated);
      const bool is_output = is_any(node.outputs, [&](ValueId id) { return graph.is_output(id); });
      if (!is_new && !is_output && computes_same(it->second, translated, graph)) {
        for (std::size_t i = 0; i < node.outputs.size(); ++i) {
          if (!node.outputs[i].is_none())
            rebuild.at(node.outputs[i]) = rebuild.at(it->second.outputs[i]);
        }
        removed.push_back(node.name);
        continue;
      }
    }
    rebuild.add(std::move(translated), node.outputs);
  }
  return {rebuild.finish(), std::move(removed)};
}

}  // namespace inlay
