// A complete plugin to start from: two kernels, their patterns, and a compile function that tells
// them apart.
#include <algorithm>

#include "core/sdk/plugin.h"

using namespace inlay::sdk;

namespace {

// Elements too few for a thread of their own: below this, handing the work out costs more than
// doing it.
constexpr std::int64_t kGrain = 16384;

struct Relu : Kernel {
  void run(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
           const RunContext& context) const override {
    const float* x = inputs[0].as<float>();
    float* y = outputs[0].as<float>();
    context.host.parallel_for(inputs[0].count(), kGrain, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) y[i] = x[i] < 0.0f ? 0.0f : x[i];  // a NaN passes
    });
  }
};

// y = scale * x + b, the scale a constant of one element.
struct ScaledAdd : Kernel {
  ScaledAdd(float scale, int x, int b) : scale_(scale), x_(x), b_(b) {}

  void run(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
           const RunContext&) const override {
    const float *x = inputs[x_].as<float>(), *b = inputs[b_].as<float>();
    float* y = outputs[0].as<float>();
    for (std::int64_t i = 0; i < outputs[0].count(); ++i) y[i] = scale_ * x[i] + b[i];
  }
  bool retains_constants() const override { return false; }

  float scale_;
  int x_, b_;  // positions among the inputs: the host may pass them in either order
};

// clang-format off
constexpr Pattern kPatterns[] = {
    {.id = "relu", .match = "Relu(X)", .where = "X: f32", .tolerance = "exact", .alias = "out=X"},
    {.id = "scaled_add", .match = "Add(Mul(X,S),B)",
     .where = "X: f32[n]; S: f32[1] const; B: f32[n]", .tolerance = "elementwise"}};
// clang-format on

std::unique_ptr<Kernel> compile(const RegionView& region, const CompileContext&) {
  if (region.pattern() == "relu") return std::make_unique<Relu>();
  const int x = region.input_position(region.port("X").index());
  const int b = region.input_position(region.port("B").index());
  if (x < 0 || b < 0) throw Decline("scaled_add: X and B must not be constants");
  return std::make_unique<ScaledAdd>(region.port("S").constant_as<float>()[0], x, b);
}

}  // namespace

INLAY_PLUGIN((PluginInfo{.name = "template", .version = "1.0"}), kPatterns, compile);
