#include "graphs/ir/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "graphs/ir/infer.h"
#include "graphs/ir/op_table.h"

namespace inlay {
namespace {

// Claims a name: the one given, or the stem and a number if it is empty or taken.
std::string claim_name(std::unordered_map<std::string, int>& taken, std::string name,
                       const std::string& stem) {
  if (!name.empty() && taken.emplace(name, 0).second) return name;
  const std::string base = name.empty() ? stem : name;
  int& number = taken.emplace(base, 0).first->second;  // stays valid: rehashing moves no elements
  for (;;) {
    std::string candidate = fmt::format("{}_{}", base, ++number);
    if (taken.emplace(candidate, 0).second) return candidate;
  }
}

// Indices of the items, sorted by name.
template <typename Item>
std::vector<std::int32_t> sort_by_name(const std::vector<Item>& items) {
  std::vector<std::int32_t> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return items[static_cast<std::size_t>(a)].name < items[static_cast<std::size_t>(b)].name;
  });
  return order;
}

template <typename Item>
std::int32_t find_by_name(const std::vector<Item>& items, const std::vector<std::int32_t>& order,
                          std::string_view name) {
  const auto at = [&](std::int32_t i) -> std::string_view {
    return items[static_cast<std::size_t>(i)].name;
  };
  const auto it = std::lower_bound(order.begin(), order.end(), name,
                                   [&](std::int32_t i, std::string_view n) { return at(i) < n; });
  return it != order.end() && at(*it) == name ? *it : -1;
}

}  // namespace

bool Node::operator==(const Node&) const = default;

std::optional<NodeId> Graph::find_node(std::string_view name) const {
  const std::int32_t index = find_by_name(nodes_, nodes_by_name_, name);
  return index < 0 ? std::nullopt : std::optional(NodeId{index});
}

std::optional<ValueId> Graph::find_value(std::string_view name) const {
  const std::int32_t index = find_by_name(values_, values_by_name_, name);
  return index < 0 ? std::nullopt : std::optional(ValueId{index});
}

std::string Graph::to_text() const {
  std::string text;
  const auto list = [&](const auto& items, const auto& print) {
    const char* separator = "";
    for (const auto& item : items) {
      text += separator;
      print(item);
      separator = ", ";
    }
  };
  for (const Node& node : nodes_) {
    list(node.outputs, [&](ValueId id) {
      text +=
          id.is_none() ? "_" : printable_name(value(id).name) + ": " + to_string(value(id).type);
    });
    text += " = " + (node.domain.empty() ? "" : printable_name(node.domain) + ".") +
            printable_name(node.op) + "(";
    list(node.inputs,
         [&](ValueId id) { text += id.is_none() ? "_" : printable_name(value(id).name); });
    text += ")";
    if (!node.attributes.empty()) {
      text += " {";
      list(node.attributes, [&](const auto& entry) {
        text += printable_name(entry.first) + "=" + printable(to_string(entry.second));
      });
      text += "}";
    }
    text += "\n";
  }
  return text;
}

GraphBuilder::GraphBuilder(std::string name) { graph_.name_ = std::move(name); }

ValueId GraphBuilder::add_value(std::string name, TensorType type, NodeId producer) {
  Value value;
  value.name = claim_name(value_names_, std::move(name), "value");
  value.type = std::move(type);
  value.producer = producer;
  graph_.values_.push_back(std::move(value));
  return ValueId{graph_.value_count() - 1};
}

ValueId GraphBuilder::input(std::string name, TensorType type) {
  const ValueId id = add_value(std::move(name), std::move(type), kNoNode);
  graph_.inputs_.push_back(id);
  return id;
}

ValueId GraphBuilder::constant(std::string name, Tensor tensor) {
  const ValueId id = add_value(std::move(name), tensor.type(), kNoNode);
  graph_.values_.back().constant = std::move(tensor);
  return id;
}

std::vector<TensorType> GraphBuilder::input_types(const Node& node) const {
  std::vector<TensorType> types;
  types.reserve(node.inputs.size());
  for (const ValueId id : node.inputs) {
    if (id.index >= value_count()) {
      throw Error(
          Code::kInvalidArgument,
          fmt::format("{} '{}': operand {} is value {}, but there are only {} values so far",
                      node.op, node.name, types.size(), id.index, value_count()));
    }
    types.push_back(id.is_none() ? TensorType{} : value(id).type);
  }
  return types;
}

ValueId GraphBuilder::node(std::string name, std::string op, std::vector<ValueId> inputs,
                           Attributes attributes) {
  return node(std::move(name), std::move(op), std::move(inputs), std::move(attributes), 1)[0];
}

std::vector<ValueId> GraphBuilder::node(std::string name, std::string op,
                                        std::vector<ValueId> inputs, Attributes attributes,
                                        int output_count, std::vector<std::string> output_names) {
  Node node;
  node.name = std::move(name);
  node.op = std::move(op);
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  const std::vector<TensorType> types = input_types(node);
  fill_default_attributes(node, types);
  const std::vector<TensorType> outputs = infer_types(node, types, output_count);
  return node_with_types(std::move(node), outputs, std::move(output_names));
}

std::vector<ValueId> GraphBuilder::node_with_types(Node node,
                                                   const std::vector<TensorType>& output_types,
                                                   std::vector<std::string> output_names) {
  const std::vector<TensorType> types = input_types(node);
  if (node.domain.empty() && !output_types.empty()) check_output_type(node, types, output_types[0]);
  node.name = claim_name(node_names_, std::move(node.name), node.op);
  node.outputs.clear();
  for (std::size_t i = 0; i < output_types.size(); ++i) {
    if (output_types[i].dtype == DType::kNone) {
      node.outputs.push_back(kNoValue);
      continue;
    }
    std::string name = i < output_names.size() ? std::move(output_names[i]) : std::string();
    if (name.empty()) name = i == 0 ? node.name : fmt::format("{}_{}", node.name, i);
    node.outputs.push_back(
        add_value(std::move(name), output_types[i], NodeId{graph_.node_count()}));
  }
  graph_.nodes_.push_back(std::move(node));
  return graph_.nodes_.back().outputs;
}

ValueId GraphBuilder::reshape(std::string name, ValueId x, Shape shape) {
  Node node;
  node.name = std::move(name);
  node.op = "Reshape";
  node.inputs = {x};
  const TensorType type = {input_types(node)[0].dtype, std::move(shape)};
  return node_with_types(std::move(node), {type}, {})[0];
}

void GraphBuilder::output(ValueId value) {
  if (value.is_none() || value.index >= value_count()) {
    throw Error(Code::kInvalidArgument,
                fmt::format("graph '{}': output {} is value {}, which does not exist", graph_.name_,
                            graph_.outputs_.size(), value.index));
  }
  graph_.outputs_.push_back(value);
}

Graph GraphBuilder::build() {
  if (graph_.outputs_.empty()) {
    throw Error(Code::kInvalidArgument, fmt::format("graph '{}' has no output", graph_.name_));
  }
  Graph graph = std::move(graph_);
  graph_ = Graph();
  node_names_.clear();
  value_names_.clear();
  graph.consumers_.assign(graph.values_.size(), {});
  for (std::int32_t i = 0; i < graph.node_count(); ++i) {
    for (const ValueId id : graph.nodes_[static_cast<std::size_t>(i)].inputs) {
      if (id.is_none()) continue;
      auto& readers = graph.consumers_[static_cast<std::size_t>(id.index)];
      if (readers.empty() || readers.back() != NodeId{i}) readers.push_back(NodeId{i});
    }
  }
  graph.is_output_.assign(graph.values_.size(), false);
  for (const ValueId id : graph.outputs_)
    graph.is_output_[static_cast<std::size_t>(id.index)] = true;
  graph.nodes_by_name_ = sort_by_name(graph.nodes_);
  graph.values_by_name_ = sort_by_name(graph.values_);
  return graph;
}

}  // namespace inlay
