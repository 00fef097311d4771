#include "search/lower/region_plan.h"

#include <gtest/gtest.h>

#include "core/plan/plan_text.h"
#include "core/run/executor.h"
#include "core/run/random_inputs.h"
#include "core/run/thread_pool.h"
#include "search/lower/plan_builder.h"

namespace inlay {
namespace {

class RegionPlan : public ::testing::Test {
 protected:
  RegionPlan() : pool_(1), host_(log_, {.search_path = {INLAY_PLUGIN_DIR "/reference.so"}}) {}

  // y = relu(x w + w_row), where x is used once and the constant w twice.
  static Region fused_region() {
    Region region;
    region.pattern = "test";
    const auto value = [](const char* name, Shape shape) {
      return RegionValue{.name = name,
                         .type = {DType::kF32, shape},
                         .layout = Layout::dense(static_cast<int>(shape.size()))};
    };
    region.values = {value("x", {3, 4}), value("w", {4, 4}), value("m", {3, 4}),
                     value("b", {4}),    value("s", {3, 4}), value("y", {3, 4})};
    for (const int constant : {1, 3}) {
      RegionValue& v = region.values[static_cast<std::size_t>(constant)];
      v.is_constant = true;
      v.constant = Tensor::zeros(v.type);
      auto* data = reinterpret_cast<float*>(v.constant->mutable_bytes().data());
      for (std::int64_t i = 0; i < element_count(v.type.shape); ++i)
        data[i] = static_cast<float>(i % 5) - 2;
    }
    region.nodes = {{.name = "mm", .op = "MatMul", .inputs = {0, 1}, .outputs = {2}},
                    {.name = "add", .op = "Add", .inputs = {2, 3}, .outputs = {4}},
                    {.name = "relu", .op = "Relu", .inputs = {4}, .outputs = {5}}};
    region.inputs = {0};
    region.outputs = {5};
    return region;
  }

  NullLog log_;
  ThreadPool pool_;
  PluginHost host_;
};

TEST_F(RegionPlan, ReferenceRunsAFusedRegionNodeByNode) {
  const Lowered reference = lower_reference(fused_region(), host_);
  ASSERT_EQ(reference.plan.steps.size(), 3u);
  EXPECT_EQ(parse_plan(to_text(reference.plan), "test"), reference.plan);

  Executor executor(reference.plan, reference.weights, host_);
  const Tensor x = Tensor::from<float>({3, 4}, {1, 0, 0, 0, 0, 1, 0, 0, 1, 1, 1, 1});
  const Tensor y = executor.run(std::vector{x})[0];
  // w rows: {-2,-1,0,1}, {2,-2,-1,0}, {1,2,-2,-1}, {0,1,2,-2}; b = {-2,-1,0,1}.
  EXPECT_EQ(y, Tensor::from<float>({3, 4}, {0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0}));
}

TEST_F(RegionPlan, DenseBoundaryConvertsOnTheWayInAndOut) {
  const Layout blocked = *parse_layout("aBcd16b");
  const Layout dense = Layout::dense(4);
  Region region = conversion_region({DType::kF32, {1, 20, 3, 3}}, blocked, blocked);
  region.nodes[0] = {.name = "relu", .op = "Relu", .inputs = {0}, .outputs = {1}};
  const Plan as_region = lower_region(region, "reference", host_).plan;
  EXPECT_EQ(as_region.steps.size(), 1u);
  EXPECT_EQ(as_region.values[static_cast<std::size_t>(as_region.inputs[0])].layout, blocked);
  const Plan checked = lower_region(region, "reference", host_, EdgeLayout::kDense).plan;
  EXPECT_EQ(checked.steps.size(), 3u);
  EXPECT_EQ(checked.values[static_cast<std::size_t>(checked.inputs[0])].layout, dense);
  EXPECT_EQ(checked.values[static_cast<std::size_t>(checked.outputs[0])].layout, dense);
}

TEST_F(RegionPlan, UnknownPluginIsNamed) {
  try {
    lower_region(fused_region(), "nosuch", host_);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kNotFound);
    EXPECT_NE(std::string(e.what()).find("nosuch"), std::string::npos);
  }
}

}  // namespace
}  // namespace inlay
