// The attribute column of the operator table: reading it, filling in defaults, checking nodes
// against it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>

#include "core/base/error.h"
#include "graphs/ir/op_table.h"

namespace inlay {
namespace {

// In the order of the alternatives of Attribute.
constexpr std::array<std::string_view, 7> kKinds = {"int",    "float",   "string", "ints",
                                                    "floats", "strings", "tensor"};

struct Spec {
  std::string_view name;
  std::size_t kind = 0;
  bool is_optional = false;
  std::string_view fallback;  // empty: none
};

Spec parse_spec(std::string_view text) {
  Spec spec;
  if (const auto equals = text.find('='); equals != text.npos) {
    spec.fallback = text.substr(equals + 1);
    text = text.substr(0, equals);
  } else if (text.ends_with('?')) {
    spec.is_optional = true;
    text.remove_suffix(1);
  }
  const auto colon = text.find(':');
  spec.name = text.substr(0, colon);
  const auto kind = std::find(kKinds.begin(), kKinds.end(), text.substr(colon + 1));
  spec.kind = static_cast<std::size_t>(kind - kKinds.begin());
  return spec;
}

template <typename Visit>
void for_each_spec(const OpInfo& info, const Visit& visit) {
  std::string_view rest = info.attributes;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    if (end > 0) visit(parse_spec(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

std::vector<std::string> default_activations(std::string_view cell, const Attributes& attributes) {
  std::vector<std::string> one = {"Tanh"};
  if (cell == "gru") one = {"Sigmoid", "Tanh"};
  if (cell == "lstm") one = {"Sigmoid", "Tanh", "Tanh"};
  std::vector<std::string> all = one;
  const auto direction = attributes.find("direction");
  if (direction != attributes.end() &&
      direction->second == Attribute(std::string("bidirectional"))) {
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

std::vector<std::int64_t> default_ints(const Spec& spec, std::size_t rank) {
  const std::size_t spatial = rank < 2 ? 0 : rank - 2;
  if (spec.fallback == "ones") return std::vector<std::int64_t>(spatial, 1);
  if (spec.fallback == "zeros") {
    return std::vector<std::int64_t>(spec.name == "pads" ? 2 * spatial : spatial, 0);
  }
  std::vector<std::int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (spec.fallback == "reversed") std::reverse(axes.begin(), axes.end());
  return axes;
}

Attribute default_of(const Spec& spec, const Attributes& attributes, std::size_t rank) {
  switch (spec.kind) {
    case 0:
      return std::int64_t{std::strtoll(spec.fallback.data(), nullptr, 10)};
    case 1:
      return std::strtof(spec.fallback.data(), nullptr);
    case 2:
      return std::string(spec.fallback);
    case 3:
      return default_ints(spec, rank);
    case 4:
      return std::vector<float>{};
    default:
      return default_activations(spec.fallback, attributes);
  }
}

// The operand that holds the weight of a convolution, -1 for other operators.
int weight_operand(std::string_view op) {
  if (op == "Conv" || op == "ConvInteger" || op == "ConvTranspose") return 1;
  return op == "QLinearConv" ? 3 : -1;
}

}  // namespace

void fill_default_attributes(Node& node, const std::vector<TensorType>& inputs) {
  const OpInfo* info = find_op(node.op);
  if (info == nullptr || inputs.empty()) return;
  const std::size_t rank = inputs[0].shape.size();
  for_each_spec(*info, [&](const Spec& spec) {
    if (spec.fallback.empty() || has(node.attributes, spec.name)) return;
    node.attributes.emplace(spec.name, default_of(spec, node.attributes, rank));
  });
  const int operand = weight_operand(node.op);
  if (operand >= 0 && operand < static_cast<int>(inputs.size()) &&
      !has(node.attributes, "kernel_shape")) {
    const Shape& weight = inputs[static_cast<std::size_t>(operand)].shape;
    if (weight.size() > 2) {
      node.attributes.emplace("kernel_shape", Shape(weight.begin() + 2, weight.end()));
    }
  }
}

void check_attributes(const Node& node, const OpInfo& info) {
  std::size_t known = 0;
  for_each_spec(info, [&](const Spec& spec) {
    const auto it = node.attributes.find(spec.name);
    if (it == node.attributes.end()) {
      if (spec.is_optional) return;
      throw Error(Code::kInvalidArgument,
                  fmt::format("{} '{}': attribute '{}' is missing", node.op, node.name, spec.name));
    }
    ++known;
    if (it->second.index() != spec.kind) {
      throw Error(Code::kInvalidArgument,
                  fmt::format("{} '{}': attribute '{}': expected {}, found {} {}", node.op,
                              node.name, spec.name, kKinds[spec.kind], kKinds[it->second.index()],
                              to_string(it->second)));
    }
  });
  if (known == node.attributes.size()) return;
  for (const auto& [name, value] : node.attributes) {
    bool is_listed = false;
    for_each_spec(info, [&](const Spec& spec) { is_listed = is_listed || spec.name == name; });
    if (is_listed) continue;
    throw Error(Code::kInvalidArgument,
                fmt::format("{} '{}': attribute '{}' = {} is not part of the canonical form",
                            node.op, node.name, name, to_string(value)));
  }
}

}  // namespace inlay
