#include "core/plan/region.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>

#include "core/base/content_hash.h"

namespace inlay {
namespace {

std::vector<int> producers_of(const Region& region) {
  std::vector<int> producer(region.values.size(), -1);
  for (std::size_t n = 0; n < region.nodes.size(); ++n) {
    for (const int value : region.nodes[n].outputs) {
      if (value >= 0) producer[static_cast<std::size_t>(value)] = static_cast<int>(n);
    }
  }
  return producer;
}

// Nodes depth first from the outputs, operands first: the same for every topological order of one
// region. An explicit stack, since a chain of nodes may be tens of thousands long.
std::vector<int> canonical_order(const Region& region) {
  const std::vector<int> producer = producers_of(region);
  std::vector<int> order;
  order.reserve(region.nodes.size());
  enum class Mark : char { kNew, kOpen, kDone };
  std::vector<Mark> marks(region.nodes.size(), Mark::kNew);
  std::vector<int> stack;
  const auto visit = [&](int root) {
    if (root >= 0) stack.push_back(root);
    while (!stack.empty()) {
      const int node = stack.back();
      Mark& mark = marks[static_cast<std::size_t>(node)];
      if (mark == Mark::kNew) {
        mark = Mark::kOpen;
        const std::vector<int>& inputs = region.nodes[static_cast<std::size_t>(node)].inputs;
        for (auto input = inputs.rbegin(); input != inputs.rend(); ++input) {
          const int from = *input < 0 ? -1 : producer[static_cast<std::size_t>(*input)];
          if (from >= 0 && marks[static_cast<std::size_t>(from)] == Mark::kNew) {
            stack.push_back(from);
          }
        }
        continue;
      }
      stack.pop_back();
      if (mark == Mark::kDone) continue;
      mark = Mark::kDone;
      order.push_back(node);
    }
  };
  for (const int output : region.outputs) visit(producer[static_cast<std::size_t>(output)]);
  // Nodes that no output needs keep their own order.
  for (std::size_t n = 0; n < region.nodes.size(); ++n) {
    if (marks[n] == Mark::kNew) visit(static_cast<int>(n));
  }
  return order;
}

// Hashes values by the number they get at their first use; their description follows that first
// use.
class ValueHasher {
 public:
  ValueHasher(const Region& region, bool with_constants, Hasher& hasher)
      : region_(region),
        with_constants_(with_constants),
        hasher_(hasher),
        numbers_(region.values.size(), -1) {}

  void add(int value) {
    if (value < 0) {
      hasher_.add(std::int64_t{-1});
      return;
    }
    int& number = numbers_[static_cast<std::size_t>(value)];
    const bool is_new = number < 0;
    if (is_new) number = next_++;
    hasher_.add(static_cast<std::int64_t>(number));
    if (is_new) describe(region_.values[static_cast<std::size_t>(value)]);
  }

 private:
  void describe(const RegionValue& value) {
    hasher_.add(value.port).add(to_string(value.type)).add(value.layout.text());
    hasher_.add(static_cast<std::int64_t>(value.is_constant));
    const bool counts = value.constant &&
                        (with_constants_ || element_count(value.type.shape) <= kMaxInlineElements);
    hasher_.add(static_cast<std::int64_t>(counts));
    if (counts) add_to_hash(hasher_, *value.constant);
  }

  const Region& region_;
  bool with_constants_;
  Hasher& hasher_;
  std::vector<int> numbers_;
  int next_ = 0;
};

// The expression that computes `value`, as text.
std::string expression(const Region& region, const std::vector<int>& producer, int value) {
  if (value < 0) return "-";
  const auto index = static_cast<std::size_t>(value);
  if (producer[index] < 0) {
    const RegionValue& leaf = region.values[index];
    if (!leaf.name.empty()) return leaf.name;
    return leaf.port.empty() ? fmt::format("v{}", value) : leaf.port;
  }
  const RegionNode& node = region.nodes[static_cast<std::size_t>(producer[index])];
  std::vector<std::string> operands;
  for (const int input : node.inputs) operands.push_back(expression(region, producer, input));
  return fmt::format("{}({})", node.op, fmt::join(operands, ", "));
}

}  // namespace

Hash region_hash(const Region& region, bool with_constants) {
  Hasher hasher;
  hasher.add(region.pattern).add(static_cast<std::int64_t>(region.nodes.size()));
  if (region.most_threads != 0) hasher.add(std::int64_t{region.most_threads});
  ValueHasher values(region, with_constants, hasher);
  const auto add_values = [&](const std::vector<int>& list) {
    hasher.add(static_cast<std::int64_t>(list.size()));
    for (const int value : list) values.add(value);
  };
  for (const int n : canonical_order(region)) {
    const RegionNode& node = region.nodes[static_cast<std::size_t>(n)];
    hasher.add(node.domain).add(node.op);
    add_values(node.inputs);
    add_values(node.outputs);
    add_to_hash(hasher, node.attributes);
  }
  add_values(region.inputs);
  add_values(region.outputs);
  return hasher.finish();
}

std::string summary(const Region& region) {
  constexpr std::size_t kMaxNodes = 6;  // more would not fit a line
  std::string type = "nothing";
  if (!region.outputs.empty()) {
    type = to_string(region.values[static_cast<std::size_t>(region.outputs[0])].type);
  }
  if (region.nodes.size() <= kMaxNodes && !region.outputs.empty()) {
    return fmt::format("{} -> {}", expression(region, producers_of(region), region.outputs[0]),
                       type);
  }
  std::vector<std::string> ops;
  for (std::size_t n = 0; n < std::min(kMaxNodes, region.nodes.size()); ++n) {
    ops.push_back(region.nodes[n].op);
  }
  return fmt::format("{} nodes ({}{}) -> {}", region.nodes.size(), fmt::join(ops, ", "),
                     region.nodes.size() > kMaxNodes ? ", …" : "", type);
}

}  // namespace inlay
