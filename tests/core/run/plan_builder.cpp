#include "tests/core/run/plan_builder.h"

#include "core/plan/plan_text.h"

namespace inlay {

std::vector<std::filesystem::path> runner_path() { return {INLAY_BINARY_DIR "/run_mutants"}; }

PlanBuilder::PlanBuilder(PluginHost& host) {
  const auto device = host.open_device("runner");
  const PluginRecord& record = *host.find("runner");
  plan_.model = "built";
  plan_.model_hash = "0";
  plan_.threads = host.threads();
  plan_.plugins = {
      {"runner", record.manifest.version, record.build_id, device->name(), device->fingerprint()}};
}

int PlanBuilder::add(const std::string& name, Shape shape, const std::string& layout,
                     Storage storage) {
  PlanValue value;
  value.name = name;
  value.layout =
      layout.empty() ? Layout::dense(static_cast<int>(shape.size())) : parse_layout(layout).value();
  value.type = {DType::kF32, std::move(shape)};
  value.storage = storage;
  if (storage == Storage::kTemporary) {
    value.offset_bytes = plan_.arena_bytes;
    plan_.arena_bytes += (value.layout.size_bytes(value.type) + 63) / 64 * 64;
    plan_.arena_lower_bound_bytes = plan_.arena_bytes;
  }
  plan_.values.push_back(value);
  return static_cast<int>(plan_.values.size()) - 1;
}

int PlanBuilder::input(const std::string& name, Shape shape, const std::string& layout) {
  plan_.inputs.push_back(add(name, std::move(shape), layout, Storage::kInput));
  return plan_.inputs.back();
}

int PlanBuilder::output(const std::string& name, Shape shape, const std::string& layout) {
  plan_.outputs.push_back(add(name, std::move(shape), layout, Storage::kOutput));
  return plan_.outputs.back();
}

int PlanBuilder::temporary(Shape shape, const std::string& layout) {
  return add("t", std::move(shape), layout, Storage::kTemporary);
}

int PlanBuilder::view(int of, Shape shape) {
  const int index = add("view", std::move(shape), "", Storage::kView);
  plan_.values.back().view_of = of;
  return index;
}

int PlanBuilder::constant(const Tensor& tensor) {
  const int index = add("constant", tensor.shape(), "", Storage::kConstant);
  plan_.values.back().constant = weights_.add("constant", tensor);
  return index;
}

void PlanBuilder::run(const std::string& op, const std::vector<int>& inputs, int output,
                      const std::optional<Tensor>& weight) {
  Region region;
  region.pattern = "runner";
  PlanStep step{
      StepKind::kRun, 0, static_cast<int>(plan_.regions.size()), inputs, {output}, {}, {op}};
  RegionNode node{"n", "test", op, {}, {}, {}};
  const auto add_value = [&](int v) {
    const PlanValue& value = plan_.values[static_cast<std::size_t>(v)];
    region.values.push_back({"v", "", value.type, value.layout, false, std::nullopt});
    return static_cast<int>(region.values.size()) - 1;
  };
  for (const int v : inputs) region.inputs.push_back(add_value(v));
  node.inputs = region.inputs;
  if (weight) {
    const Layout dense = Layout::dense(static_cast<int>(weight->shape().size()));
    region.values.push_back({"w", "W", weight->type(), dense, true, std::nullopt});
    node.inputs.push_back(static_cast<int>(region.values.size()) - 1);
    if (element_count(weight->shape()) <= kMaxInlineElements) {
      region.values.back().constant = *weight;
    } else {
      step.constants = {weights_.add("w", *weight)};
    }
  }
  region.outputs = {add_value(output)};
  node.outputs = region.outputs;
  region.nodes = {node};
  plan_.regions.push_back(region);
  plan_.steps.push_back(step);
}

void PlanBuilder::convert(int from, int to) {
  plan_.steps.push_back({StepKind::kConvert, -1, -1, {from}, {to}, {}, {"convert"}});
}

void PlanBuilder::copy(int from, int to) {
  plan_.steps.push_back({StepKind::kCopy, -1, -1, {from}, {to}, {}, {"copy"}});
}

Plan PlanBuilder::plan() const {
  Plan plan = plan_;
  plan.constants = weights_.constants();
  return parse_plan(to_text(plan), "built");
}

}  // namespace inlay
