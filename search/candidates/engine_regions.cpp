#include "search/candidates/engine_regions.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "graphs/ir/op_table.h"
#include "graphs/zoo/zoo.h"

namespace inlay {
namespace {

// A core does about this many operations while it moves one element to or from memory.
constexpr double kOperationsPerElement = 16;

// Cuts through more values than this are not looked for.
constexpr int kWidestCut = 4;
// They are close enough together once no segment has more than this share of the weight.
constexpr double kLargestShare = 0.25;
// Segments lighter than this share are put together; one goes on taking what is much lighter, such
// as an activation after it, up to a share of its own.
constexpr double kLeastShare = 1.0 / 64;
constexpr double kTrifle = 1.0 / 8;
constexpr double kMostTrifles = 1.0 / 4;

constexpr std::size_t kMostSingleNodes = 4;

using Nodes = std::vector<NodeId>;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

// For each node how many denied ones a path from the inputs to it may hold, itself left out.
std::vector<int> denied_before(const Graph& graph, const std::vector<bool>& allowed) {
  std::vector<int> level(at(graph.node_count()), 0);
  for (std::int32_t n = 0; n < graph.node_count(); ++n) {
    for (const ValueId input : graph.node({n}).inputs) {
      const NodeId from = input.is_none() ? kNoNode : graph.value(input).producer;
      if (from == kNoNode) continue;
      level[at(n)] =
          std::max(level[at(n)], level[at(from.index)] + (allowed[at(from.index)] ? 0 : 1));
    }
  }
  return level;
}

std::vector<int> denied_after(const Graph& graph, const std::vector<bool>& allowed) {
  std::vector<int> level(at(graph.node_count()), 0);
  for (std::int32_t n = graph.node_count(); n-- > 0;) {
    const int own = level[at(n)] + (allowed[at(n)] ? 0 : 1);
    for (const ValueId input : graph.node({n}).inputs) {
      const NodeId from = input.is_none() ? kNoNode : graph.value(input).producer;
      if (from != kNoNode) level[at(from.index)] = std::max(level[at(from.index)], own);
    }
  }
  return level;
}

// The connected parts of the allowed nodes of one level. Along a path the level never falls, and a
// denied node raises it: so each level is convex, and so are its parts, which no path joins.
std::vector<Nodes> connected_parts(const Graph& graph, const std::vector<bool>& allowed,
                                   const std::vector<int>& level) {
  std::vector<int> parent(at(graph.node_count()));
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](int n) {
    while (parent[at(n)] != n) n = parent[at(n)] = parent[at(parent[at(n)])];
    return n;
  };
  for (std::int32_t n = 0; n < graph.node_count(); ++n) {
    for (const ValueId input : graph.node({n}).inputs) {
      const NodeId from = input.is_none() ? kNoNode : graph.value(input).producer;
      if (from == kNoNode || !allowed[at(n)] || !allowed[at(from.index)]) continue;
      if (level[at(n)] == level[at(from.index)]) parent[at(root(n))] = root(from.index);
    }
  }
  std::map<int, Nodes> parts;
  for (std::int32_t n = 0; n < graph.node_count(); ++n) {
    if (allowed[at(n)]) parts[root(n)].push_back({n});
  }
  std::vector<Nodes> list;
  for (auto& [first, nodes] : parts) list.push_back(std::move(nodes));
  return list;
}

double weight_of(const std::vector<double>& weights, const Nodes& nodes) {
  double sum = 0;
  for (const NodeId id : nodes) sum += weights[at(id.index)];
  return sum;
}

std::vector<double> node_weights(const Graph& graph) {
  std::vector<double> weights;
  for (std::int32_t n = 0; n < graph.node_count(); ++n) weights.push_back(node_weight(graph, {n}));
  return weights;
}

// How many values made in the first i + 1 nodes the others read, for each i.
std::vector<int> widths(const Graph& graph, const Nodes& nodes) {
  std::map<std::int32_t, int> place;
  for (std::size_t i = 0; i < nodes.size(); ++i) place[nodes[i].index] = static_cast<int>(i);
  std::vector<int> change(nodes.size() + 1, 0);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const ValueId output : graph.node(nodes[i]).outputs) {
      if (output.is_none()) continue;
      int last = -1;
      for (const NodeId reader : graph.consumers(output)) {
        if (const auto found = place.find(reader.index); found != place.end()) last = found->second;
      }
      if (last < 0) continue;
      ++change[i];
      --change[at(last)];
    }
  }
  std::partial_sum(change.begin(), change.end(), change.begin());
  return change;
}

// A base region in its segments: segment s is nodes [begin[s], begin[s + 1]).
struct Segments {
  Nodes nodes;
  std::vector<std::size_t> begin;
  std::vector<double> weight;
  double total = 0;

  std::size_t count() const { return weight.size(); }
  Nodes run(std::size_t first, std::size_t end) const {
    return {nodes.begin() + static_cast<std::ptrdiff_t>(begin[first]),
            nodes.begin() + static_cast<std::ptrdiff_t>(begin[end])};
  }
};

// An activation, a scale, a shift: an engine computes it along with what it follows.
bool is_follower(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const OpInfo* info = node.domain.empty() ? find_op(node.op) : nullptr;
  const auto varying = std::count_if(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
    return !input.is_none() && !graph.is_constant(input);
  });
  return info != nullptr && info->is_elementwise && varying == 1;
}

// Cuts where at most `most` values are alive, the segments put together that are too light.
Segments cut(const Graph& graph, const Nodes& nodes, const std::vector<double>& weights,
             const std::vector<int>& width, int most) {
  Segments made;
  made.nodes = nodes;
  made.total = weight_of(weights, nodes);
  const double least = kLeastShare * made.total;
  double piece = 0;
  double trifles = 0;
  std::size_t piece_begin = 0;
  bool is_followed = false;  // whether followers belong to the piece
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    piece += weights[at(nodes[i].index)];
    is_followed = is_followed || !is_follower(graph, nodes[i]);
    const bool is_last = i + 1 == nodes.size();
    if (!is_last && (width[i] > most || (is_followed && is_follower(graph, nodes[i + 1]))))
      continue;
    const bool is_light =
        !made.weight.empty() && piece < kTrifle * least && trifles + piece < kMostTrifles * least;
    const bool is_unfinished = !made.weight.empty() && made.weight.back() < least;
    if (is_light || is_unfinished) {
      made.weight.back() += piece;
      trifles += is_unfinished ? 0 : piece;
    } else {
      made.begin.push_back(piece_begin);
      made.weight.push_back(piece);
      trifles = 0;
    }
    piece = 0;
    piece_begin = i + 1;
    is_followed = false;
  }
  made.begin.push_back(nodes.size());
  return made;
}

Segments choose_cuts(const Graph& graph, const Nodes& nodes, const std::vector<double>& weights) {
  const std::vector<int> width = widths(graph, nodes);
  Segments best;
  double best_share = 2;
  for (int most = 1; most <= kWidestCut; ++most) {
    Segments made = cut(graph, nodes, weights, width, most);
    const double largest = *std::max_element(made.weight.begin(), made.weight.end());
    const double share = made.total > 0 ? largest / made.total : 1;
    if (share >= best_share) continue;
    best_share = share;
    best = std::move(made);
    if (share <= kLargestShare) break;
  }
  return best;
}

class Grower {
 public:
  Grower(const Graph& graph, const RegionLimits& limits, const RegionSignature& signature)
      : graph_(graph), limits_(limits), signature_(signature), weights_(node_weights(graph)) {}

  GrownRegions grow(const std::vector<bool>& allowed) {
    const double total = std::accumulate(weights_.begin(), weights_.end(), 0.0);
    std::vector<Segments> bases;
    for (Nodes& nodes : largest_regions(graph_, allowed)) {
      if (weight_of(weights_, nodes) >= kLeastShare * total) {
        bases.push_back(choose_cuts(graph_, nodes, weights_));
      }
      propose(std::move(nodes), 0);
    }
    for (const Segments& base : bases) split(base, 2);
    propose_segments(bases);
    for (const Segments& base : bases) split(base, 4);
    for (const Segments& base : bases) propose_equal_runs(base);
    for (const Segments& base : bases) {
      if (base.count() < 3) continue;
      propose(base.run(1, base.count()));
      propose(base.run(0, base.count() - 1));
    }
    propose_heaviest_nodes(allowed);
    for (const Segments& base : bases) split(base, 8);
    result_.distinct = static_cast<int>(accepted_.size());
    result_.left_out = static_cast<int>(left_out_.size());
    return std::move(result_);
  }

 private:
  void propose(Nodes nodes) { propose(std::move(nodes), limits_.least_part_weight); }

  void propose(Nodes nodes, double least_weight) {
    if (nodes.empty() || (limits_.most_nodes > 0 && std::ssize(nodes) > limits_.most_nodes)) return;
    if (seen_.contains(nodes) || weight_of(weights_, nodes) < least_weight) return;
    const Hash hash = signature_(nodes);
    if (!accepted_.contains(hash)) {
      if (std::ssize(accepted_) >= limits_.most_regions) {
        left_out_.insert(hash);
        return;
      }
      accepted_.insert(hash);
    }
    seen_.insert(nodes);
    result_.list.push_back(std::move(nodes));
  }

  // Into `parts` of about equal weight, at segment boundaries.
  void split(const Segments& base, int parts) {
    if (base.count() < static_cast<std::size_t>(parts)) return;
    std::vector<std::size_t> ends{0};
    double sum = 0;
    for (std::size_t s = 0; s < base.count(); ++s) {
      sum += base.weight[s];
      const double wanted = base.total * static_cast<double>(ends.size()) / parts;
      // Whichever end of the segment is nearer to the even split.
      if (sum < wanted || ends.size() == static_cast<std::size_t>(parts)) continue;
      const bool is_before = sum - wanted > wanted - (sum - base.weight[s]) && s > ends.back();
      ends.push_back(is_before ? s : s + 1);
    }
    if (ends.back() != base.count()) ends.push_back(base.count());
    if (ends.size() < 3) return;
    for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
      if (ends[i] < ends[i + 1]) propose(base.run(ends[i], ends[i + 1]));
    }
  }

  void propose_segments(const std::vector<Segments>& bases) {
    std::vector<Nodes> segments;
    for (const Segments& base : bases) {
      if (base.count() < 2) continue;
      for (std::size_t s = 0; s < base.count(); ++s) segments.push_back(base.run(s, s + 1));
    }
    const std::size_t all = segments.size();
    propose_heaviest(std::move(segments), all);
  }

  void propose_heaviest_nodes(const std::vector<bool>& allowed) {
    std::vector<Nodes> nodes;
    for (std::int32_t n = 0; n < graph_.node_count(); ++n) {
      // What only moves data is nothing to call an engine for.
      if (allowed[at(n)] && count_flops(graph_, graph_.node({n})) > 0) nodes.push_back({NodeId{n}});
    }
    propose_heaviest(std::move(nodes), kMostSingleNodes);
  }

  // Up to `most` different ones, by the weight of all equal ones together.
  void propose_heaviest(std::vector<Nodes> regions, std::size_t most) {
    struct Kind {
      double weight = 0;
      std::vector<Nodes> members;
    };
    std::map<Hash, std::size_t> index;
    std::vector<Kind> kinds;
    for (Nodes& nodes : regions) {
      const auto [entry, is_new] = index.try_emplace(signature_(nodes), kinds.size());
      if (is_new) kinds.emplace_back();
      Kind& kind = kinds[entry->second];
      kind.weight += weight_of(weights_, nodes);
      kind.members.push_back(std::move(nodes));
    }
    std::stable_sort(kinds.begin(), kinds.end(),
                     [](const Kind& a, const Kind& b) { return a.weight > b.weight; });
    for (std::size_t k = 0; k < std::min(most, kinds.size()); ++k) {
      for (Nodes& nodes : kinds[k].members) propose(std::move(nodes));
    }
  }

  void propose_equal_runs(const Segments& base) {
    std::vector<Hash> hashes;
    for (std::size_t s = 0; s < base.count(); ++s) hashes.push_back(signature_(base.run(s, s + 1)));
    for (std::size_t s = 0; s < base.count();) {
      std::size_t end = s + 1;
      while (end < base.count() && hashes[end] == hashes[s]) ++end;
      if (end - s > 1) propose(base.run(s, end));
      s = end;
    }
  }

  const Graph& graph_;
  const RegionLimits& limits_;
  const RegionSignature& signature_;
  const std::vector<double> weights_;
  std::set<Nodes> seen_;
  std::set<Hash> accepted_;
  std::set<Hash> left_out_;
  GrownRegions result_;
};

}  // namespace

GrownRegions grow_regions(const Graph& graph, const std::vector<bool>& allowed,
                          const RegionLimits& limits, const RegionSignature& signature) {
  return Grower(graph, limits, signature).grow(allowed);
}

double node_weight(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  double elements = 0;
  for (const std::vector<ValueId>* side : {&node.inputs, &node.outputs}) {
    for (const ValueId value : *side) {
      if (value.is_none()) continue;
      elements += static_cast<double>(element_count(graph.value(value).type.shape));
    }
  }
  return count_flops(graph, node) + kOperationsPerElement * elements;
}

std::vector<Nodes> largest_regions(const Graph& graph, const std::vector<bool>& allowed) {
  Nodes all;
  for (std::int32_t n = 0; n < graph.node_count(); ++n) all.push_back({n});
  if (std::find(allowed.begin(), allowed.end(), false) == allowed.end()) {
    return all.empty() ? std::vector<Nodes>{} : std::vector<Nodes>{all};
  }
  std::vector<Nodes> regions = connected_parts(graph, allowed, denied_before(graph, allowed));
  for (Nodes& nodes : connected_parts(graph, allowed, denied_after(graph, allowed))) {
    if (std::find(regions.begin(), regions.end(), nodes) == regions.end()) {
      regions.push_back(std::move(nodes));
    }
  }
  const std::vector<double> weights = node_weights(graph);
  std::vector<std::pair<double, Nodes>> weighed;
  for (Nodes& nodes : regions) weighed.emplace_back(weight_of(weights, nodes), std::move(nodes));
  std::stable_sort(weighed.begin(), weighed.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  regions.clear();
  for (auto& [weight, nodes] : weighed) regions.push_back(std::move(nodes));
  return regions;
}

}  // namespace inlay
