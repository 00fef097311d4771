// Backend on OpenBLAS: everything that is a matrix product in f32. OpenBLAS itself stays on one
// thread; the split over threads is on the host's pool, so that one budget holds for the process.

#include "core/sdk/plugin.h"
#include "plugins/openblas/compile.h"
#include "plugins/openblas/library.h"

#define INLAY_OPENBLAS_ACTIVATION "[Relu|LeakyRelu|Clip|Sigmoid|Tanh|Gelu]"

namespace inlay::openblas {
namespace {

constexpr sdk::Pattern kPatterns[] = {
    {.id = "gemm", .match = INLAY_OPENBLAS_ACTIVATION "?(Gemm(A,B,C?))", .where = "A,B,C: f32"},
    {.id = "matmul",
     .match = INLAY_OPENBLAS_ACTIVATION "?(MatMul(A,B))",
     .where = "A,B: f32; rank(A) >= 2; rank(B) >= 2"},
    {.id = "matmul_add",
     .match = INLAY_OPENBLAS_ACTIVATION "?(Add?(Add(MatMul(A,B),C),R))",
     .where = "A,B,C,R: f32; rank(A) >= 2; rank(B) >= 2"},
    {.id = "conv",
     .match = INLAY_OPENBLAS_ACTIVATION "?(Conv(X,W,B?))",
     .where = "X: f32[n,c,h,w]; W,B: f32 const; Conv.group == 1",
     .layouts = "dense|X:acdb out:acdb"},
    {.id = "conv_add",
     .match = INLAY_OPENBLAS_ACTIVATION "?(Add(Conv(X,W,B?),R))",
     .where = "X: f32[n,c,h,w]; W,B: f32 const; R,out: f32[n,o,p,q]; Conv.group == 1",
     .layouts = "dense|X:acdb R:acdb out:acdb"},
};

std::unique_ptr<sdk::Kernel> compile(const sdk::RegionView& region,
                                     const sdk::CompileContext& context) {
  for (int i = 0; i < region.value_count(); ++i) {
    if (region.value(i).count() == 0) throw sdk::Decline("a tensor without elements");
  }
  if (region.node(0).op() == "Conv") return compile_convolution(region, context.thread_cap);
  return compile_matmul(region);
}

void start(const sdk::Host& host) {
  use_fitting_kernels(host);
  use_one_thread();
}

}  // namespace
}  // namespace inlay::openblas

INLAY_PLUGIN_WITH(
    (inlay::sdk::PluginInfo{
        .name = "openblas", .version = "1.0", .library = "OpenBLAS", .threads = "host-pool"}),
    inlay::openblas::kPatterns, inlay::openblas::compile,
    (inlay::sdk::Hooks{.init = inlay::openblas::start}));
