#include "search/lower/plan_builder.h"

#include <algorithm>

#include "core/plan/memory_plan.h"

namespace inlay {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

std::uint64_t physical_bytes(const PlanValue& value) { return value.layout.size_bytes(value.type); }

}  // namespace

PlanBuilder::PlanBuilder(PluginHost& host) : host_(host) { plan_.threads = host.threads(); }

int PlanBuilder::add_value(PlanValue value) {
  plan_.values.push_back(std::move(value));
  return static_cast<int>(plan_.values.size()) - 1;
}

int PlanBuilder::add_input(const std::string& name, const TensorType& type, const Layout& layout) {
  PlanValue value{.name = name, .type = type, .layout = layout};
  value.storage = Storage::kInput;
  plan_.inputs.push_back(add_value(std::move(value)));
  return plan_.inputs.back();
}

int PlanBuilder::add_temporary(const std::string& name, const TensorType& type,
                               const Layout& layout) {
  return add_value({.name = name, .type = type, .layout = layout});
}

int PlanBuilder::add_constant(const std::string& name, const Tensor& tensor) {
  const int constant = weights_.add(name, tensor);
  for (std::size_t i = 0; i < plan_.values.size(); ++i) {
    if (plan_.values[i].constant == constant) return static_cast<int>(i);
  }
  PlanValue value{.name = name, .type = tensor.type()};
  value.layout = Layout::dense(static_cast<int>(tensor.shape().size()));
  value.storage = Storage::kConstant;
  value.constant = constant;
  return add_value(std::move(value));
}

int PlanBuilder::add_view(const std::string& name, const TensorType& type, int source) {
  PlanValue value{.name = name, .type = type};
  value.layout = Layout::dense(static_cast<int>(type.shape.size()));
  value.storage = Storage::kView;
  value.view_of = root_of(source);
  return add_value(std::move(value));
}

int PlanBuilder::add_joint(const std::string& name, const TensorType& type, const Layout& layout,
                           std::vector<int> parts) {
  return add_value({.name = name, .type = type, .layout = layout, .parts = std::move(parts)});
}

void PlanBuilder::add_output(int value) {
  PlanValue& source = plan_.values[at(value)];
  const bool is_joined = std::any_of(plan_.values.begin(), plan_.values.end(), [&](const auto& v) {
    return std::find(v.parts.begin(), v.parts.end(), value) != v.parts.end();
  });
  if (source.storage == Storage::kTemporary && source.parts.empty() && !is_joined) {
    source.storage = Storage::kOutput;
    plan_.outputs.push_back(value);
    return;
  }
  PlanValue copy{.name = source.name, .type = source.type, .layout = source.layout};
  copy.storage = Storage::kOutput;
  const int target = add_value(std::move(copy));
  PlanStep step;
  step.kind = StepKind::kCopy;
  step.inputs = {value};
  step.outputs = {target};
  plan_.steps.push_back(std::move(step));
  step_aliases_.emplace_back();
  plan_.outputs.push_back(target);
}

void PlanBuilder::add_run(const Region& region, const std::string& plugin, std::vector<int> inputs,
                          std::vector<int> outputs, std::vector<std::string> nodes,
                          std::vector<std::pair<int, int>> aliases) {
  PlanStep step;
  step.plugin = plugin_index(plugin);
  Region stored = region;
  for (RegionNode& node : stored.nodes) node.name.clear();
  for (RegionValue& value : stored.values) {
    value.name.clear();
    if (!value.is_constant || element_count(value.type.shape) <= kMaxInlineElements) continue;
    step.constants.push_back(weights_.add(nodes.empty() ? plugin : nodes.front(), *value.constant));
    value.constant.reset();
  }
  step.region = region_index(std::move(stored));
  step.inputs = std::move(inputs);
  step.outputs = std::move(outputs);
  step.nodes = std::move(nodes);
  plan_.steps.push_back(std::move(step));
  step_aliases_.push_back(std::move(aliases));
}

int PlanBuilder::converted(int value, const Layout& layout, const std::string& plugin) {
  const PlanValue source = plan_.values[at(value)];
  if (source.layout == layout) return value;
  const auto [entry, is_new] = conversions_.try_emplace({value, layout.text()}, -1);
  if (!is_new) return entry->second;

  const int target = add_temporary(source.name, source.type, layout);
  entry->second = target;
  if (!plugin.empty()) {
    add_run(conversion_region(source.type, source.layout, layout), plugin, {value}, {target}, {});
    return target;
  }
  PlanStep step;
  step.kind = StepKind::kConvert;
  step.inputs = {value};
  step.outputs = {target};
  plan_.steps.push_back(std::move(step));
  step_aliases_.emplace_back();
  return target;
}

int PlanBuilder::plugin_index(const std::string& name) {
  for (std::size_t i = 0; i < plan_.plugins.size(); ++i) {
    if (plan_.plugins[i].name == name) return static_cast<int>(i);
  }
  const std::shared_ptr<Device> device = host_.open_device(name);
  const PluginRecord* record = host_.find(name);
  plan_.plugins.push_back({.name = name,
                           .version = record->manifest.version,
                           .build_id = record->build_id,
                           .device = device->name(),
                           .fingerprint = device->fingerprint()});
  return static_cast<int>(plan_.plugins.size()) - 1;
}

int PlanBuilder::region_index(Region region) {
  std::vector<int>& bucket = region_index_[region_hash(region, /*with_constants=*/false)];
  for (const int index : bucket) {
    if (plan_.regions[at(index)] == region) return index;
  }
  plan_.regions.push_back(std::move(region));
  bucket.push_back(static_cast<int>(plan_.regions.size()) - 1);
  return bucket.back();
}

int PlanBuilder::root_of(int value) const {
  const int source = plan_.values[at(value)].view_of;
  return source < 0 ? value : source;
}

// Per value: what it is a part of, or -1.
std::vector<int> PlanBuilder::joint_of_parts() const {
  std::vector<int> joint(plan_.values.size(), -1);
  for (std::size_t v = 0; v < plan_.values.size(); ++v) {
    for (const int part : plan_.values[v].parts) joint[at(part)] = static_cast<int>(v);
  }
  return joint;
}

std::vector<int> PlanBuilder::share_in_place(const std::vector<int>& joint) const {
  std::vector<int> last_read(plan_.values.size(), -1);
  for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
    for (const int input : plan_.steps[s].inputs) {
      last_read[at(root_of(input))] = static_cast<int>(s);
    }
  }
  std::vector<int> owner(plan_.values.size());
  for (std::size_t v = 0; v < owner.size(); ++v) owner[v] = static_cast<int>(v);

  for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
    const PlanStep& step = plan_.steps[s];
    for (const auto& [out, in] : step_aliases_[s]) {
      const int target = step.outputs[at(out)];
      const int source = step.inputs[at(in)];
      const PlanValue& to = plan_.values[at(target)];
      const PlanValue& from = plan_.values[at(source)];
      const auto reads = std::count_if(step.inputs.begin(), step.inputs.end(),
                                       [&](int input) { return root_of(input) == source; });
      // The input's bytes may be overwritten only if nobody else reads them, now or later.
      const bool is_free =
          from.storage == Storage::kTemporary && to.storage == Storage::kTemporary &&
          joint[at(source)] < 0 && joint[at(target)] < 0 && from.parts.empty() &&
          last_read[at(source)] == static_cast<int>(s) && reads == 1 &&
          physical_bytes(from) == physical_bytes(to) && owner[at(target)] == target;
      if (is_free) owner[at(target)] = owner[at(source)];
    }
  }
  return owner;
}

void PlanBuilder::plan_memory() {
  const std::vector<int> joint = joint_of_parts();
  std::vector<int> owner = share_in_place(joint);
  // A part's memory is that of the outermost value around it.
  const auto outermost = [&](int value) {
    while (joint[at(value)] >= 0) value = joint[at(value)];
    return value;
  };
  for (int& value : owner) value = outermost(value);
  std::vector<Lifetime> lifetimes;
  std::vector<int> slot(plan_.values.size(), -1);  // of the owner
  const auto touch = [&](int value, std::size_t step) {
    const int root = owner[at(root_of(value))];
    if (plan_.values[at(root)].storage != Storage::kTemporary) return;
    if (slot[at(root)] < 0) {
      slot[at(root)] = static_cast<int>(lifetimes.size());
      lifetimes.push_back(
          {static_cast<int>(step), static_cast<int>(step), physical_bytes(plan_.values[at(root)])});
    }
    lifetimes[at(slot[at(root)])].last = static_cast<int>(step);
  };
  for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
    for (const int value : plan_.steps[s].inputs) touch(value, s);
    for (const int value : plan_.steps[s].outputs) touch(value, s);
  }
  const ArenaPlan arena = plan_arena(lifetimes);
  for (std::size_t v = 0; v < plan_.values.size(); ++v) {
    const int lifetime = slot[at(owner[v])];
    if (plan_.values[v].storage == Storage::kTemporary && lifetime >= 0) {
      plan_.values[v].offset_bytes = arena.offsets[at(lifetime)];
    }
  }
  // A joint value comes after its parts, so going backwards an outer one is placed before an inner.
  for (std::size_t v = plan_.values.size(); v-- > 0;) {
    std::uint64_t offset = plan_.values[v].offset_bytes;
    for (const int part : plan_.values[v].parts) {
      plan_.values[at(part)].offset_bytes = offset;
      offset += physical_bytes(plan_.values[at(part)]);
    }
  }
  plan_.arena_bytes = arena.size_bytes;
  plan_.arena_lower_bound_bytes = arena.lower_bound_bytes;
}

Lowered PlanBuilder::finish(std::string model, std::string model_hash) {
  plan_memory();
  plan_.model = std::move(model);
  plan_.model_hash = std::move(model_hash);
  plan_.constants = weights_.constants();
  return {std::move(plan_), weights_.weights()};
}

Region conversion_region(const TensorType& type, const Layout& from, const Layout& to) {
  Region region;
  region.pattern = "convert";
  RegionValue source{.name = "x", .port = "X", .type = type, .layout = from};
  RegionValue target{.name = "y", .port = "out", .type = type, .layout = to};
  region.values = {std::move(source), std::move(target)};
  region.nodes = {
      {.name = "convert", .domain = "inlay", .op = "Convert", .inputs = {0}, .outputs = {1}}};
  region.inputs = {0};
  region.outputs = {1};
  return region;
}

}  // namespace inlay
