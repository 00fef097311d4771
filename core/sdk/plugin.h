// All a C++ backend needs. A whole plugin:
//
//   #include "core/sdk/plugin.h"
//   using namespace inlay::sdk;
//
//   struct Relu : Kernel {
//     void run(std::span<const TensorView> in, std::span<const TensorView> out,
//              const RunContext&) const override {
//       for (std::int64_t i = 0; i < in[0].count(); ++i) {
//         out[0].as<float>()[i] = std::max(0.f, in[0].as<float>()[i]);
//       }
//     }
//   };
//   static std::unique_ptr<Kernel> compile(const RegionView&, const CompileContext&) {
//     return std::make_unique<Relu>();
//   }
//
//   static constexpr Pattern kPatterns[] = {
//       {.id = "relu", .match = "Relu(X)", .where = "X: f32", .tolerance = "exact",
//        .alias = "out=X"}};
//   INLAY_PLUGIN((PluginInfo{.name = "acme", .version = "1.0"}), kPatterns, compile)
//
// The patterns say what can run, never what should. The macro writes the manifest section, the
// table and the one export.
#pragma once

#include "core/sdk/expect.h"
#include "core/sdk/glue.h"
#include "core/sdk/kernel.h"
#include "core/sdk/manifest.h"
#include "core/sdk/region.h"
