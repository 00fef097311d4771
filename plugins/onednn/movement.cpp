// Operators that only move elements: Concat, Transpose and the conversion of layouts.

#include "plugins/onednn/chain.h"
#include "plugins/onednn/compile.h"

namespace inlay::onednn {

namespace {

std::unique_ptr<sdk::Kernel> build_reorder(KernelBuilder& builder, const sdk::ValueView& x,
                                           const Desc& source, const sdk::ValueView& y,
                                           const Desc& target) {
  const dnnl::reorder::primitive_desc descriptor(builder.engine(), source, builder.engine(), target,
                                                 make_attributes());
  builder.bind(DNNL_ARG_FROM, x, source);
  builder.bind(DNNL_ARG_TO, y, target);
  return builder.build(dnnl::reorder(descriptor), descriptor.scratchpad_desc());
}

}  // namespace

std::unique_ptr<sdk::Kernel> compile_convert(const sdk::RegionView& region) {
  KernelBuilder builder(region);
  const sdk::ValueView x = region.value(region.node(0).input(0)), y = region.output(0);
  return build_reorder(builder, x, describe(x), y, describe(y));
}

std::unique_ptr<sdk::Kernel> compile_transpose(const sdk::RegionView& region) {
  KernelBuilder builder(region);
  const sdk::NodeView node = region.node(0);
  const sdk::ValueView x = region.value(node.input(0)), y = region.output(0);
  const Dims strides = row_major_strides(dims_of(x));
  Dims seen;
  for (const std::int64_t axis : node.get_ints("perm")) {
    seen.push_back(strides[static_cast<std::size_t>(axis)]);
  }
  const Desc source(dims_of(y), dnnl::memory::data_type::f32, seen);
  return build_reorder(builder, x, source, y, describe(y));
}

std::unique_ptr<sdk::Kernel> compile_concat(const sdk::RegionView& region) {
  KernelBuilder builder(region);
  const sdk::NodeView node = region.node(0);
  const sdk::ValueView y = region.output(0);
  std::vector<Desc> sources;
  for (const std::int32_t index : node.inputs()) sources.push_back(describe(region.value(index)));
  const dnnl::concat::primitive_desc descriptor(builder.engine(), describe(y),
                                                static_cast<int>(node.get_int("axis", 0)), sources,
                                                make_attributes());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    builder.bind(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), region.value(node.inputs()[i]),
                 sources[i]);
  }
  builder.bind(DNNL_ARG_DST, y, describe(y));
  return builder.build(dnnl::concat(descriptor), descriptor.scratchpad_desc());
}

}  // namespace inlay::onednn
