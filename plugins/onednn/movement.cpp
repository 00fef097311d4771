// Operators that only move elements: Concat, Split, Slice, Gather of one index, Transpose, Tile,
// Expand, DepthToSpace, SpaceToDepth, Cast of small types, and the conversion of layouts. All but
// Concat are reorders.

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
  // oneDNN has a dimension for a scalar, which has none.
  if (starts.size() != strides.size()) throw sdk::Decline("a part of a scalar");
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

// x, row-major and seen with the extents `dims`, in the order `perm` of them.
static std::unique_ptr<sdk::Kernel> build_permuted(const sdk::RegionView& region,
                                                   const sdk::ValueView& x, const Dims& dims,
                                                   std::span<const std::int64_t> perm) {
  KernelBuilder builder(region);
  const Dims strides = row_major_strides(dims);
  Dims target, seen;
  for (const std::int64_t axis : perm) {
    target.push_back(dims[static_cast<std::size_t>(axis)]);
    seen.push_back(strides[static_cast<std::size_t>(axis)]);
  }
  const DataType type = data_type_of(x.dtype());
  add_reorder(builder, x, {Desc(target, type, seen)}, region.output(0),
              {describe_dense(target, type)});
  return builder.build();
}

std::unique_ptr<sdk::Kernel> compile_transpose(const sdk::RegionView& region) {
  const sdk::NodeView node = region.node(0);
  const sdk::ValueView x = region.value(node.input(0));
  return build_permuted(region, x, dims_of(x), node.get_ints("perm"));
}

// DepthToSpace and SpaceToDepth.
std::unique_ptr<sdk::Kernel> compile_depth(const sdk::RegionView& region) {
  const sdk::NodeView node = region.node(0);
  const sdk::ValueView x = region.value(node.input(0));
  const std::int64_t b = node.get_int("blocksize", 1);
  const std::int64_t n = x.dim(0), c = x.dim(1), h = x.dim(2), w = x.dim(3);
  if (node.op() == "SpaceToDepth") {
    constexpr std::int64_t kOrder[] = {0, 3, 5, 1, 2, 4};
    return build_permuted(region, x, {n, c, h / b, b, w / b, b}, kOrder);
  }
  if (node.get_string("mode", "DCR") == "CRD") {
    constexpr std::int64_t kOrder[] = {0, 1, 4, 2, 5, 3};
    return build_permuted(region, x, {n, c / (b * b), b, b, h, w}, kOrder);
  }
  constexpr std::int64_t kOrder[] = {0, 3, 4, 1, 5, 2};
  return build_permuted(region, x, {n, b, b, c / (b * b), h, w}, kOrder);
}

// Tile and Expand: each repetition is a reorder of its own.
std::unique_ptr<sdk::Kernel> compile_repeat(const sdk::RegionView& region) {
  constexpr std::int64_t kMostCopies = 16;  // more take longer to start than to run
  KernelBuilder builder(region);
  const sdk::ValueView x = region.value(region.node(0).input(0)), y = region.output(0);
  const Dims whole = dims_of(y), dims = align_rank(dims_of(x), whole.size());
  const std::int64_t copies = y.count() / x.count();
  if (dims.size() != whole.size() || copies > kMostCopies) {
    throw sdk::Decline(std::string(region.node(0).op()) + ": " + std::to_string(copies) +
                       " copies, each a reorder of its own");
  }
  const DataType type = data_type_of(x.dtype());
  const Dims steps(whole.size(), 1);
  for (std::int64_t copy = 0; copy < copies; ++copy) {
    Dims starts(whole.size(), 0);
    std::int64_t rest = copy;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      const std::int64_t times = whole[i] / dims[i];
      starts[i] = rest % times * dims[i];
      rest /= times;
    }
    add_reorder(builder, x, {describe_dense(dims, type)}, y,
                part_of(describe_dense(whole, type), dims, starts, steps));
  }
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
