#include "graphs/onnx/sink_transposes.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <unordered_map>

#include "graphs/ir/op_table.h"
#include "graphs/onnx/operator.h"

namespace inlay {
namespace {

// What may be transposed beside the operand that is not: a part of the output's elements.
constexpr std::int64_t kSmallShare = 4;

std::size_t at(std::int64_t axis) { return static_cast<std::size_t>(axis); }

bool is_identity(const Ints& perm) { return std::is_sorted(perm.begin(), perm.end()); }

Ints inverse(const Ints& perm) {
  Ints result(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i) {
    result[at(perm[i])] = static_cast<std::int64_t>(i);
  }
  return result;
}

// Dimension i of the result is dimension perm[i] of the shape.
Shape transposed(const Shape& shape, const Ints& perm) {
  Shape result;
  for (const std::int64_t axis : perm) result.push_back(shape[at(axis)]);
  return result;
}

// Elements that change places: none if only dimensions of one element move.
std::int64_t moved_elements(const Shape& shape, const Ints& perm) {
  Ints order;
  for (const std::int64_t axis : perm) {
    if (shape[at(axis)] != 1) order.push_back(axis);
  }
  return is_identity(order) ? 0 : element_count(shape);
}

Tensor transposed(const Tensor& tensor, const Ints& perm) {
  const Shape& from = tensor.shape();
  Tensor result = Tensor::zeros({tensor.dtype(), transposed(from, perm)});
  Ints strides(from.size(), 1);
  for (std::size_t d = from.size(); d-- > 1;) strides[d - 1] = strides[d] * from[d];
  const std::size_t width = size_of(tensor.dtype());
  const Shape& shape = result.shape();
  std::byte* out = result.mutable_bytes().data();
  Ints index(shape.size(), 0);
  for (std::int64_t i = 0; i < element_count(shape); ++i) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < index.size(); ++d) offset += index[d] * strides[at(perm[d])];
    std::memcpy(out + at(i) * width, tensor.data() + at(offset) * width, width);
    for (std::size_t d = index.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
  return result;
}

Tensor with_rank(const Tensor& tensor, std::size_t rank) {
  TensorType type = tensor.type();
  type.shape.insert(type.shape.begin(), rank - type.shape.size(), 1);
  return {std::move(type), tensor.shared_data()};
}

// One pass over the nodes. Transposes are held back: a value that is one of another is known by its
// source and its permutation until an operator needs it as it is.
class Sinker {
 public:
  // kept: by node, the transposes that stay where they are.
  Sinker(Draft& draft, const std::vector<bool>& kept)
      : draft_(draft),
        kept_(kept),
        parent_(kept.size()),
        before_(kept.size()),
        after_(kept.size()) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  void run() {
    const std::vector<Node> old = std::move(draft_.nodes);
    draft_.nodes.clear();
    for (std::size_t i = 0; i < old.size(); ++i) {
      Node node = old[i];
      if (node.op.empty()) continue;
      for (ValueId& id : node.inputs) id = resolve(id);
      if (node.op == "Transpose" && !kept_[i]) {
        hold_back(node, static_cast<int>(i));
      } else if (!pass(node)) {
        for (ValueId& id : node.inputs) id = real(id);
        push(simplified(std::move(node)));
      }
    }
    for (auto& [name, id] : draft_.outputs) id = real(resolve(id));
    for (std::size_t i = 0; i < draft_.nodes.size(); ++i) {
      for (const ValueId id : draft_.nodes[i].outputs) {
        if (!id.is_none()) draft_.value(id).producer = {static_cast<std::int32_t>(i)};
      }
    }
  }

  int group_of(int i) {
    while (parent_[at(i)] != i) i = parent_[at(i)] = parent_[at(parent_[at(i)])];
    return i;
  }
  // Whether moving a transpose and all it belongs to pays.
  bool pays(int i) {
    const std::size_t group = at(group_of(i));
    return after_[group] < before_[group];
  }
  bool has_moved_reduction() const { return has_moved_reduction_; }

 private:
  struct Held {
    ValueId source;
    Ints perm;
    int group;
    std::string name;      // for the Transpose that it may have to become
    bool is_real = false;  // it has
  };

  const Shape& shape(ValueId id) const { return draft_.type(id).shape; }

  void push(Node node) { draft_.nodes.push_back(std::move(node)); }

  // A Transpose that stays but moves only ones is a Reshape.
  Node simplified(Node node) {
    if (node.op == "Transpose" &&
        moved_elements(shape(node.inputs[0]), get_ints(node.attributes, "perm", {})) == 0) {
      node.op = "Reshape";
      node.attributes.clear();
      draft_.note("transpose-to-reshape", node.name);
    }
    return node;
  }

  int unite(int a, int b) {
    a = group_of(a);
    b = group_of(b);
    if (a == b) return a;
    parent_[at(b)] = a;
    before_[at(a)] += before_[at(b)];
    after_[at(a)] += after_[at(b)];
    return a;
  }

  // ---- values

  ValueId resolve(ValueId id) const {
    const auto it = same_.find(id.index);
    return it == same_.end() ? id : it->second;
  }

  Held* held(ValueId id) {
    const auto it = held_.find(id.index);
    return it == held_.end() ? nullptr : &it->second;
  }

  void hold(ValueId id, Held value) {
    if (is_identity(value.perm)) {
      same_[id.index] = value.source;
    } else {
      held_.insert_or_assign(id.index, std::move(value));
    }
  }

  void hold_back(const Node& node, int i) {
    const ValueId x = node.inputs[0];
    Ints perm = get_ints(node.attributes, "perm", {});
    before_[at(i)] = moved_elements(shape(x), perm);
    if (const Held* before = held(x)) {
      for (std::int64_t& axis : perm) axis = before->perm[at(axis)];
      const int group = unite(i, before->group);
      hold(node.outputs[0], {before->source, std::move(perm), group, node.name});
    } else {
      hold(node.outputs[0], {x, std::move(perm), i, node.name});
    }
  }

  ValueId new_value(DType dtype, Shape shape) {
    draft_.values.push_back({"", {dtype, std::move(shape)}, kNoNode, std::nullopt});
    return {static_cast<std::int32_t>(draft_.values.size()) - 1};
  }

  void push_transpose(const std::string& name, ValueId from, ValueId to, const Ints& perm,
                      int group) {
    Node node;
    node.name = name;
    node.inputs = {from};
    node.outputs = {to};
    const std::int64_t moved = moved_elements(shape(from), perm);
    node.op = moved == 0 ? "Reshape" : "Transpose";
    if (moved != 0) node.attributes["perm"] = perm;
    after_[at(group_of(group))] += moved;
    push(std::move(node));
  }

  ValueId with_ones_before(ValueId id, std::size_t rank, const std::string& reader) {
    if (shape(id).size() == rank) return id;
    Shape full = shape(id);
    full.insert(full.begin(), rank - full.size(), 1);
    Node node;
    node.name = reader + ".reshape";
    node.op = "Reshape";
    node.inputs = {id};
    node.outputs = {new_value(draft_.type(id).dtype, std::move(full))};
    push(node);
    return node.outputs[0];
  }

  // The value as it is, transposed at last if it was held back.
  ValueId real(ValueId id) {
    Held* value = held(id);
    if (value != nullptr && !value->is_real) {
      value->is_real = true;
      push_transpose(value->name, value->source, id, value->perm, value->group);
    }
    return id;
  }

  // ---- operands in the order of the source

  bool is_held_as(ValueId id, const Ints& perm) {
    const Held* value = held(id);
    return value != nullptr && value->perm == perm;
  }

  bool can_align(ValueId id, const Ints& perm, std::int64_t output_elements) {
    if (id.is_none() || is_held_as(id, perm)) return true;
    if (shape(id).size() > perm.size()) return false;
    return draft_.constant(id) != nullptr || element_count(shape(id)) == 1 ||
           element_count(shape(id)) * kSmallShare <= output_elements;
  }

  ValueId align(ValueId id, const Ints& perm, int group, const std::string& reader) {
    if (id.is_none()) return id;
    if (is_held_as(id, perm)) return held(id)->source;
    if (element_count(shape(id)) == 1) return real(id);
    const Ints back = inverse(perm);
    if (const Tensor* tensor = draft_.constant(id)) {
      return draft_.add_constant(transposed(with_rank(*tensor, perm.size()), back));
    }
    id = with_ones_before(real(id), perm.size(), reader);
    const ValueId turned = new_value(draft_.type(id).dtype, transposed(shape(id), back));
    push_transpose(reader + ".transpose", id, turned, back, group);
    return turned;
  }

  // ---- operators

  // Adds the node so that it reads the sources of what it reads, its own outputs being held back.
  // Whether it can be.
  bool pass(const Node& node) {
    const auto first = std::find_if(node.inputs.begin(), node.inputs.end(),
                                    [&](ValueId id) { return held(id) != nullptr; });
    const OpInfo* info = find_op(node.op);
    if (first == node.inputs.end() || info == nullptr || !node.domain.empty()) return false;
    const Ints perm = held(*first)->perm;
    if (node.op == "Reshape") return pass_reshape(node, perm);
    if (info->is_elementwise || node.op == "Concat") {
      for (const ValueId id : node.outputs) {
        if (id.is_none() || shape(id).size() != perm.size()) return false;
      }
    } else if (node.inputs.size() != 1) {
      return false;
    }
    Node moved = node;
    if (!map_attributes(moved, perm)) return false;
    const std::int64_t elements = element_count(shape(node.outputs[0]));
    for (const ValueId id : node.inputs) {
      if (!can_align(id, perm, elements)) return false;
    }
    int group = held(*first)->group;
    for (const ValueId id : node.inputs) {
      if (!id.is_none() && is_held_as(id, perm)) group = unite(group, held(id)->group);
    }
    for (ValueId& id : moved.inputs) id = align(id, perm, group, node.name);
    hold_outputs(std::move(moved), perm, group);
    return true;
  }

  static bool is_reduction(const Node& node) { return node.op.starts_with("Reduce"); }

  // Attributes that name dimensions, in terms of the source; false if the operator has to see the
  // dimensions in order.
  bool map_attributes(Node& node, const Ints& perm) {
    Attributes& attributes = node.attributes;
    if (find_op(node.op)->is_elementwise) return true;
    if (node.op == "Softmax" || node.op == "LogSoftmax" || node.op == "Concat" ||
        node.op == "Split") {
      attributes["axis"] = perm[at(get_int(attributes, "axis", 0))];
      return true;
    }
    if (is_reduction(node)) {
      Ints axes = get_ints(attributes, "axes", {});
      for (std::int64_t& axis : axes) axis = perm[at(axis)];
      std::sort(axes.begin(), axes.end());
      attributes["axes"] = axes;
      has_moved_reduction_ = true;
      return true;
    }
    if (node.op == "Slice") {
      Ints axes = get_ints(attributes, "axes", {});
      for (std::int64_t& axis : axes) axis = perm[at(axis)];
      attributes["axes"] = axes;
      return true;
    }
    if (node.op == "Pad") {
      const Ints pads = get_ints(attributes, "pads", {});
      Ints mapped(pads.size());
      for (std::size_t i = 0; i < perm.size(); ++i) {
        mapped[at(perm[i])] = pads[i];
        mapped[at(perm[i]) + perm.size()] = pads[i + perm.size()];
      }
      attributes["pads"] = mapped;
      return true;
    }
    return false;
  }

  // The permutation of what a reduction leaves.
  static Ints left_by_reduction(const Node& node, const Ints& perm) {
    if (get_int(node.attributes, "keepdims", 1) != 0) return perm;
    const Ints gone = get_ints(node.attributes, "axes", {});  // of the source by now
    Ints left;
    for (const std::int64_t axis : perm) {
      if (std::find(gone.begin(), gone.end(), axis) != gone.end()) continue;
      left.push_back(axis - std::count_if(gone.begin(), gone.end(),
                                          [&](std::int64_t other) { return other < axis; }));
    }
    return left;
  }

  void hold_outputs(Node node, const Ints& perm, int group) {
    const Ints left = is_reduction(node) ? left_by_reduction(node, perm) : perm;
    std::vector<ValueId> outputs = node.outputs;
    for (ValueId& id : node.outputs) {
      if (id.is_none() || is_identity(left)) continue;
      id = new_value(draft_.type(id).dtype, transposed(shape(id), inverse(left)));
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] == node.outputs[i]) continue;
      hold(outputs[i], {node.outputs[i], left, group, node.name + ".transpose"});
    }
    push(std::move(node));
  }

  // Only ones are added or dropped: the others keep their places, the ones go to the front.
  bool pass_reshape(Node node, const Ints& perm) {
    const Held value = *held(node.inputs[0]);
    const ValueId output = node.outputs[0];
    const Shape from = shape(node.inputs[0]);
    const Shape to = shape(output);
    Ints kept;  // dimensions of the held value of more than one element
    Shape sizes;
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (from[i] == 1) continue;
      kept.push_back(perm[i]);
      sizes.push_back(from[i]);
    }
    Shape expected;
    std::copy_if(to.begin(), to.end(), std::back_inserter(expected),
                 [](std::int64_t d) { return d != 1; });
    if (sizes != expected) return false;
    Ints order = kept;
    std::sort(order.begin(), order.end());
    const auto ones = static_cast<std::int64_t>(to.size() - sizes.size());
    Ints left;
    std::int64_t next_one = 0;
    std::size_t next = 0;
    for (const std::int64_t size : to) {
      if (size == 1) {
        left.push_back(next_one++);
        continue;
      }
      const auto place = std::find(order.begin(), order.end(), kept[next++]) - order.begin();
      left.push_back(ones + place);
    }
    node.inputs[0] = value.source;
    hold_outputs(std::move(node), left, value.group);
    return true;
  }

  Draft& draft_;
  const std::vector<bool>& kept_;
  std::unordered_map<std::int32_t, Held> held_;
  std::unordered_map<std::int32_t, ValueId> same_;
  std::vector<int> parent_;  // by node: a transpose and what it belongs to
  std::vector<std::int64_t> before_;
  std::vector<std::int64_t> after_;
  bool has_moved_reduction_ = false;
};

}  // namespace

void sink_transposes(Draft& draft) {
  const std::vector<Node> nodes = draft.nodes;
  const auto is_transpose = [](const Node& node) { return node.op == "Transpose"; };
  if (std::none_of(nodes.begin(), nodes.end(), is_transpose)) return;

  std::vector<bool> kept(nodes.size(), false);
  {
    Draft trial = draft;
    Sinker all(trial, kept);
    all.run();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      kept[i] = !is_transpose(nodes[i]) || !all.pays(static_cast<int>(i));
    }
  }
  Sinker paying(draft, kept);
  paying.run();
  std::vector<std::string> moved;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!kept[i]) moved.push_back(nodes[i].name);
  }
  if (!moved.empty()) {
    draft.rewrites.push_back({"sink-transpose", std::move(moved), paying.has_moved_reduction()});
  }
}

}  // namespace inlay
