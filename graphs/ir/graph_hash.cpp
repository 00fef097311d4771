#include "graphs/ir/graph_hash.h"

#include "core/base/content_hash.h"

namespace inlay {
namespace {

std::int64_t count_of(const auto& items) { return static_cast<std::int64_t>(items.size()); }

// Values are numbered in the order in which the hash meets them, which no name and no order of
// constants influences.
class GraphHasher {
 public:
  explicit GraphHasher(const Graph& graph)
      : graph_(graph), numbers_(static_cast<std::size_t>(graph.value_count()), -1) {}

  Hash run() {
    hasher_.add(count_of(graph_.inputs()));
    for (const ValueId id : graph_.inputs()) add_value(id);
    hasher_.add(static_cast<std::int64_t>(graph_.node_count()));
    for (const Node& node : graph_.nodes()) add_node(node);
    hasher_.add(count_of(graph_.outputs()));
    for (const ValueId id : graph_.outputs()) add_value(id);
    return hasher_.finish();
  }

 private:
  void add_value(ValueId id) {
    if (id.is_none()) {
      hasher_.add(std::int64_t{-1});
      return;
    }
    std::int64_t& number = numbers_[static_cast<std::size_t>(id.index)];
    const bool is_new = number < 0;
    if (is_new) number = next_++;
    hasher_.add(number);
    if (!is_new) return;
    const Value& value = graph_.value(id);
    add_to_hash(hasher_, value.type);
    hasher_.add(std::int64_t{value.constant.has_value()});
    if (value.constant) hasher_.add(value.constant->bytes());
  }

  void add_node(const Node& node) {
    hasher_.add(node.domain).add(node.op);
    add_to_hash(hasher_, node.attributes);
    hasher_.add(count_of(node.inputs));
    for (const ValueId id : node.inputs) add_value(id);
    hasher_.add(count_of(node.outputs));
    for (const ValueId id : node.outputs) add_value(id);
    hasher_.add(count_of(node.bodies));
    for (const auto& [name, graphs] : node.bodies) {
      hasher_.add(name).add(count_of(graphs));
      for (const Graph& body : graphs) hasher_.add(graph_hash(body).hex());
    }
  }

  const Graph& graph_;
  std::vector<std::int64_t> numbers_;
  std::int64_t next_ = 0;
  Hasher hasher_;
};

}  // namespace

Hash graph_hash(const Graph& graph) { return GraphHasher(graph).run(); }

}  // namespace inlay
