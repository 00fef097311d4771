#include "graphs/onnx/node_order.h"

#include <fmt/format.h>

#include <queue>
#include <unordered_map>

#include "core/base/error.h"

namespace inlay {
namespace {

using Names = std::unordered_set<std::string>;

void collect_reads(const onnx::NodeProto& node, Names& reads);

// What a nested graph takes from outside.
void collect_captures(const onnx::GraphProto& graph, Names& reads) {
  Names inner;
  Names own;
  for (const auto& input : graph.input()) own.insert(input.name());
  for (const auto& tensor : graph.initializer()) own.insert(tensor.name());
  for (const auto& node : graph.node()) {
    own.insert(node.output().begin(), node.output().end());
    collect_reads(node, inner);
  }
  for (const auto& output : graph.output()) inner.insert(output.name());
  for (const std::string& name : inner) {
    if (own.count(name) == 0) reads.insert(name);
  }
}

void collect_reads(const onnx::NodeProto& node, Names& reads) {
  for (const std::string& name : node.input()) {
    if (!name.empty()) reads.insert(name);
  }
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) collect_captures(attribute.g(), reads);
    for (const auto& graph : attribute.graphs()) collect_captures(graph, reads);
  }
}

using Edges = std::vector<std::vector<int>>;

// Follows unfinished producers from any unfinished node until one comes again: that one is on a
// cycle.
int node_on_cycle(const Edges& producers, const std::vector<bool>& done) {
  std::size_t at = 0;
  while (done[at]) ++at;
  std::vector<bool> seen(done.size(), false);
  while (!seen[at]) {
    seen[at] = true;
    for (const int producer : producers[at]) {
      if (!done[static_cast<std::size_t>(producer)]) {
        at = static_cast<std::size_t>(producer);
        break;
      }
    }
  }
  return static_cast<int>(at);
}

std::unordered_map<std::string, int> find_producers(
    const NodeProtos& nodes, const std::function<bool(const std::string&)>& is_local) {
  std::unordered_map<std::string, int> producer_of;
  for (int i = 0; i < nodes.size(); ++i) {
    for (const std::string& name : nodes[i].output()) {
      if (name.empty()) continue;
      const auto [it, is_new] = producer_of.emplace(name, i);
      if (!is_new) {
        throw Error(Code::kCorrupt, fmt::format("tensor '{}' has two producers: {} and {}", name,
                                                describe(nodes[it->second]), describe(nodes[i])));
      }
      if (is_local(name)) {
        throw Error(
            Code::kCorrupt,
            fmt::format(
                "tensor '{}' has two producers: {} and the graph, as an input or initializer", name,
                describe(nodes[i])));
      }
    }
  }
  return producer_of;
}

}  // namespace

std::string describe(const onnx::NodeProto& node) {
  if (!node.name().empty()) return fmt::format("{} '{}'", node.op_type(), node.name());
  return fmt::format("{} that gives '{}'", node.op_type(),
                     node.output_size() > 0 ? node.output(0) : std::string());
}

NodeOrder order_nodes(const NodeProtos& nodes,
                      const std::function<bool(const std::string&)>& is_local,
                      const std::function<bool(const std::string&)>& is_outer) {
  const auto producer_of = find_producers(nodes, is_local);
  NodeOrder result;
  const auto count = static_cast<std::size_t>(nodes.size());
  Edges producers(count);
  Edges consumers(count);
  std::vector<int> missing(count, 0);
  for (int i = 0; i < nodes.size(); ++i) {
    Names reads;
    collect_reads(nodes[i], reads);
    for (const std::string& name : reads) {
      const auto it = producer_of.find(name);
      if (it != producer_of.end()) {
        producers[static_cast<std::size_t>(i)].push_back(it->second);
        consumers[static_cast<std::size_t>(it->second)].push_back(i);
        ++missing[static_cast<std::size_t>(i)];
      } else if (!is_local(name) && !is_outer(name)) {
        throw Error(Code::kCorrupt, fmt::format("{} reads tensor '{}', which nothing produces",
                                                describe(nodes[i]), name));
      }
      result.reads.insert(name);
    }
  }
  // Kahn 1962; the lowest index first, so that a sorted file keeps its order.
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < nodes.size(); ++i) {
    if (missing[static_cast<std::size_t>(i)] == 0) ready.push(i);
  }
  std::vector<bool> done(count, false);
  while (!ready.empty()) {
    const int i = ready.top();
    ready.pop();
    done[static_cast<std::size_t>(i)] = true;
    result.order.push_back(i);
    for (const int consumer : consumers[static_cast<std::size_t>(i)]) {
      if (--missing[static_cast<std::size_t>(consumer)] == 0) ready.push(consumer);
    }
  }
  if (result.order.size() != count) {
    throw Error(Code::kCorrupt, fmt::format("the graph has a cycle through {}",
                                            describe(nodes[node_on_cycle(producers, done)])));
  }
  return result;
}

}  // namespace inlay
