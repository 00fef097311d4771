// Conv and ConvTranspose, with bias, activations and the residual Add inside the primitive.

#include <algorithm>

#include "plugins/onednn/chain.h"
#include "plugins/onednn/compile.h"

namespace inlay::onednn {

using dnnl::convolution_forward;
using dnnl::deconvolution_forward;
using dnnl::memory;

namespace {

struct Geometry {
  Dims strides, dilations, pads_begin, pads_end;
  std::int64_t group;
};

Geometry read_geometry(const sdk::NodeView& node) {
  Geometry g;
  const auto strides = node.get_ints("strides"), dilations = node.get_ints("dilations"),
             pads = node.get_ints("pads");
  const std::size_t spatial = strides.size();
  if (dilations.size() != spatial || pads.size() != 2 * spatial) {
    throw sdk::Decline("strides, dilations and pads disagree in length");
  }
  if (std::any_of(pads.begin(), pads.end(), [](std::int64_t p) { return p < 0; })) {
    throw sdk::Decline("negative padding");
  }
  g.strides.assign(strides.begin(), strides.end());
  for (const std::int64_t dilation : dilations) g.dilations.push_back(dilation - 1);
  g.pads_begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(spatial));
  g.pads_end.assign(pads.begin() + static_cast<std::ptrdiff_t>(spatial), pads.end());
  g.group = node.get_int("group", 1);
  return g;
}

// ONNX's weights [O, C/g, k...] as oneDNN's [O, C/g, k...] or [g, O/g, C/g, k...].
Desc describe_weights(const sdk::ValueView& weights, std::int64_t group) {
  Dims dims = dims_of(weights);
  if (group > 1) {
    dims[0] /= group;
    dims.insert(dims.begin(), group);
  }
  return describe_dense(dims);
}

// ONNX's weights [C, O/g, k...] with the two channel axes exchanged, as oneDNN reads them.
Desc describe_transposed_weights(const sdk::ValueView& weights, std::int64_t group) {
  Dims dims = dims_of(weights);
  if (group > 1) {
    dims[0] /= group;
    dims.insert(dims.begin(), group);
  }
  Dims strides = row_major_strides(dims);
  const std::size_t channel = group > 1 ? 1 : 0;
  std::swap(dims[channel], dims[channel + 1]);
  std::swap(strides[channel], strides[channel + 1]);
  return Desc(dims, memory::data_type::f32, strides);
}

Desc any_layout(const Desc& desc) {
  return Desc(desc.get_dims(), memory::data_type::f32, memory::format_tag::any);
}

struct Convolution {
  sdk::NodeView node;
  sdk::ValueView x, weights, y;
  std::optional<sdk::ValueView> bias;
  Geometry geometry;
  Desc plain_weights;
};

Convolution read_convolution(const sdk::RegionView& region) {
  const sdk::NodeView node = region.node(0);
  const Geometry geometry = read_geometry(node);
  const sdk::ValueView weights = region.value(node.input(1));
  const Desc plain = node.op() == "Conv" ? describe_weights(weights, geometry.group)
                                         : describe_transposed_weights(weights, geometry.group);
  std::optional<sdk::ValueView> bias;
  if (node.input(2) >= 0) bias = region.value(node.input(2));
  return {node, region.value(node.input(0)), weights, region.output(0), bias, geometry, plain};
}

Desc bias_desc(const Convolution& c) { return c.bias ? describe_dense(dims_of(*c.bias)) : Desc(); }

convolution_forward::primitive_desc describe_forward(const Convolution& c,
                                                     const dnnl::engine& engine,
                                                     const dnnl::post_ops& post_ops) {
  const Geometry& g = c.geometry;
  // Direct, never Winograd: its rounding would belong to the "reduced" tolerance class.
  return convolution_forward::primitive_desc(
      engine, dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
      describe(c.x), any_layout(c.plain_weights), bias_desc(c), describe(c.y), g.strides,
      g.dilations, g.pads_begin, g.pads_end, make_attributes(post_ops), /*allow_empty=*/true);
}

deconvolution_forward::primitive_desc describe_transposed(const Convolution& c,
                                                          const dnnl::engine& engine,
                                                          const dnnl::post_ops& post_ops) {
  const Geometry& g = c.geometry;
  Dims pads_end = g.pads_end;
  const auto extra = c.node.get_ints("output_padding");
  for (std::size_t i = 0; i < extra.size(); ++i) pads_end[i] -= extra[i];
  return deconvolution_forward::primitive_desc(
      engine, dnnl::prop_kind::forward_inference, dnnl::algorithm::deconvolution_direct,
      describe(c.x), any_layout(c.plain_weights), bias_desc(c), describe(c.y), g.strides,
      g.dilations, g.pads_begin, pads_end, make_attributes(post_ops), /*allow_empty=*/true);
}

// So few products that even plain loops are over before a step has started.
bool is_tiny(const Convolution& c) {
  constexpr std::int64_t kProducts = 1 << 14;
  return c.y.count() * (c.weights.count() / c.weights.dim(0)) <= kProducts;
}

// Empty, or one of oneDNN's plain loops.
template <typename Descriptor>
bool is_poor(const Descriptor& descriptor) {
  return !descriptor || std::string_view(descriptor.impl_info_str()).substr(0, 3) == "ref";
}

template <typename Primitive, typename Describe>
std::unique_ptr<sdk::Kernel> build(const sdk::RegionView& region, const Describe& describe_with) {
  const Convolution c = read_convolution(region);
  KernelBuilder builder(region);
  Chain chain = Chain::after(region, 0);
  const Dims dims = dims_of(c.y);
  auto descriptor = describe_with(c, builder.engine(), chain.post_ops(dims, c.y.layout()));
  if (is_poor(descriptor) && chain.has_operands()) {
    // The kernels for row-major tensors add a tensor only where it already lies in the output.
    descriptor = describe_with(c, builder.engine(), chain.post_ops(dims, c.y.layout(), true));
  }
  if (!descriptor) throw sdk::Decline("oneDNN has no such convolution for these layouts");
  if (!is_tiny(c)) require_optimised(descriptor, "convolution");
  builder.bind(DNNL_ARG_SRC, c.x, describe(c.x));
  builder.bind_packed(DNNL_ARG_WEIGHTS, c.weights, c.plain_weights, descriptor.weights_desc());
  if (c.bias) builder.bind(DNNL_ARG_BIAS, *c.bias, bias_desc(c));
  builder.bind(DNNL_ARG_DST, c.y, describe(c.y));
  chain.bind(builder);
  return builder.build(Primitive(descriptor), descriptor.scratchpad_desc());
}

}  // namespace

std::unique_ptr<sdk::Kernel> compile_convolution(const sdk::RegionView& region) {
  if (region.node(0).op() == "Conv") return build<convolution_forward>(region, describe_forward);
  return build<deconvolution_forward>(region, describe_transposed);
}

}  // namespace inlay::onednn
