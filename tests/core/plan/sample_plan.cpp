#include "tests/core/plan/sample_plan.h"

#include <limits>

namespace inlay {
namespace {

RegionValue variable(const std::string& name, const std::string& port, Shape shape) {
  const int rank = static_cast<int>(shape.size());
  return {name, port, {DType::kF32, std::move(shape)}, Layout::dense(rank), false, std::nullopt};
}

RegionValue constant(const std::string& name, const std::string& port, Shape shape) {
  RegionValue value = variable(name, port, std::move(shape));
  value.is_constant = true;
  return value;
}

PlanValue value(const std::string& name, Shape shape, Storage storage) {
  PlanValue v;
  v.name = name;
  v.layout = Layout::dense(static_cast<int>(shape.size()));
  v.type = {DType::kF32, std::move(shape)};
  v.storage = storage;
  return v;
}

}  // namespace

Region sample_region() {
  Region region;
  region.pattern = "matmul_relu_pow";
  region.values = {variable("x", "A", {4, 32}),      constant("w", "B", {32, 16}),
                   variable("product", "", {4, 16}), variable("positive", "", {4, 16}),
                   constant("two", "", {}),          variable("y", "out", {4, 16})};
  region.values[4].constant = Tensor::from<float>({}, {2});
  region.nodes = {
      {"mm", "", "MatMul", {0, 1}, {2}, {}},
      {"relu", "", "Relu", {2}, {3}, {}},
      {"pow",
       "test",
       "Pow",
       {3, 4, -1},
       {5, -1},
       {{"alpha", 0.1f},
        {"axes", std::vector<std::int64_t>{-1, std::numeric_limits<std::int64_t>::max()}},
        {"bound", std::numeric_limits<float>::infinity()},
        {"bytes", std::string("\xff\x00\x01", 3)},
        {"mode", std::string("a \"quoted\" π")},
        {"names", std::vector<std::string>{"", "\xfe"}},
        {"scales", std::vector<float>{1.5f, -0.25f, 1e-40f}},
        {"table", Tensor::from<std::int64_t>({2}, {7, -7})},
        {"to", std::int64_t{1}}}}};
  region.inputs = {0};
  region.outputs = {5};
  return region;
}

Plan sample_plan() {
  Plan plan;
  plan.model = "sample";
  plan.model_hash = "00112233445566778899aabbccddeeff";
  plan.threads = 2;
  plan.plugins = {{"acme", "1.0", "abc123", "cpu", "x86 avx2"}};
  plan.constants = {{"w", {DType::kF32, {32, 16}}, {1, 2}, 64, 2048}};
  plan.regions = {sample_region()};
  plan.values = {
      value("x", {4, 32}, Storage::kInput),    value("y", {4, 16}, Storage::kTemporary),
      value("flat", {64}, Storage::kView),     value("blocked", {4, 16}, Storage::kTemporary),
      value("out", {4, 16}, Storage::kOutput), value("copy", {64}, Storage::kOutput),
      value("w", {32, 16}, Storage::kConstant)};
  plan.values[2].view_of = 1;
  plan.values[3].layout = *parse_layout("aB8b");
  plan.values[3].offset_bytes = 256;
  plan.values[6].constant = 0;
  PlanStep run{StepKind::kRun, 0, 0, {0}, {1}, {0}, {"mm", "relu", "pow"}};
  PlanStep block{StepKind::kConvert, -1, -1, {1}, {3}, {}, {}};
  PlanStep unblock{StepKind::kConvert, -1, -1, {3}, {4}, {}, {}};
  PlanStep copy{StepKind::kCopy, -1, -1, {2}, {5}, {}, {"reshape"}};
  plan.steps = {run, block, unblock, copy};
  plan.inputs = {0};
  plan.outputs = {4, 5};
  plan.arena_bytes = 512;
  plan.arena_lower_bound_bytes = 512;
  return plan;
}

Plan sample_plan_with_parts() {
  Plan plan = sample_plan();
  plan.values.push_back(value("joint", {8, 16}, Storage::kTemporary));
  plan.values.back().parts = {1, 3};
  plan.values.push_back(value("both", {8, 16}, Storage::kOutput));
  plan.steps.push_back({StepKind::kCopy, -1, -1, {7}, {8}, {}, {"concat"}});
  plan.outputs.push_back(8);
  return plan;
}

}  // namespace inlay
