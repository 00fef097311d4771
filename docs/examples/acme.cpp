// A plugin outside the tree: one kernel, what it can run, and a macro.
#include <algorithm>

#include "core/sdk/plugin.h"

using namespace inlay::sdk;

namespace {

struct Relu : Kernel {
  void run(std::span<const TensorView> in, std::span<const TensorView> out,
           const RunContext&) const override {
    const float* x = in[0].as<float>();
    float* y = out[0].as<float>();
    for (std::int64_t i = 0; i < in[0].count(); ++i) y[i] = x[i] < 0 ? 0 : x[i];  // a NaN passes
  }
};

std::unique_ptr<Kernel> compile(const RegionView&, const CompileContext&) {
  return std::make_unique<Relu>();
}

constexpr Pattern kPatterns[] = {
    {.id = "relu", .match = "Relu(X)", .where = "X: f32", .tolerance = "exact", .alias = "out=X"}};

}  // namespace

INLAY_PLUGIN((PluginInfo{.name = "acme", .version = "1.0"}), kPatterns, compile);
