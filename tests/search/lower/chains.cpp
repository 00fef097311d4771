// A plugin with the two kinds of pattern whose regions vary in shape: a tap, which is an output
// where something outside reads it, and a fuse rule, whose operands are ports Y, Y.1, Y.2, …
#include <algorithm>
#include <string>

#include "core/sdk/plugin.h"

using namespace inlay::sdk;

namespace {

int output_position(const RegionView& region, std::string_view port) {
  const auto value = region.find_port(port);
  if (!value) return -1;
  for (std::size_t i = 0; i < region.outputs().size(); ++i) {
    if (region.outputs()[i] == value->index()) return static_cast<int>(i);
  }
  return -1;
}

// Relu(^s=Add(X,Y))
struct AddRelu : Kernel {
  explicit AddRelu(const RegionView& region)
      : x_(region.input_position(region.port("X").index())),
        y_(region.input_position(region.port("Y").index())),
        sum_(output_position(region, "s")),
        out_(output_position(region, "out")) {}

  void run(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
           const RunContext&) const override {
    const float* x = inputs[static_cast<std::size_t>(x_)].as<float>();
    const float* y = inputs[static_cast<std::size_t>(y_)].as<float>();
    const TensorView& out = outputs[static_cast<std::size_t>(out_)];
    for (std::int64_t i = 0; i < out.count(); ++i) {
      const float sum = x[i] + y[i];
      if (sum_ >= 0) outputs[static_cast<std::size_t>(sum_)].as<float>()[i] = sum;
      out.as<float>()[i] = std::max(0.0f, sum);
    }
  }

  int x_, y_, sum_, out_;
};

// Neg(X), then any of Abs(.), Add(.,Y) and Mul(.,Y)
struct Chain : Kernel {
  explicit Chain(const RegionView& region) : x_(region.input_position(region.port("X").index())) {
    int operand = 0;
    for (int i = 1; i < region.node_count(); ++i) {
      const std::string op(region.node(i).op());
      int position = -1;
      if (op != "Abs") {
        const std::string port = operand == 0 ? "Y" : "Y." + std::to_string(operand);
        position = region.input_position(region.port(port).index());
        ++operand;
      }
      links_.emplace_back(op, position);
    }
  }

  void run(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
           const RunContext&) const override {
    for (std::int64_t i = 0; i < outputs[0].count(); ++i) {
      float value = -inputs[static_cast<std::size_t>(x_)].as<float>()[i];
      for (const auto& [op, position] : links_) {
        if (op == "Abs") value = std::abs(value);
        if (op == "Add") value += inputs[static_cast<std::size_t>(position)].as<float>()[i];
        if (op == "Mul") value *= inputs[static_cast<std::size_t>(position)].as<float>()[i];
      }
      outputs[0].as<float>()[i] = value;
    }
  }

  int x_;
  std::vector<std::pair<std::string, int>> links_;
};

std::unique_ptr<Kernel> compile(const RegionView& region, const CompileContext&) {
  if (region.pattern() == "add_relu") return std::make_unique<AddRelu>(region);
  return std::make_unique<Chain>(region);
}

constexpr Pattern kPatterns[] = {{.id = "add_relu",
                                  .match = "Relu(^s=Add(X,Y))",
                                  .where = "X,Y: f32[n,c] dynamic",
                                  .tolerance = "exact"},
                                 {.id = "chain",
                                  .match = "Neg(X)",
                                  .fuse = "5: Abs(.); [Add|Mul](.,Y)",
                                  .where = "X,Y: f32[n,c] dynamic",
                                  .tolerance = "exact"}};

}  // namespace

INLAY_PLUGIN((PluginInfo{.name = "chains", .version = "1.0"}), kPatterns, compile);
