// Operators on [N, C, d...]: convolutions, pooling, resampling.
#include <cmath>

#include "graphs/ir/infer_families.h"

namespace inlay {
namespace {

// The window attributes of a convolution or pool.
struct Window {
  std::vector<std::int64_t> kernel, strides, pads, dilations;
  std::size_t rank() const { return kernel.size(); }
  std::int64_t extent(std::size_t d) const { return (kernel[d] - 1) * dilations[d] + 1; }
  std::int64_t padding(std::size_t d) const { return pads[d] + pads[d + rank()]; }
};

Window read_window(const InferContext& context) {
  const std::int64_t spatial = context.rank(0) - 2;
  if (spatial < 1) {
    context.mismatch("operand must have rank 3 or more (batch, channels, space), is {}",
                     to_string(context.shape(0)));
  }
  Window window = {
      context.ints_of_length("kernel_shape", spatial), context.ints_of_length("strides", spatial),
      context.ints_of_length("pads", 2 * spatial), context.ints_of_length("dilations", spatial)};
  for (std::size_t d = 0; d < window.rank(); ++d) {
    if (window.kernel[d] < 1 || window.strides[d] < 1 || window.dilations[d] < 1) {
      context.fail(Code::kInvalidArgument,
                   "kernel_shape, strides and dilations must be positive on axis {}: {}, {}, {}",
                   d + 2, window.kernel[d], window.strides[d], window.dilations[d]);
    }
  }
  return window;
}

// Windows that fit along one dimension, the last one partly outside if `rounds_up`.
std::int64_t count_windows(const InferContext& context, const Window& window, std::size_t d,
                           bool rounds_up) {
  const std::int64_t extent = context.shape(0)[d + 2];
  const std::int64_t room = extent + window.padding(d) - window.extent(d);
  if (room < 0) {
    context.mismatch("window of {} does not fit extent {} with padding {} on axis {}",
                     window.extent(d), extent, window.padding(d), d + 2);
  }
  const std::int64_t stride = window.strides[d];
  if (!rounds_up) return room / stride + 1;
  const std::int64_t count = (room + stride - 1) / stride + 1;
  // A window must start inside the operand or its leading padding (opset 22).
  return (count - 1) * stride >= extent + window.pads[d] ? count - 1 : count;
}

// Shape of a convolution whose weight is operand `weight` and whose bias, if any, operand `bias`.
Shape conv_shape(const InferContext& context, std::size_t weight, std::size_t bias) {
  const Window window = read_window(context);
  const Shape& x = context.shape(0);
  const Shape& w = context.shape(weight);
  const std::int64_t group = context.attribute_int("group");
  if (w.size() != x.size()) {
    context.mismatch("weight {} and input {} differ in rank", to_string(w), to_string(x));
  }
  if (Shape(w.begin() + 2, w.end()) != window.kernel) {
    context.mismatch("kernel_shape {} is not the weight's: {}", to_string(Attribute(window.kernel)),
                     to_string(w));
  }
  if (group < 1 || w[0] % group != 0) {
    context.mismatch("{} output channels do not divide into {} groups", w[0], group);
  }
  if (w[1] * group != x[1]) {
    context.mismatch("weight expects {} input channels, input has {}", w[1] * group, x[1]);
  }
  if (context.has_input(bias)) context.expect_shape(bias, "bias", {w[0]});
  Shape shape = {x[0], w[0]};
  for (std::size_t d = 0; d < window.rank(); ++d) {
    shape.push_back(count_windows(context, window, d, false));
  }
  return shape;
}

constexpr std::size_t kNoOperand = 99;

}  // namespace

std::vector<TensorType> infer_conv(const InferContext& context) {
  context.expect_same_dtype(1);
  context.expect_same_dtype(2);
  return {{context.dtype(0), conv_shape(context, 1, 2)}};
}

std::vector<TensorType> infer_conv_integer(const InferContext& context) {
  context.expect_same_dtype(2);
  return {{DType::kI32, conv_shape(context, 1, kNoOperand)}};
}

std::vector<TensorType> infer_qlinear_conv(const InferContext& context) {
  if (context.has_input(8) && context.dtype(8) != DType::kI32) {
    context.mismatch("bias must be i32, is {}", name_of(context.dtype(8)));
  }
  return {{context.dtype(7), conv_shape(context, 3, 8)}};
}

std::vector<TensorType> infer_conv_transpose(const InferContext& context) {
  context.expect_same_dtype(1);
  context.expect_same_dtype(2);
  const Window window = read_window(context);
  const auto extra =
      context.ints_of_length("output_padding", static_cast<std::int64_t>(window.rank()));
  const Shape& x = context.shape(0);
  const Shape& w = context.shape(1);
  const std::int64_t group = context.attribute_int("group");
  if (w.size() != x.size()) {
    context.mismatch("weight {} and input {} differ in rank", to_string(w), to_string(x));
  }
  if (Shape(w.begin() + 2, w.end()) != window.kernel) {
    context.mismatch("kernel_shape {} is not the weight's: {}", to_string(Attribute(window.kernel)),
                     to_string(w));
  }
  if (w[0] != x[1]) context.mismatch("weight expects {} input channels, input has {}", w[0], x[1]);
  if (group < 1 || x[1] % group != 0) {
    context.mismatch("{} input channels do not divide into {} groups", x[1], group);
  }
  if (context.has_input(2)) context.expect_shape(2, "bias", {w[1] * group});
  Shape shape = {x[0], w[1] * group};
  for (std::size_t d = 0; d < window.rank(); ++d) {
    const std::int64_t extent =
        window.strides[d] * (x[d + 2] - 1) + extra[d] + window.extent(d) - window.padding(d);
    if (extent < 0) {
      context.mismatch("padding {} is more than axis {} has", window.padding(d), d + 2);
    }
    shape.push_back(extent);
  }
  return {{context.dtype(0), shape}};
}

std::vector<TensorType> infer_pool(const InferContext& context) {
  const Window window = read_window(context);
  const bool rounds_up = context.attribute_int("ceil_mode") != 0;
  Shape shape = {context.shape(0)[0], context.shape(0)[1]};
  for (std::size_t d = 0; d < window.rank(); ++d) {
    shape.push_back(count_windows(context, window, d, rounds_up));
  }
  return {{context.dtype(0), shape}, {DType::kI64, shape}};
}

std::vector<TensorType> infer_global_pool(const InferContext& context) {
  context.expect_float(0);
  if (context.rank(0) < 3) {
    context.mismatch("operand must have rank 3 or more (batch, channels, space), is {}",
                     to_string(context.shape(0)));
  }
  Shape shape(context.shape(0).size(), 1);
  shape[0] = context.shape(0)[0];
  shape[1] = context.shape(0)[1];
  return {{context.dtype(0), shape}};
}

std::vector<TensorType> infer_depth_to_space(const InferContext& context) {
  context.expect_rank(0, "operand", 4);
  const std::string mode = context.attribute_string("mode");
  if (mode != "DCR" && mode != "CRD") {
    context.fail(Code::kInvalidArgument, "attribute 'mode' is '{}', must be DCR or CRD", mode);
  }
  const Shape& x = context.shape(0);
  const std::int64_t block = context.attribute_int("blocksize");
  if (block < 1 || x[1] % (block * block) != 0) {
    context.mismatch("{} channels do not divide into blocks of {}x{}", x[1], block, block);
  }
  return {{context.dtype(0), {x[0], x[1] / (block * block), x[2] * block, x[3] * block}}};
}

std::vector<TensorType> infer_space_to_depth(const InferContext& context) {
  context.expect_rank(0, "operand", 4);
  const Shape& x = context.shape(0);
  const std::int64_t block = context.attribute_int("blocksize");
  if (block < 1 || x[2] % block != 0 || x[3] % block != 0) {
    context.mismatch("{}x{} does not divide into blocks of {}x{}", x[2], x[3], block, block);
  }
  return {{context.dtype(0), {x[0], x[1] * block * block, x[2] / block, x[3] / block}}};
}

std::vector<TensorType> infer_resize(const InferContext& context) {
  const std::vector<float> scales = get_floats(context.node.attributes, "scales", {});
  const std::vector<float> roi = get_floats(context.node.attributes, "roi", {});
  const std::size_t rank = context.shape(0).size();
  if (scales.size() != rank) {
    context.mismatch("attribute 'scales' needs {} entries, has {}", rank, scales.size());
  }
  if (!roi.empty() && roi.size() != 2 * rank) {
    context.mismatch("attribute 'roi' needs {} entries, has {}", 2 * rank, roi.size());
  }
  const bool crops = !roi.empty() && context.attribute_string("coordinate_transformation_mode") ==
                                         "tf_crop_and_resize";
  Shape shape = context.shape(0);
  for (std::size_t d = 0; d < rank; ++d) {
    if (!(scales[d] > 0)) context.mismatch("scale of axis {} is {}", d, scales[d]);
    // In float, as every runtime does: 10 times 0.7f is 7, where double gives 6.9999.
    float extent = static_cast<float>(shape[d]) * scales[d];
    if (crops) extent = static_cast<float>(shape[d]) * (roi[d + rank] - roi[d]) * scales[d];
    shape[d] = static_cast<std::int64_t>(std::floor(extent));
  }
  return {{context.dtype(0), shape}};
}

std::vector<TensorType> infer_grid_sample(const InferContext& context) {
  const Shape& x = context.shape(0);
  const Shape& grid = context.shape(1);
  if (x.size() < 3) {
    context.mismatch("operand must have rank 3 or more (batch, channels, space), is {}",
                     to_string(x));
  }
  if (grid.size() != x.size() || grid[0] != x[0] ||
      grid.back() != static_cast<std::int64_t>(x.size()) - 2) {
    context.mismatch("grid {} does not fit {}: same batch and rank, last dimension {}",
                     to_string(grid), to_string(x), x.size() - 2);
  }
  Shape shape = {x[0], x[1]};
  shape.insert(shape.end(), grid.begin() + 1, grid.end() - 1);
  return {{context.dtype(0), shape}};
}

}  // namespace inlay
