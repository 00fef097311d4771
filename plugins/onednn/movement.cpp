// Operators that only move elements: Concat, Split, Slice, Gather of one index, Transpose, Cast of
// small types, and the conversion of layouts. All but Concat are reorders.

#include <algorithm>

#include "plugins/onednn/compile.h"
#include "plugins/onednn/reorder.h"

namespace inlay::onednn {

void add_reorder(KernelBuilder& builder, const sdk::ValueView& x, const Part& source,
                 const sdk::ValueView& y, const Part& target) {
  const dnnl::reorder::primitive_desc descriptor(builder.engine(), source.desc, builder.engine(),
                                                 target.desc, make_attributes());
  builder.bind(DNNL_ARG_FROM, x, source.desc, source.offset_bytes);
  builder.bind(DNNL_ARG_TO, y, target.desc, target.offset_bytes);
  builder.add(dnnl::reorder(descriptor), descriptor.scratchpad_desc());
}

Part part_of(const Desc& whole, const Dims& dims, const Dims& starts, const Dims& steps) {
  if (whole.get_inner_nblks() != 0) throw sdk::Decline("a part of a blocked layout");
  Dims strides = whole.get_strides();
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    offset += starts[i] * strides[i];
    strides[i] *= steps[i];
    // A stride that is never taken must still not be shorter than what lies inside it.
    if (dims[i] == 1) strides[i] = whole.get_strides()[i];
  }
  const auto element =
      static_cast<std::ptrdiff_t>(dnnl::memory::data_type_size(whole.get_data_type()));
  return {Desc(dims, whole.get_data_type(), strides), offset * element};
}

std::unique_ptr<sdk::Kernel> compile_convert(const sdk::RegionView& region) {
  KernelBuilder builder(region);
  const sdk::ValueView x = region.value(region.node(0).input(0)), y = region.output(0);
  add_reorder(builder, x, {describe(x)}, y, {describe(y)});
  return builder.build();
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
  const Desc source(dims_of(y), data_type_of(x.dtype()), seen);
  add_reorder(builder, x, {source}, y, {describe(y)});
  return builder.build();
}

// Integers become the nearest f32, as Cast says. The other way Cast cuts off where oneDNN rounds.
std::unique_ptr<sdk::Kernel> compile_cast(const sdk::RegionView& region) {
  KernelBuilder builder(region);
  const sdk::ValueView x = region.value(region.node(0).input(0)), y = region.output(0);
  add_reorder(builder, x, {describe(x)}, y, {describe(y)});
  return builder.build();
}

std::unique_ptr<sdk::Kernel> compile_slice(const sdk::RegionView& region) {
  KernelBuilder builder(region);
  const sdk::NodeView node = region.node(0);
  const sdk::ValueView x = region.value(node.input(0)), y = region.output(0);
  Dims first(static_cast<std::size_t>(x.rank()), 0), step(static_cast<std::size_t>(x.rank()), 1);
  const auto starts = node.get_ints("starts"), axes = node.get_ints("axes"),
             steps = node.get_ints("steps");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (steps[i] < 0) throw sdk::Decline("Slice: oneDNN has no negative strides");
    first[static_cast<std::size_t>(axes[i])] = starts[i];
    step[static_cast<std::size_t>(axes[i])] = steps[i];
  }
  add_reorder(builder, x, part_of(describe(x), dims_of(y), first, step), y, {describe(y)});
  return builder.build();
}

std::unique_ptr<sdk::Kernel> compile_split(const sdk::RegionView& region) {
  KernelBuilder builder(region);
  const sdk::NodeView node = region.node(0);
  const sdk::ValueView x = region.value(node.input(0));
  const auto axis = static_cast<std::size_t>(node.get_int("axis", 0));
  Dims first(static_cast<std::size_t>(x.rank()), 0);
  const Dims step(static_cast<std::size_t>(x.rank()), 1);
  for (const std::int32_t index : node.outputs()) {
    if (index < 0) throw sdk::Decline("Split: a part that is left out");
    const sdk::ValueView y = region.value(index);
    const auto outputs = region.outputs();
    if (std::find(outputs.begin(), outputs.end(), index) != outputs.end()) {
      add_reorder(builder, x, part_of(describe(x), dims_of(y), first, step), y, {describe(y)});
    }
    first[axis] += y.dim(static_cast<int>(axis));
  }
  return builder.build();
}

// One constant index chooses a slice. oneDNN has nothing that reads indices.
std::unique_ptr<sdk::Kernel> compile_gather(const sdk::RegionView& region) {
  KernelBuilder builder(region);
  const sdk::NodeView node = region.node(0);
  const sdk::ValueView x = region.value(node.input(0)), indices = region.value(node.input(1));
  if (!indices.is_constant() || indices.count() != 1) {
    throw sdk::Decline("Gather: oneDNN has none; one constant index is a slice");
  }
  const auto axis = static_cast<std::size_t>(node.get_int("axis", 0));
  std::int64_t index = indices.dtype() == INLAY_I64 ? indices.constant_as<std::int64_t>()[0]
                                                    : indices.constant_as<std::int32_t>()[0];
  Dims dims = dims_of(x);
  if (index < 0) index += dims[axis];
  if (index < 0 || index >= dims[axis]) throw sdk::Decline("Gather: the index is out of range");
  Dims first(dims.size(), 0);
  first[axis] = index;
  dims[axis] = 1;
  add_reorder(builder, x, part_of(describe(x), dims, first, Dims(dims.size(), 1)), region.output(0),
              {describe_dense(dims, data_type_of(x.dtype()))});
  return builder.build();
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
