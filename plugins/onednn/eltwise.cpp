// Elementwise operators: one operand, two with broadcasting, and the two that oneDNN would compute
// wrongly for NaN.

#include <cstring>
#include <limits>
#include <utility>

#include "plugins/onednn/chain.h"
#include "plugins/onednn/compile.h"

namespace inlay::onednn {

using dnnl::eltwise_forward;

namespace {

// Relu and Clip. oneDNN's turn NaN into a bound; here it stays NaN, as ONNX says. Layouts do not
// matter as long as the padding's zeros stay zeros.
class ClipKernel : public sdk::Kernel {
 public:
  ClipKernel(float low, float high) : low_(low), high_(high) {}

  void run(std::span<const sdk::TensorView> inputs, std::span<const sdk::TensorView> outputs,
           const sdk::RunContext& context) const override {
    const float* source = inputs[0].as<float>();
    float* target = outputs[0].as<float>();
    const auto count = static_cast<std::int64_t>(inputs[0].size_bytes() / sizeof(float));
    const float low = low_, high = high_;
    // A task's start costs some microseconds: so long takes about a tenth of a megabyte.
    constexpr std::int64_t kGrain = 1 << 15;
    context.host.parallel_for(count, kGrain, [=](std::int64_t begin, std::int64_t end) {
#pragma GCC ivdep
      for (std::int64_t i = begin; i < end; ++i) {
        const float x = source[i];
        const float raised = x < low ? low : x;
        target[i] = raised > high ? high : raised;
      }
    });
  }

  bool retains_constants() const override { return false; }

 private:
  float low_, high_;
};

}  // namespace

std::unique_ptr<sdk::Kernel> compile_clip(const sdk::RegionView& region) {
  const sdk::NodeView node = region.node(0);
  if (node.input(1) >= 0 || node.input(2) >= 0) throw sdk::Decline("Clip: bounds that vary");
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float low = node.op() == "Relu" ? 0 : node.get_float("min", -kInfinity);
  const float high = node.get_float("max", kInfinity);
  const sdk::ValueView x = region.value(node.input(0));
  if (x.layout() != region.output(0).layout()) throw sdk::Decline("Clip: layouts differ");
  const bool keeps_zero = low <= 0 && high >= 0;
  if (!keeps_zero &&
      describe(x).get_size() != static_cast<std::size_t>(x.count()) * sizeof(float)) {
    throw sdk::Decline("Clip: the padding of a blocked layout would not stay zero");
  }
  return std::make_unique<ClipKernel>(low, high);
}

std::unique_ptr<sdk::Kernel> compile_unary(const sdk::RegionView& region) {
  KernelBuilder builder(region);
  const sdk::ValueView x = region.input(0), y = region.output(0);
  const auto eltwise = Chain::of_input(region, x).single();
  if (!eltwise) throw sdk::Decline("not one elementwise operation");
  const eltwise_forward::primitive_desc descriptor(
      builder.engine(), dnnl::prop_kind::forward_inference, eltwise->algorithm, describe(x),
      describe(y), eltwise->alpha, eltwise->beta, make_attributes());
  builder.bind(DNNL_ARG_SRC, x, describe(x));
  builder.bind(DNNL_ARG_DST, y, describe(y));
  return builder.build(eltwise_forward(descriptor), descriptor.scratchpad_desc());
}

std::unique_ptr<sdk::Kernel> compile_binary(const sdk::RegionView& region) {
  KernelBuilder builder(region);
  const sdk::NodeView node = region.node(0);
  Chain chain = Chain::after(region, 0);
  sdk::ValueView a = region.value(node.input(0)), b = region.value(node.input(1));
  const sdk::ValueView y = region.output(0);
  // oneDNN broadcasts the second operand; a - b is -(b - a).
  if (a.count() < b.count() && node.op() != "Div") {
    std::swap(a, b);
    if (node.op() == "Sub") chain.negate_first();
  }
  const auto rank = static_cast<std::size_t>(y.rank());
  const auto aligned = [rank](const sdk::ValueView& value) {
    const Dims dims = align_rank(dims_of(value), rank);
    return is_dense(value.layout()) ? describe_dense(dims) : describe(dims, value.layout());
  };
  const dnnl::binary::primitive_desc descriptor(
      builder.engine(), *find_binary(node.op()), aligned(a), aligned(b), describe(y),
      make_attributes(chain.post_ops(dims_of(y), y.layout())));
  require_optimised(descriptor, "broadcasting operator");
  builder.bind(DNNL_ARG_SRC_0, a, aligned(a));
  builder.bind(DNNL_ARG_SRC_1, b, aligned(b));
  builder.bind(DNNL_ARG_DST, y, describe(y));
  chain.bind(builder);
  return builder.build(dnnl::binary(descriptor), descriptor.scratchpad_desc());
}

}  // namespace inlay::onednn
