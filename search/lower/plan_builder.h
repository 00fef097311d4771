// Builds a plan step by step: values, constants, regions stored once, conversions shared, and at
// the end the static memory plan. What lower.cpp and region_plan.cpp have in common.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/host/plugin_host.h"
#include "core/plan/plan.h"
#include "core/plan/weights.h"
#include "search/lower/region_plan.h"

namespace inlay {

class PlanBuilder {
 public:
  explicit PlanBuilder(PluginHost& host);

  int add_input(const std::string& name, const TensorType& type, const Layout& layout);
  int add_temporary(const std::string& name, const TensorType& type, const Layout& layout);
  int add_constant(const std::string& name, const Tensor& tensor);
  // The bytes of `source` (dense) under another shape.
  int add_view(const std::string& name, const TensorType& type, int source);

  // The values `parts` one after another in memory. For temporaries only, of whole multiples of 64
  // bytes, none a part of another value already.
  int add_joint(const std::string& name, const TensorType& type, const Layout& layout,
                std::vector<int> parts);

  // Makes a temporary the caller's memory, as the next plan output. For a value that cannot be (an
  // input, a constant, a view, a part or made of parts, an output already), adds a copy.
  void add_output(int value);

  // Runs `region` on `plugin`. `aliases`: (output, input) positions that may share memory.
  void add_run(const Region& region, const std::string& plugin, std::vector<int> inputs,
               std::vector<int> outputs, std::vector<std::string> nodes,
               std::vector<std::pair<int, int>> aliases = {});

  // `value` in another layout; a conversion already made is used again. plugin empty: the host's
  // own.
  int converted(int value, const Layout& layout, const std::string& plugin);

  const PlanValue& value(int index) const { return plan_.values[static_cast<std::size_t>(index)]; }

  // Lays out memory and hands the plan over.
  Lowered finish(std::string model, std::string model_hash);

 private:
  int add_value(PlanValue value);
  int plugin_index(const std::string& name);
  int region_index(Region region);
  int root_of(int value) const;
  std::vector<int> joint_of_parts() const;
  // per value: the value whose memory it takes over, or itself
  std::vector<int> share_in_place(const std::vector<int>& joint) const;
  void plan_memory();

  PluginHost& host_;
  Plan plan_;
  WeightsBuilder weights_;
  std::map<Hash, std::vector<int>> region_index_;
  std::map<std::pair<int, std::string>, int> conversions_;      // (value, layout) → value
  std::vector<std::vector<std::pair<int, int>>> step_aliases_;  // per step
};

}  // namespace inlay
