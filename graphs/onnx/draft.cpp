#include "graphs/onnx/draft.h"

#include <set>
#include <unordered_map>

#include "core/base/layout.h"
#include "graphs/ir/infer.h"
#include "graphs/ir/op_table.h"

namespace inlay {
namespace {

// What folding may add to the graph: a constant above this stays a node.
constexpr std::size_t kMaxFoldedBytes = std::size_t{256} << 20;
// Operators that only repeat data are folded up to this size: a larger constant costs more than it
// saves.
constexpr std::size_t kMaxRepeatedBytes = std::size_t{16} << 20;

bool repeats_data(const Node& node) { return node.op == "Expand" || node.op == "Tile"; }

bool is_small_enough(const Node& node, const std::vector<TensorType>& types) {
  std::size_t total = 0;
  for (const TensorType& type : types) {
    if (type.dtype != DType::kNone) total += dense_bytes(type);
  }
  return total <= (repeats_data(node) ? kMaxRepeatedBytes : kMaxFoldedBytes);
}

}  // namespace

ValueId Draft::add_input(std::string name, TensorType type) {
  const ValueId id{static_cast<std::int32_t>(values.size())};
  values.push_back({std::move(name), std::move(type), kNoNode, std::nullopt});
  inputs.push_back(id);
  return id;
}

ValueId Draft::add_constant(Tensor tensor, std::string name) {
  const ValueId id{static_cast<std::int32_t>(values.size())};
  TensorType type = tensor.type();
  values.push_back({std::move(name), std::move(type), kNoNode, std::move(tensor)});
  return id;
}

const Tensor* Draft::constant(ValueId id) const {
  if (id.is_none() || !value(id).constant) return nullptr;
  return &*value(id).constant;
}

std::vector<ValueId> Draft::add_node(Node node, const std::vector<bool>& wanted) {
  while (!node.inputs.empty() && node.inputs.back().is_none()) node.inputs.pop_back();
  std::vector<TensorType> input_types;
  for (const ValueId id : node.inputs) {
    input_types.push_back(id.is_none() ? TensorType{} : type(id));
  }
  fill_default_attributes(node, input_types);
  std::vector<TensorType> types = infer_types(node, input_types, static_cast<int>(wanted.size()));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i]) types[i] = {};
  }
  return add_node_as(std::move(node), types);
}

std::vector<ValueId> Draft::add_node_as(Node node, const std::vector<TensorType>& types) {
  while (!node.inputs.empty() && node.inputs.back().is_none()) node.inputs.pop_back();
  std::vector<TensorType> input_types;
  for (const ValueId id : node.inputs) {
    input_types.push_back(id.is_none() ? TensorType{} : type(id));
  }
  fill_default_attributes(node, input_types);
  for (const TensorType& type : types) {
    if (type.dtype != DType::kNone) dense_bytes(type);  // throws where the size is absurd
  }
  if (auto folded = fold(node, types)) return *folded;
  const NodeId producer{static_cast<std::int32_t>(nodes.size())};
  for (const TensorType& type : types) {
    if (type.dtype == DType::kNone) {
      node.outputs.push_back(kNoValue);
      continue;
    }
    node.outputs.push_back({static_cast<std::int32_t>(values.size())});
    values.push_back({"", type, producer, std::nullopt});
  }
  nodes.push_back(std::move(node));
  return nodes.back().outputs;
}

std::optional<std::vector<ValueId>> Draft::fold(const Node& node,
                                                const std::vector<TensorType>& types) {
  if (node.inputs.empty() || !is_small_enough(node, types)) return std::nullopt;
  for (const ValueId id : node.inputs) {
    if (!id.is_none() && constant(id) == nullptr) return std::nullopt;
  }
  if (node.op == "Reshape") {  // the same bytes under another shape
    const Tensor source = *constant(node.inputs[0]);
    Tensor tensor(types[0], std::shared_ptr<const std::byte>(std::make_shared<Tensor>(source),
                                                             source.data()));
    note("fold-constant", node.name);
    return std::vector<ValueId>{add_constant(std::move(tensor))};
  }
  if (!evaluate_) return std::nullopt;

  Region region;
  RegionNode step{node.name, node.domain, node.op, {}, {}, node.attributes};
  std::unordered_map<std::int32_t, int> index;
  for (const ValueId id : node.inputs) {
    if (id.is_none()) {
      step.inputs.push_back(-1);
      continue;
    }
    const auto [it, is_new] = index.emplace(id.index, static_cast<int>(region.values.size()));
    if (is_new) {
      const Value& operand = value(id);
      region.values.push_back({"v" + std::to_string(it->second), "", operand.type,
                               Layout::dense(static_cast<int>(operand.type.shape.size())), true,
                               operand.constant});
    }
    step.inputs.push_back(it->second);
  }
  for (const TensorType& type : types) {
    if (type.dtype == DType::kNone) {
      step.outputs.push_back(-1);
      continue;
    }
    const int position = static_cast<int>(region.values.size());
    region.values.push_back({"v" + std::to_string(position), "", type,
                             Layout::dense(static_cast<int>(type.shape.size())), false,
                             std::nullopt});
    step.outputs.push_back(position);
    region.outputs.push_back(position);
  }
  region.nodes.push_back(std::move(step));
  const auto results = evaluate_(region);
  if (!results || results->size() != region.outputs.size()) return std::nullopt;

  std::vector<ValueId> ids;
  std::size_t next = 0;
  for (const TensorType& type : types) {
    if (type.dtype == DType::kNone) {
      ids.push_back(kNoValue);
      continue;
    }
    if ((*results)[next].type() != type) return std::nullopt;
    ids.push_back(add_constant((*results)[next++]));
  }
  note("fold-constant", node.name);
  return ids;
}

void Draft::name_value(ValueId id, const std::string& name) {
  if (!id.is_none() && value(id).name.empty()) value(id).name = name;
}

void Draft::note(const std::string& kind, const std::string& node) {
  const auto [it, is_new] = grouped_.emplace(kind, rewrites.size());
  if (is_new) rewrites.push_back({kind, {}, false});
  std::vector<std::string>& noted = rewrites[it->second].nodes;
  if (noted.empty() || noted.back() != node) noted.push_back(node);
}

void Draft::separate_outputs() {
  std::set<ValueId> taken(inputs.begin(), inputs.end());
  for (auto& [name, id] : outputs) {
    const bool is_own_input = taken.count(id) != 0 && value(id).name == name;
    if (taken.insert(id).second || is_own_input) {
      value(id).name = name;
      continue;
    }
    const Tensor* tensor = constant(id);
    if (tensor != nullptr) {
      id = add_constant(*tensor, name);
    } else {
      Node copy;
      copy.name = name;
      copy.op = "Reshape";
      copy.inputs = {id};
      id = add_node_as(std::move(copy), {TensorType(type(id))})[0];
      value(id).name = name;
    }
    taken.insert(id);
  }
}

Graph Draft::build(const std::string& graph_name) {
  separate_outputs();
  std::set<std::string> reserved;
  std::set<ValueId> reserving;
  for (const ValueId id : inputs) reserving.insert(id);
  for (const auto& [name, id] : outputs) reserving.insert(id);
  for (const ValueId id : reserving) reserved.insert(value(id).name);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const ValueId id{static_cast<std::int32_t>(i)};
    if (reserving.count(id) == 0 && reserved.count(values[i].name) != 0) values[i].name.clear();
  }

  GraphBuilder builder(graph_name);
  std::vector<ValueId> built(values.size(), kNoValue);
  // A constant without a name gets one after the place where it is read first.
  const auto place = [&](ValueId id, const std::string& reader, std::size_t position) {
    if (id.is_none()) return kNoValue;
    ValueId& target = built[static_cast<std::size_t>(id.index)];
    if (target.is_none() && constant(id) != nullptr) {
      std::string name = value(id).name;
      if (name.empty()) name = reader + "." + std::to_string(position);
      target = builder.constant(std::move(name), *constant(id));
    }
    return target;
  };
  for (const ValueId id : inputs) {
    built[static_cast<std::size_t>(id.index)] = builder.input(value(id).name, type(id));
  }
  for (const Node& node : nodes) {
    if (node.op.empty()) continue;
    Node copy = node;
    copy.outputs.clear();
    for (std::size_t i = 0; i < copy.inputs.size(); ++i) {
      copy.inputs[i] = place(copy.inputs[i], node.name, i);
    }
    std::vector<TensorType> types;
    std::vector<std::string> names;
    for (const ValueId id : node.outputs) {
      types.push_back(id.is_none() ? TensorType{} : type(id));
      names.push_back(id.is_none() ? "" : value(id).name);
    }
    const std::vector<ValueId> ids = builder.node_with_types(std::move(copy), types, names);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (!node.outputs[i].is_none()) {
        built[static_cast<std::size_t>(node.outputs[i].index)] = ids[i];
      }
    }
  }
  for (const auto& [name, id] : outputs) builder.output(place(id, name, 0));
  return builder.build();
}

}  // namespace inlay
