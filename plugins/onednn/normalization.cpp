// Softmax; layer, instance and local response normalization; batch normalization with known
// statistics.

#include "plugins/onednn/chain.h"
#include "plugins/onednn/compile.h"

namespace inlay::onednn {

using dnnl::batch_normalization_forward;
using dnnl::layer_normalization_forward;
using dnnl::normalization_flags;
using dnnl::softmax_forward;

std::unique_ptr<sdk::Kernel> compile_softmax(const sdk::RegionView& region) {
  const sdk::NodeView node = region.node(0);
  KernelBuilder builder(region);
  const sdk::ValueView x = region.value(node.input(0)), y = region.output(0);
  const softmax_forward::primitive_desc descriptor(
      builder.engine(), dnnl::prop_kind::forward_inference, dnnl::algorithm::softmax_accurate,
      describe(x), describe(y), static_cast<int>(node.get_int("axis", x.rank() - 1)),
      make_attributes());
  builder.bind(DNNL_ARG_SRC, x, describe(x));
  builder.bind(DNNL_ARG_DST, y, describe(y));
  return builder.build(softmax_forward(descriptor), descriptor.scratchpad_desc());
}

std::unique_ptr<sdk::Kernel> compile_layer_normalization(const sdk::RegionView& region) {
  const sdk::NodeView node = region.node(0);
  KernelBuilder builder(region);
  const sdk::ValueView x = region.value(node.input(0)), y = region.output(0);
  const std::int64_t axis = node.get_int("axis", x.rank() - 1);
  if (axis < 0 || axis >= x.rank()) throw sdk::Decline("LayerNormalization: axis out of range");
  // The axes from `axis` on are one in memory.
  std::int64_t columns = 1;
  for (int i = static_cast<int>(axis); i < x.rank(); ++i) columns *= x.dim(i);
  const Desc desc = describe_dense({x.count() / columns, columns});
  const Desc parameters = describe_dense({columns});
  const bool has_shift = node.input(2) >= 0;
  const auto flags = has_shift ? normalization_flags::use_scale | normalization_flags::use_shift
                               : normalization_flags::use_scale;
  const layer_normalization_forward::primitive_desc descriptor(
      builder.engine(), dnnl::prop_kind::forward_inference, desc, desc,
      node.get_float("epsilon", 1e-5f), flags, make_attributes());
  const sdk::ValueView scale = region.value(node.input(1));
  if (scale.count() != columns) throw sdk::Decline("LayerNormalization: Scale is broadcast");
  builder.bind(DNNL_ARG_SRC, x, desc);
  builder.bind(DNNL_ARG_SCALE, scale, parameters);
  if (has_shift) {
    const sdk::ValueView shift = region.value(node.input(2));
    if (shift.count() != columns) throw sdk::Decline("LayerNormalization: B is broadcast");
    builder.bind(DNNL_ARG_SHIFT, shift, parameters);
  }
  builder.bind(DNNL_ARG_DST, y, desc);
  return builder.build(layer_normalization_forward(descriptor), descriptor.scratchpad_desc());
}

std::unique_ptr<sdk::Kernel> compile_batch_normalization(const sdk::RegionView& region) {
  const sdk::NodeView node = region.node(0);
  KernelBuilder builder(region);
  Chain chain = Chain::after(region, 0);
  const sdk::ValueView x = region.value(node.input(0)), y = region.output(0);
  const auto flags = normalization_flags::use_global_stats | normalization_flags::use_scale |
                     normalization_flags::use_shift;
  const batch_normalization_forward::primitive_desc descriptor(
      builder.engine(), dnnl::prop_kind::forward_inference, describe(x), describe(y),
      node.get_float("epsilon", 1e-5f), flags,
      make_attributes(chain.post_ops(dims_of(y), y.layout())));
  builder.bind(DNNL_ARG_SRC, x, describe(x));
  constexpr int kArguments[] = {DNNL_ARG_SCALE, DNNL_ARG_SHIFT, DNNL_ARG_MEAN, DNNL_ARG_VARIANCE};
  for (int i = 0; i < 4; ++i) {
    const sdk::ValueView parameter = region.value(node.input(i + 1));
    builder.bind(kArguments[i], parameter, describe(parameter));
  }
  builder.bind(DNNL_ARG_DST, y, describe(y));
  chain.bind(builder);
  return builder.build(batch_normalization_forward(descriptor), descriptor.scratchpad_desc());
}

// Batch normalization with statistics of its own, over one picture or over every plane of several.
std::unique_ptr<sdk::Kernel> compile_instance_normalization(const sdk::RegionView& region) {
  const sdk::NodeView node = region.node(0);
  KernelBuilder builder(region);
  const sdk::ValueView x = region.value(node.input(0)), y = region.output(0);
  const std::int64_t batch = x.dim(0), planes = batch * x.dim(1);
  const Desc desc = describe_dense({1, planes, 1, x.count() / planes});
  const auto flags = normalization_flags::use_scale | normalization_flags::use_shift;
  const batch_normalization_forward::primitive_desc descriptor(
      builder.engine(), dnnl::prop_kind::forward_inference, desc, desc,
      node.get_float("epsilon", 1e-5f), flags, make_attributes());
  require_optimised(descriptor, "instance normalization");
  builder.bind(DNNL_ARG_SRC, x, desc);
  constexpr int kArguments[] = {DNNL_ARG_SCALE, DNNL_ARG_SHIFT};
  for (int i = 0; i < 2; ++i) {
    const auto channel = region.value(node.input(i + 1)).constant_as<float>();
    std::vector<float> repeated;
    for (std::int64_t n = 0; n < batch; ++n) {
      repeated.insert(repeated.end(), channel.begin(), channel.end());
    }
    const Desc row = describe_dense({planes});
    builder.bind_constant(kArguments[i], builder.pack(repeated.data(), row, row));
  }
  builder.bind(DNNL_ARG_DST, y, desc);
  return builder.build(batch_normalization_forward(descriptor), descriptor.scratchpad_desc());
}

std::unique_ptr<sdk::Kernel> compile_lrn(const sdk::RegionView& region) {
  const sdk::NodeView node = region.node(0);
  KernelBuilder builder(region);
  const sdk::ValueView x = region.value(node.input(0)), y = region.output(0);
  const std::int64_t size = node.get_int("size", 1);
  if (size % 2 == 0) throw sdk::Decline("LRN: a window of even size has no middle");
  const dnnl::lrn_forward::primitive_desc descriptor(
      builder.engine(), dnnl::prop_kind::forward_inference, dnnl::algorithm::lrn_across_channels,
      describe(x), describe(y), size, node.get_float("alpha", 1e-4f), node.get_float("beta", 0.75f),
      node.get_float("bias", 1), make_attributes());
  require_optimised(descriptor, "local response normalization");
  builder.bind(DNNL_ARG_SRC, x, describe(x));
  builder.bind(DNNL_ARG_DST, y, describe(y));
  return builder.build(dnnl::lrn_forward(descriptor), descriptor.scratchpad_desc());
}

}  // namespace inlay::onednn
