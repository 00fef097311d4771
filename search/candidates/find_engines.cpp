#include "search/candidates/find_engines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "graphs/ir/op_table.h"
#include "graphs/onnx/export.h"
#include "search/candidates/engine_regions.h"

namespace inlay {
namespace {

class EngineFinder {
 public:
  EngineFinder(const Graph& graph, const std::string& plugin, const ManifestPattern& pattern,
               const CandidateFilter& filter)
      : graph_(graph), plugin_(plugin), pattern_(pattern), filter_(filter) {
    const EngineRule& rule = pattern.any;
    allow_.insert(rule.allow.begin(), rule.allow.end());
    deny_.insert(rule.deny.begin(), rule.deny.end());
    for (const std::string& name : rule.dtypes) dtypes_.insert(parse_dtype(name).value());
  }

  EngineFinds find() {
    finds_.offer.plugin = plugin_;
    const std::vector<bool> allowed = allowed_nodes();
    RegionLimits limits;
    limits.most_regions = pattern_.any.max_regions > 0
                              ? std::min(pattern_.any.max_regions, kMostEngineRegions)
                              : kMostEngineRegions;
    limits.least_part_weight = kLeastPartWeight;
    limits.most_nodes = filter_.is_fusing ? pattern_.any.max_nodes : 1;
    const RegionSignature signature = [this](const std::vector<NodeId>& nodes) {
      Candidate plain = candidate_of(nodes);
      plain.onnx_opset = 0;  // it follows from the rest
      return region_hash(make_region(graph_, plain), /*with_constants=*/false);
    };
    const GrownRegions grown = grow_regions(graph_, allowed, limits, signature);
    finds_.offer.offered = grown.distinct;
    finds_.offer.left_out = grown.left_out;
    for (const std::vector<NodeId>& nodes : grown.list) {
      finds_.candidates.push_back(candidate_of(nodes));
    }
    return std::move(finds_);
  }

 private:
  std::vector<bool> allowed_nodes() {
    std::vector<std::string> unwritable;
    const bool is_written =
        pattern_.any.opset >= kOldestExportOpset && pattern_.any.opset <= kNewestExportOpset;
    if (is_written) unwritable = unwritable_nodes(graph_, pattern_.any.opset);
    std::vector<bool> allowed;
    for (std::int32_t n = 0; n < graph_.node_count(); ++n) {
      std::string reason =
          is_written ? why_denied(graph_.node({n}))
                     : fmt::format("it wants opset {}, {} to {} are written", pattern_.any.opset,
                                   kOldestExportOpset, kNewestExportOpset);
      if (reason.empty() && is_written) reason = unwritable[static_cast<std::size_t>(n)];
      allowed.push_back(reason.empty());
      if (!reason.empty()) {
        finds_.why_not.push_back({{n}, plugin_, pattern_.id, std::move(reason)});
      }
    }
    return allowed;
  }

  std::string why_denied(const Node& node) const {
    if (!node.domain.empty() || find_op(node.op) == nullptr || !node.bodies.empty()) {
      return fmt::format("{} is no operator for engines", node.op);
    }
    if (deny_.contains(node.op) || (!allow_.empty() && !allow_.contains(node.op))) {
      return fmt::format("it does not take {}", node.op);
    }
    for (const std::vector<ValueId>* side : {&node.inputs, &node.outputs}) {
      for (const ValueId id : *side) {
        if (id.is_none() || dtypes_.empty()) continue;
        const Value& value = graph_.value(id);
        if (dtypes_.contains(value.type.dtype)) continue;
        return fmt::format("'{}' is {}: it takes {}", value.name, to_string(value.type),
                           fmt::join(pattern_.any.dtypes, ", "));
      }
    }
    const auto pin = filter_.pins.find(node.name);
    if (pin != filter_.pins.end() && pin->second != plugin_) {
      return fmt::format("'{}' is pinned to {}", pin->first, pin->second);
    }
    return {};
  }

  Candidate candidate_of(const std::vector<NodeId>& nodes) const {
    Candidate c;
    c.nodes = nodes;
    c.plugin = plugin_;
    c.pattern = pattern_.id;
    c.tolerance = pattern_.tolerance;
    c.onnx_opset = pattern_.any.opset;
    const Boundary boundary = find_boundary(graph_, nodes);
    c.inputs = boundary.inputs;
    c.outputs = boundary.outputs;
    for (const ValueId id : c.inputs) c.input_layouts.push_back(dense(id));
    for (const ValueId id : c.outputs) c.output_layouts.push_back(dense(id));
    return c;
  }

  Layout dense(ValueId id) const {
    return Layout::dense(static_cast<int>(graph_.value(id).type.shape.size()));
  }

  const Graph& graph_;
  const std::string& plugin_;
  const ManifestPattern& pattern_;
  const CandidateFilter& filter_;
  std::set<std::string> allow_;
  std::set<std::string> deny_;
  std::set<DType> dtypes_;
  EngineFinds finds_;
};

}  // namespace

EngineFinds find_engine_regions(const Graph& graph, const std::string& plugin,
                                const ManifestPattern& pattern, const CandidateFilter& filter) {
  return EngineFinder(graph, plugin, pattern, filter).find();
}

}  // namespace inlay
