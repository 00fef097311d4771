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

static std::unique_ptr<sdk::Kernel> build_eltwise(KernelBuilder& builder, const Eltwise& eltwise,
                                                  const sdk::ValueView& x,
                                                  const sdk::ValueView& y) {
  const eltwise_forward::primitive_desc descriptor(
      builder.engine(), dnnl::prop_kind::forward_inference, eltwise.algorithm, describe(x),
      describe(y), eltwise.alpha, eltwise.beta, make_attributes());
  builder.bind(DNNL_ARG_SRC, x, describe(x));
  builder.bind(DNNL_ARG_DST, y, describe(y));
  return builder.build(eltwise_forward(descriptor), descriptor.scratchpad_desc());
}

std::unique_ptr<sdk::Kernel> compile_unary(const sdk::RegionView& region) {
  KernelBuilder builder(region);
  const sdk::ValueView x = region.input(0);
  const auto eltwise = Chain::of_input(region, x).single();
  if (!eltwise) throw sdk::Decline("not one elementwise operation");
  return build_eltwise(builder, *eltwise, x, region.output(0));
}

std::unique_ptr<sdk::Kernel> compile_prelu(const sdk::RegionView& region) {
  KernelBuilder builder(region);
  const sdk::NodeView node = region.node(0);
  const sdk::ValueView x = region.value(node.input(0)), slope = region.value(node.input(1)),
                       y = region.output(0);
  if (const auto scalar = constant_scalar(slope)) {
    return build_eltwise(builder, {dnnl::algorithm::eltwise_relu, *scalar, 0}, x, y);
  }
  if (slope.rank() > x.rank()) throw sdk::Decline("PRelu: a slope of higher rank");
  const Dims dims = align_rank(dims_of(slope), static_cast<std::size_t>(x.rank()));
  const Desc plain = describe_dense(dims);
  const Desc wanted =
      slope.is_constant() ? Desc(dims, DataType::f32, dnnl::memory::format_tag::any) : plain;
  const dnnl::prelu_forward::primitive_desc descriptor(
      builder.engine(), dnnl::prop_kind::forward_inference, describe(x), wanted, describe(y),
      make_attributes());
  require_optimised(descriptor, "PRelu");
  builder.bind(DNNL_ARG_SRC, x, describe(x));
  builder.bind_packed(DNNL_ARG_WEIGHTS, slope, plain, descriptor.weights_desc());
  builder.bind(DNNL_ARG_DST, y, describe(y));
  return builder.build(dnnl::prelu_forward(descriptor), descriptor.scratchpad_desc());
}

// A column times a row, in any number of batches: a product of matrices with one inner element.
static std::unique_ptr<sdk::Kernel> compile_outer_product(const sdk::RegionView& region,
                                                          Chain& chain, const sdk::ValueView& a,
                                                          const sdk::ValueView& b) {
  KernelBuilder builder(region);
  const sdk::ValueView y = region.output(0);
  const auto rank = static_cast<std::size_t>(y.rank());
  const Dims column = align_rank(dims_of(a), rank), row = align_rank(dims_of(b), rank);
  if (rank < 2 || column[rank - 1] != 1 || row[rank - 2] != 1) {
    throw sdk::Decline("operands that broadcast each other, not as a column and a row");
  }
  const dnnl::matmul::primitive_desc descriptor(
      builder.engine(), describe_dense(column), describe_dense(row), describe(y),
      make_attributes(chain.post_ops(dims_of(y), y.layout())));
  require_optimised(descriptor, "outer product");
  builder.bind(DNNL_ARG_SRC, a, describe_dense(column));
  builder.bind(DNNL_ARG_WEIGHTS, b, describe_dense(row));
  builder.bind(DNNL_ARG_DST, y, describe(y));
  chain.bind(builder);
  return builder.build(dnnl::matmul(descriptor), descriptor.scratchpad_desc());
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
  if (a.count() < y.count() && node.op() == "Mul") {
    const bool is_column = a.dim(a.rank() - 1) == 1;
    return compile_outer_product(region, chain, is_column ? a : b, is_column ? b : a);
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
