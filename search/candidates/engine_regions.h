// Which parts of a graph to offer to an engine, which takes any convex part of what it knows.
//
//   const GrownRegions grown = grow_regions(graph, is_allowed, {.most_regions = 24}, signature);
//   for (const std::vector<NodeId>& nodes : grown.list) ...
//
// There are far more than can be compiled, checked and timed, so these, in this order:
//   1 the whole graph, or where nodes are denied the largest parts around them;
//   2 their halves; 3 segments between neighbouring cuts, the heaviest first; 4 quarters; 5 runs of
//   equal segments; 6 all but the first or the last segment; 7 the heaviest nodes alone; 8 eighths.
// A cut lies where few values are alive, such as between the blocks of a residual network; the
// number of values is the least, of one to four, that lets cuts come close enough together. Equal
// parts (a transformer's layers) count once against the limit, and all of them are in the list.
#pragma once

#include <functional>
#include <vector>

#include "core/base/hash.h"
#include "graphs/ir/graph.h"

namespace inlay {

struct RegionLimits {
  int most_regions = 24;  // different ones
  int most_nodes = 0;     // in one region; 0: no limit
  // Of a part of a larger region, as node_weight counts: in less there is nothing to win.
  double least_part_weight = 0;
};

struct GrownRegions {
  std::vector<std::vector<NodeId>> list;  // each convex, in topological order; all different
  int distinct = 0;                       // of different signature
  int left_out = 0;                       // further different ones that the limit kept out
};

// Equal for parts that do the same work.
using RegionSignature = std::function<Hash(const std::vector<NodeId>&)>;

// allowed  one flag per node
GrownRegions grow_regions(const Graph& graph, const std::vector<bool>& allowed,
                          const RegionLimits& limits, const RegionSignature& signature);

// Convex parts of the allowed nodes, the heaviest first: all of them where every node is allowed;
// else those with equally many denied nodes before them, and those with equally many after them,
// each connected.
std::vector<std::vector<NodeId>> largest_regions(const Graph& graph,
                                                 const std::vector<bool>& allowed);

// Roughly what a node costs: its operations, and its operands' elements as operations that take the
// time of moving one.
double node_weight(const Graph& graph, NodeId id);

}  // namespace inlay
