// Pooling, reductions and resampling: each output element gathers a window of the input.

#include <algorithm>
#include <cmath>

#include "plugins/onednn/chain.h"
#include "plugins/onednn/compile.h"
#include "plugins/onednn/reorder.h"

namespace inlay::onednn {

using dnnl::algorithm;
using dnnl::pooling_forward;

namespace {

struct Window {
  Dims kernel, strides, dilations, pads_begin, pads_end;
};

Window whole_image(const sdk::ValueView& x) {
  Window w;
  const std::size_t spatial = static_cast<std::size_t>(x.rank()) - 2;
  w.kernel.assign(x.dims().begin() + 2, x.dims().end());
  w.strides.assign(spatial, 1);
  w.dilations.assign(spatial, 0);
  w.pads_begin.assign(spatial, 0);
  w.pads_end.assign(spatial, 0);
  return w;
}

// Sets the padding at the end to what the output's extent implies; with ceil_mode that is more than
// the node says, else it may be less. Padding that counts in an average must stay as it is.
void fit_padding(Window& w, const sdk::ValueView& x, const sdk::ValueView& y, bool counts_padding) {
  for (std::size_t i = 0; i < w.kernel.size(); ++i) {
    const int axis = static_cast<int>(i) + 2;
    const std::int64_t reach = (w.kernel[i] - 1) * (w.dilations[i] + 1) + 1;
    const std::int64_t needed =
        (y.dim(axis) - 1) * w.strides[i] + reach - x.dim(axis) - w.pads_begin[i];
    if (counts_padding && needed > w.pads_end[i]) {
      throw sdk::Decline("a window reaches past the padding that counts in its average");
    }
    w.pads_end[i] = needed;
  }
}

Window read_window(const sdk::NodeView& node, const sdk::ValueView& x, const sdk::ValueView& y) {
  Window w;
  const auto kernel = node.get_ints("kernel_shape"), strides = node.get_ints("strides"),
             dilations = node.get_ints("dilations"), pads = node.get_ints("pads");
  const std::size_t spatial = kernel.size();
  if (strides.size() != spatial || dilations.size() != spatial || pads.size() != 2 * spatial ||
      x.rank() != static_cast<int>(spatial) + 2) {
    throw sdk::Decline("kernel_shape, strides, dilations and pads disagree in length");
  }
  if (std::any_of(pads.begin(), pads.end(), [](std::int64_t p) { return p < 0; })) {
    throw sdk::Decline("negative padding");
  }
  w.kernel.assign(kernel.begin(), kernel.end());
  w.strides.assign(strides.begin(), strides.end());
  for (const std::int64_t dilation : dilations) w.dilations.push_back(dilation - 1);
  w.pads_begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(spatial));
  w.pads_end.assign(pads.begin() + static_cast<std::ptrdiff_t>(spatial), pads.end());
  fit_padding(w, x, y, node.op() == "AveragePool" && node.get_int("count_include_pad", 0) != 0);
  return w;
}

algorithm pool_algorithm(const sdk::NodeView& node) {
  if (node.op() == "MaxPool" || node.op() == "GlobalMaxPool") return algorithm::pooling_max;
  return node.get_int("count_include_pad", 0) != 0 ? algorithm::pooling_avg_include_padding
                                                   : algorithm::pooling_avg_exclude_padding;
}

struct Reduction {
  std::string_view op;
  dnnl::algorithm algorithm;
  float power;  // of the norms
};

constexpr Reduction kReductions[] = {
    {"ReduceMean", algorithm::reduction_mean, 0},
    {"ReduceSum", algorithm::reduction_sum, 0},
    {"ReduceMax", algorithm::reduction_max, 0},
    {"ReduceMin", algorithm::reduction_min, 0},
    {"ReduceProd", algorithm::reduction_mul, 0},
    {"ReduceL1", algorithm::reduction_norm_lp_sum, 1},
    {"ReduceL2", algorithm::reduction_norm_lp_sum, 2},
    {"ReduceSumSquare", algorithm::reduction_norm_lp_power_p_sum, 2},
};

const Reduction& find_reduction(std::string_view op) {
  for (const Reduction& reduction : kReductions) {
    if (reduction.op == op) return reduction;
  }
  throw sdk::Decline("no reduction for " + std::string(op));
}

bool is_integer_upsampling(const sdk::NodeView& node) {
  const auto scales = node.get_floats("scales");
  return std::all_of(scales.begin(), scales.end(),
                     [](float s) { return s >= 1 && s == std::floor(s); });
}

// oneDNN samples at (o + 0.5) / scale - 0.5 and takes the nearest element. For whole scales no
// sample lies between two elements, so the rounding rule does not matter and asymmetric with floor
// picks the same ones.
algorithm resize_algorithm(const sdk::NodeView& node) {
  const std::string_view mode = node.get_string("mode", "nearest");
  const std::string_view where = node.get_string("coordinate_transformation_mode", "half_pixel");
  const std::string_view rounding = node.get_string("nearest_mode", "round_prefer_floor");
  if (mode == "nearest") {
    const bool is_centred = where == "half_pixel" &&
                            (rounding == "round_prefer_floor" || rounding == "round_prefer_ceil");
    if (!is_integer_upsampling(node) ||
        !(is_centred || (where == "asymmetric" && rounding == "floor"))) {
      throw sdk::Decline("Resize: nearest elements chosen otherwise than oneDNN does");
    }
    return algorithm::resampling_nearest;
  }
  if (mode != "linear" || where != "half_pixel" || node.get_int("antialias", 0) != 0 ||
      node.get_int("exclude_outside", 0) != 0) {
    throw sdk::Decline("Resize: only linear at half_pixel without antialias");
  }
  return algorithm::resampling_linear;
}

}  // namespace

std::unique_ptr<sdk::Kernel> compile_pool(const sdk::RegionView& region) {
  const sdk::NodeView node = region.node(0);
  if (region.outputs().size() != 1) throw sdk::Decline("MaxPool: indices are not offered");
  KernelBuilder builder(region);
  const sdk::ValueView x = region.value(node.input(0)), y = region.output(0);
  const Window w = node.op().substr(0, 6) == "Global" ? whole_image(x) : read_window(node, x, y);
  Chain chain = Chain::after(region, 0);
  const pooling_forward::primitive_desc descriptor(
      builder.engine(), dnnl::prop_kind::forward_inference, pool_algorithm(node), describe(x),
      describe(y), w.strides, w.kernel, w.dilations, w.pads_begin, w.pads_end,
      make_attributes(chain.post_ops(dims_of(y), y.layout())));
  if (!chain.is_empty()) require_optimised(descriptor, "pooling with what follows");
  builder.bind(DNNL_ARG_SRC, x, describe(x));
  builder.bind(DNNL_ARG_DST, y, describe(y));
  chain.bind(builder);
  return builder.build(pooling_forward(descriptor), descriptor.scratchpad_desc());
}

std::unique_ptr<sdk::Kernel> compile_reduction(const sdk::RegionView& region) {
  const sdk::NodeView node = region.node(0);
  KernelBuilder builder(region);
  const sdk::ValueView x = region.value(node.input(0)), y = region.output(0);
  Dims kept = dims_of(x);  // keepdims or not, the bytes are the same
  for (const std::int64_t axis : node.get_ints("axes")) kept[static_cast<std::size_t>(axis)] = 1;
  const Reduction& reduction = find_reduction(node.op());
  if (kept == dims_of(x)) {
    if (reduction.power != 0) throw sdk::Decline(std::string(node.op()) + ": nothing is reduced");
    add_reorder(builder, x, {describe_dense(kept)}, y, {describe_dense(kept)});
    return builder.build();
  }
  const dnnl::reduction::primitive_desc descriptor(builder.engine(), reduction.algorithm,
                                                   describe(x), describe_dense(kept),
                                                   reduction.power, 0, make_attributes());
  builder.bind(DNNL_ARG_SRC, x, describe(x));
  builder.bind(DNNL_ARG_DST, y, describe_dense(kept));
  return builder.build(dnnl::reduction(descriptor), descriptor.scratchpad_desc());
}

std::unique_ptr<sdk::Kernel> compile_resize(const sdk::RegionView& region) {
  const sdk::NodeView node = region.node(0);
  KernelBuilder builder(region);
  const sdk::ValueView x = region.value(node.input(0)), y = region.output(0);
  const auto scales = node.get_floats("scales");
  if (x.rank() < 3 || x.dim(0) != y.dim(0) || x.dim(1) != y.dim(1)) {
    throw sdk::Decline("Resize: only of the spatial dimensions");
  }
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const int axis = static_cast<int>(i);
    if (scales[i] * static_cast<float>(x.dim(axis)) != static_cast<float>(y.dim(axis))) {
      throw sdk::Decline("Resize: the scale is not the ratio of the extents");
    }
  }
  const dnnl::resampling_forward::primitive_desc descriptor(
      builder.engine(), dnnl::prop_kind::forward_inference, resize_algorithm(node), describe(x),
      describe(y), make_attributes());
  builder.bind(DNNL_ARG_SRC, x, describe(x));
  builder.bind(DNNL_ARG_DST, y, describe(y));
  return builder.build(dnnl::resampling_forward(descriptor), descriptor.scratchpad_desc());
}

}  // namespace inlay::onednn
