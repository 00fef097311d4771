// What can run: for every plugin, the regions it declares to be able to run on this graph. Never
// what should.
//
//   const Candidates candidates = find_candidates(graph, host);
//   for (const Candidate& c : candidates.list) ...
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/host/manifest.h"
#include "core/host/plugin_host.h"
#include "core/plan/region.h"
#include "graphs/ir/graph.h"

namespace inlay {

// One way to run a convex set of nodes: a plugin, a pattern, and the layouts it reads and writes.
struct Candidate {
  std::vector<NodeId> nodes;  // topological order
  std::string plugin;         // kViewPlugin for what the host does by arranging memory
  std::string pattern;
  std::string tolerance;
  std::vector<ValueId> inputs;               // non-constant, in the region's order
  std::vector<ValueId> outputs;              // read outside, in the region's order
  std::vector<Layout> input_layouts;         // one per input
  std::vector<Layout> output_layouts;        // one per output
  std::map<ValueId, std::string> ports;      // value → pattern variable
  std::vector<std::pair<int, int>> aliases;  // (output, input) positions that may share memory
  int onnx_opset = 0;  // of an engine's: its region carries an ONNX model of this opset
};

// The host itself, which copies nothing: a Reshape of a dense value is the same bytes, and a Concat
// whose operands lie one after another in memory is there once they are written.
inline constexpr const char* kViewPlugin = "inlay.view";
inline constexpr const char* kJointPattern = "joint";  // the latter's pattern

// Runs every operator; written to be right, it helps out where nobody else runs a node.
inline constexpr const char* kReferencePlugin = "reference";

// Why a plugin does not run a node: shown by `inlay explain --node`.
struct WhyNot {
  NodeId node;
  std::string plugin;
  std::string pattern;
  std::string reason;
};

// How many different regions an engine was offered, and how many the limit left out.
struct EngineOffer {
  std::string plugin;
  int offered = 0;
  int left_out = 0;
};

struct Candidates {
  std::vector<Candidate> list;  // index = candidate id; deterministic order
  std::vector<WhyNot> why_not;  // near misses, non-convex matches, missing CPU features
  // Ids of the candidates that contain each node, ascending.
  std::vector<std::vector<int>> by_node;
  std::vector<EngineOffer> engines;
};

struct CandidateFilter {
  std::vector<std::string> exclude;         // plugins
  std::map<std::string, std::string> pins;  // node name → plugin
  bool is_fusing = true;                    // false: every node is a region of its own
};

// throws  Error{kNotFound} if a pin names an unknown node or plugin; Error{kUnsupported} naming a
//         node that no plugin can run
Candidates find_candidates(const Graph& graph, const PluginHost& host,
                           const CandidateFilter& filter = {});

// The same for manifests that come from elsewhere than a host's plugins.
Candidates find_candidates(const Graph& graph, const std::vector<Manifest>& manifests,
                           const CandidateFilter& filter = {});

// What is wrong with the first of the plugin's patterns that cannot be read; empty if all can. For
// HostOptions::find_fault: one such plugin is refused, the others stay of use.
std::string pattern_fault(const Manifest& manifest);

// What a set of nodes reads and gives, in a region's order.
//   nodes  topological order
struct Boundary {
  std::vector<ValueId> inputs;   // non-constant, made outside, by first use
  std::vector<ValueId> outputs;  // read outside or graph outputs, by production
};
Boundary find_boundary(const Graph& graph, const std::vector<NodeId>& nodes);

// The nodes as a region, with the candidate's layouts and ports; constants carry their bytes. Of an
// engine's candidate it carries its ONNX form too (core/plan/onnx_constant.h).
Region make_region(const Graph& graph, const Candidate& candidate);

}  // namespace inlay
