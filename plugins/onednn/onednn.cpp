// Backend on oneDNN 3: f32 primitives of its CPU engine. They run on oneTBB, which the host bounds
// for the process.

#include <array>
#include <new>
#include <string>
#include <utility>

#include "core/sdk/plugin.h"
#include "dnnl.hpp"
#include "plugins/onednn/compile.h"
#include "plugins/onednn/patterns.h"

namespace inlay::onednn {
namespace {

using Compile = std::unique_ptr<sdk::Kernel> (*)(const sdk::RegionView&);

// By the beginning of the pattern's id; the first that fits counts.
constexpr std::array<std::pair<std::string_view, Compile>, 30> kFamilies{{
    {"convert", compile_convert},
    {"conv", compile_convolution},
    {"concat", compile_concat},
    {"gemm", compile_matmul},
    {"matmul", compile_matmul},
    {"aggregate", compile_aggregation},
    {"recurrent", compile_recurrent},
    {"pool", compile_pool},
    {"reduce", compile_reduction},
    {"resize", compile_resize},
    {"softmax", compile_softmax},
    {"layer_normalization", compile_layer_normalization},
    {"batch_normalization", compile_batch_normalization},
    {"clip", compile_clip},
    {"unary", compile_unary},
    {"swish", compile_unary},
    {"gelu", compile_unary},
    {"binary", compile_binary},
    {"scale_channels", compile_binary},
    {"transpose", compile_transpose},
    {"depth", compile_depth},
    {"repeat", compile_repeat},
    {"split", compile_split},
    {"slice", compile_slice},
    {"gather", compile_gather},
    {"pad", compile_pad},
    {"cast", compile_cast},
    {"prelu", compile_prelu},
    {"lrn", compile_lrn},
    {"instance_normalization", compile_instance_normalization},
}};

std::unique_ptr<sdk::Kernel> compile(const sdk::RegionView& region, const sdk::CompileContext&) {
  try {
    for (const auto& [prefix, compile_family] : kFamilies) {
      if (region.pattern().starts_with(prefix)) return compile_family(region);
    }
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
    // oneDNN checks arguments as it looks for a kernel, so both mean that it has none.
    if (error.status == dnnl_unimplemented || error.status == dnnl_invalid_arguments) {
      throw sdk::Decline(std::string("oneDNN: ") + error.what());
    }
    throw;
  }
  throw sdk::Decline("no pattern '" + std::string(region.pattern()) + "'");
}

}  // namespace
}  // namespace inlay::onednn

INLAY_PLUGIN(
    (inlay::sdk::PluginInfo{
        .name = "onednn",
        .version = "1.0",
        .library = "oneDNN 3.2",
        .threads = "host-pool",
        .xfail =
            "23: oneDNN writes into memory descriptors without asking whether malloc gave any; "
            "32: its Relu and Clip after another operator turn NaN into a bound"}),
    inlay::onednn::kPatterns, inlay::onednn::compile);
