#include "search/lower/lower.h"

#include <map>
#include <utility>

#include "graphs/ir/graph_hash.h"
#include "search/lower/plan_builder.h"

namespace inlay {
namespace {

// Follows the placement, keeping for every graph value the plan value in the layout its producer
// gave it.
class Lowering {
 public:
  Lowering(const Graph& graph, const Candidates& candidates, const CostTable& costs,
           PluginHost& host)
      : graph_(graph), candidates_(candidates), costs_(costs), builder_(host) {}

  Lowered run(const Placement& placement) {
    for (const ValueId id : graph_.inputs()) {
      const Value& value = graph_.value(id);
      native_[id] = builder_.add_input(value.name, value.type, dense(value.type));
    }
    for (const int id : placement.candidates) {
      add_candidate(id);
    }
    for (const ValueId id : graph_.outputs()) {
      builder_.add_output(in_layout(id, dense(graph_.value(id).type)));
    }
    return builder_.finish(graph_.name(), graph_hash(graph_).hex());
  }

 private:
  static Layout dense(const TensorType& type) {
    return Layout::dense(static_cast<int>(type.shape.size()));
  }

  void add_candidate(int id) {
    const Candidate& candidate = candidates_.list[static_cast<std::size_t>(id)];
    if (candidate.pattern == kJointPattern) {
      const ValueId target = candidate.outputs.front();
      std::vector<int> parts;
      for (const ValueId part : graph_.node(candidate.nodes.front()).inputs) {
        parts.push_back(in_layout(part, candidate.output_layouts.front()));
      }
      const Value& value = graph_.value(target);
      native_[target] = builder_.add_joint(value.name, value.type, candidate.output_layouts.front(),
                                           std::move(parts));
      return;
    }
    if (candidate.plugin == kViewPlugin) {
      const ValueId source = graph_.node(candidate.nodes.front()).inputs.front();
      const ValueId target = candidate.outputs.front();
      const int dense_source = in_layout(source, dense(graph_.value(source).type));
      const Value& value = graph_.value(target);
      native_[target] = builder_.add_view(value.name, value.type, dense_source);
      return;
    }
    std::vector<int> inputs;
    for (std::size_t i = 0; i < candidate.inputs.size(); ++i) {
      inputs.push_back(in_layout(candidate.inputs[i], candidate.input_layouts[i]));
    }
    std::vector<int> outputs;
    for (std::size_t i = 0; i < candidate.outputs.size(); ++i) {
      const Value& value = graph_.value(candidate.outputs[i]);
      outputs.push_back(
          builder_.add_temporary(value.name, value.type, candidate.output_layouts[i]));
      native_[candidate.outputs[i]] = outputs.back();
    }
    std::vector<std::string> names;
    for (const NodeId node : candidate.nodes) names.push_back(graph_.node(node).name);
    Region region = make_region(graph_, candidate);
    region.most_threads = costs_.candidates[static_cast<std::size_t>(id)].most_threads;
    builder_.add_run(region, candidate.plugin, std::move(inputs), std::move(outputs),
                     std::move(names), candidate.aliases);
  }

  int in_layout(ValueId id, const Layout& layout) {
    const Value& value = graph_.value(id);
    const auto found = native_.find(id);
    const int native = found != native_.end()
                           ? found->second
                           : (native_[id] = builder_.add_constant(value.name, *value.constant));
    const Layout from = builder_.value(native).layout;
    if (from == layout) return native;
    return builder_.converted(native, layout, costs_.conversion(value.type, from, layout).plugin);
  }

  const Graph& graph_;
  const Candidates& candidates_;
  const CostTable& costs_;
  PlanBuilder builder_;
  std::map<ValueId, int> native_;
};

}  // namespace

Lowered lower(const Graph& graph, const Candidates& candidates, const Placement& placement,
              const CostTable& costs, PluginHost& host) {
  return Lowering(graph, candidates, costs, host).run(placement);
}

}  // namespace inlay
