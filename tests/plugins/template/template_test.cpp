// The plugin that authors start from, as a host uses it.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <string>

#include "core/base/error.h"
#include "core/host/evaluate.h"
#include "core/host/plugin_host.h"

namespace inlay {
namespace {

RegionValue value(std::string name, std::string port, Shape shape) {
  const int rank = static_cast<int>(shape.size());
  return {.name = std::move(name),
          .port = std::move(port),
          .type = {DType::kF32, std::move(shape)},
          .layout = Layout::dense(rank),
          .is_constant = false,
          .constant = std::nullopt};
}

// s * x + b; `is_swapped` passes b before x.
Region scaled_add(bool is_swapped) {
  Region region;
  region.pattern = "scaled_add";
  region.values = {value("x", "X", {3}), value("s", "S", {1}), value("m", "", {3}),
                   value("b", "B", {3}), value("y", "out", {3})};
  region.values[1].is_constant = true;
  region.values[1].constant = Tensor::from<float>({1}, {2.0f});
  region.nodes = {{.name = "mul",
                   .domain = "",
                   .op = "Mul",
                   .inputs = {0, 1},
                   .outputs = {2},
                   .attributes = {}},
                  {.name = "add",
                   .domain = "",
                   .op = "Add",
                   .inputs = {2, 3},
                   .outputs = {4},
                   .attributes = {}}};
  region.inputs = is_swapped ? std::vector<int>{3, 0} : std::vector<int>{0, 3};
  region.outputs = {4};
  return region;
}

class Template : public testing::Test {
 protected:
  static HostOptions options() {
    HostOptions options;
    options.search_path = {std::filesystem::path(INLAY_BINARY_DIR) / "examples/template.so"};
    return options;
  }
  NullLog log_;
  PluginHost host_{log_, options()};
  std::shared_ptr<Device> device_ = host_.open_device("template");
};

TEST_F(Template, ReluKeepsNanAndClearsNegatives) {
  Region region;
  region.pattern = "relu";
  region.values = {value("x", "X", {2, 2}), value("y", "out", {2, 2})};
  region.nodes = {
      {.name = "r", .domain = "", .op = "Relu", .inputs = {0}, .outputs = {1}, .attributes = {}}};
  region.inputs = {0};
  region.outputs = {1};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<Tensor> inputs{Tensor::from<float>({2, 2}, {-1.0f, 0.0f, 2.5f, nan})};
  const auto outputs = evaluate(region, inputs, *device_);
  ASSERT_TRUE(outputs);
  const std::span<const float> y = outputs->at(0).as<float>();
  EXPECT_EQ(y[0], 0.0f);
  EXPECT_EQ(y[1], 0.0f);
  EXPECT_EQ(y[2], 2.5f);
  EXPECT_TRUE(std::isnan(y[3]));
}

TEST_F(Template, ScaledAddFindsItsOperandsInEitherOrder) {
  const Tensor x = Tensor::from<float>({3}, {1, 2, 3});
  const Tensor b = Tensor::from<float>({3}, {10, 20, 30});
  for (const bool is_swapped : {false, true}) {
    const std::vector<Tensor> inputs =
        is_swapped ? std::vector<Tensor>{b, x} : std::vector<Tensor>{x, b};
    const auto outputs = evaluate(scaled_add(is_swapped), inputs, *device_);
    ASSERT_TRUE(outputs);
    EXPECT_EQ(outputs->at(0), Tensor::from<float>({3}, {12, 24, 36}));
  }
}

TEST_F(Template, ScaledAddDeclinesAConstantOperand) {
  Region region = scaled_add(false);
  region.values[3].is_constant = true;
  region.values[3].constant = Tensor::from<float>({3}, {10, 20, 30});
  region.inputs = {0};
  std::string declined;
  EXPECT_EQ(device_->compile(region, {}, &declined), nullptr);
  EXPECT_EQ(declined, "scaled_add: X and B must not be constants");
}

TEST(TemplateSource, FitsOnOneScreenfulOfSixtyLines) {
  std::ifstream source(INLAY_SOURCE_DIR "/plugins/template/template.cpp");
  ASSERT_TRUE(source);
  int lines = 0;
  for (std::string line; std::getline(source, line);) ++lines;
  EXPECT_GT(lines, 0);
  EXPECT_LE(lines, 60);
}

}  // namespace
}  // namespace inlay
