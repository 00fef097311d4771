// Convolutions and pooling: padding modes become numbers.
#include <fmt/format.h>

#include <algorithm>

#include "graphs/onnx/operator.h"

namespace inlay {
namespace {

struct Window {
  Ints kernel;
  Ints strides;
  Ints pads;
  Ints dilations;
  std::string auto_pad;
};

// Reads everything but the padding mode, which stays for the caller.
Window read_window(Operator& op, std::size_t spatial, Ints kernel) {
  Window window;
  window.kernel = op.get_ints("kernel_shape", kernel);
  window.strides = op.get_ints("strides", Ints(spatial, 1));
  window.pads = op.get_ints("pads", Ints(2 * spatial, 0));
  window.dilations = op.get_ints("dilations", Ints(spatial, 1));
  window.auto_pad = op.get_string("auto_pad", "NOTSET");
  op.expect_count("kernel_shape", window.kernel, spatial);
  op.expect_count("strides", window.strides, spatial);
  op.expect_count("pads", window.pads, 2 * spatial);
  op.expect_count("dilations", window.dilations, spatial);
  for (std::size_t i = 0; i < spatial; ++i) {
    // 2^31 keeps the products below in range; nothing real comes near.
    for (const std::int64_t size : {window.kernel[i], window.strides[i], window.dilations[i]}) {
      if (size < 1 || size > INT32_MAX) {
        throw op.error(Code::kCorrupt,
                       fmt::format("window size, stride or dilation {} is not usable", size));
      }
    }
  }
  if (!kernel.empty() && kernel != window.kernel) {
    throw op.error(Code::kShapeMismatch, fmt::format("kernel_shape {} differs from the weight's {}",
                                                     to_string(window.kernel), to_string(kernel)));
  }
  return window;
}

// ceil_mode makes no difference to SAME: its output size is the input's over the stride, rounded
// up, either way.
void resolve_auto_pad(Operator& op, Window& window, const Shape& x) {
  const std::size_t spatial = window.kernel.size();
  if (window.auto_pad == "NOTSET" || window.auto_pad.empty()) return;
  window.pads.assign(2 * spatial, 0);
  if (window.auto_pad == "VALID") return;
  if (window.auto_pad != "SAME_UPPER" && window.auto_pad != "SAME_LOWER") {
    throw op.error(Code::kCorrupt, fmt::format("auto_pad '{}' does not exist", window.auto_pad));
  }
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::int64_t in = x[i + 2];
    const std::int64_t out = (in + window.strides[i] - 1) / window.strides[i];
    const std::int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
    const std::int64_t total =
        std::max<std::int64_t>(0, (out - 1) * window.strides[i] + reach - in);
    const std::int64_t smaller = total / 2;
    const bool is_upper = window.auto_pad == "SAME_UPPER";
    window.pads[i] = is_upper ? smaller : total - smaller;
    window.pads[i + spatial] = total - window.pads[i];
  }
}

Attributes attributes_of(const Window& window) {
  return {{"kernel_shape", window.kernel},
          {"strides", window.strides},
          {"pads", window.pads},
          {"dilations", window.dilations}};
}

// The spatial part of a convolution's weight, whose position differs between the operators.
Ints kernel_of_weight(Operator& op, int weight) {
  if (op.rank(weight) < 3 || op.rank(0) != op.rank(weight)) {
    throw op.error(Code::kShapeMismatch,
                   fmt::format("expected input and weight of one rank, 3 or more; found {} and {}",
                               to_string(op.type(0)), to_string(op.type(weight))));
  }
  return Ints(op.shape(weight).begin() + 2, op.shape(weight).end());
}

Values convolution(Operator& op, int weight) {
  const Ints kernel = kernel_of_weight(op, weight);
  Window window = read_window(op, kernel.size(), kernel);
  resolve_auto_pad(op, window, op.shape(0));
  return op.emit_same(op.inputs(), attributes_of(window));
}

Values conv(Operator& op) { return convolution(op, 1); }
Values qlinear_conv(Operator& op) { return convolution(op, 3); }

// ONNX ConvTranspose: an output_shape, or SAME with output = input * stride, determines the total
// padding; what cannot be reached by cropping is added as output_padding.
Values conv_transpose(Operator& op) {
  const Ints kernel = kernel_of_weight(op, 1);
  const std::size_t spatial = kernel.size();
  Window window = read_window(op, spatial, kernel);
  Ints output_padding = op.get_ints("output_padding", Ints(spatial, 0));
  op.expect_count("output_padding", output_padding, spatial);
  Ints output = op.get_ints("output_shape");
  if (output.size() == spatial + 2) output.erase(output.begin(), output.begin() + 2);
  const bool is_same = window.auto_pad.starts_with("SAME");
  if (output.empty() && is_same) {
    for (std::size_t i = 0; i < spatial; ++i) {
      output.push_back(op.shape(0)[i + 2] * window.strides[i]);
    }
  }
  if (output.empty()) {
    resolve_auto_pad(op, window, op.shape(0));
  } else {
    op.expect_count("output_shape", output, spatial);
    for (std::size_t i = 0; i < spatial; ++i) {
      const std::int64_t full = window.strides[i] * (op.shape(0)[i + 2] - 1) + output_padding[i] +
                                (window.kernel[i] - 1) * window.dilations[i] + 1;
      const std::int64_t total = full - output[i];
      if (total < 0) output_padding[i] -= total;
      const std::int64_t pad = std::max<std::int64_t>(0, total);
      window.pads[i] = window.auto_pad == "SAME_UPPER" ? pad / 2 : pad - pad / 2;
      window.pads[i + spatial] = pad - window.pads[i];
    }
  }
  Attributes attributes = attributes_of(window);
  attributes.emplace("output_padding", output_padding);
  return op.emit_same(op.inputs(), std::move(attributes));
}

Values pool(Operator& op) {
  if (op.rank(0) < 3) {
    throw op.error(
        Code::kShapeMismatch,
        fmt::format("expected an input of rank 3 or more, found {}", to_string(op.type(0))));
  }
  Window window = read_window(op, static_cast<std::size_t>(op.rank(0)) - 2, {});
  resolve_auto_pad(op, window, op.shape(0));
  return op.emit_same({op.input(0)}, attributes_of(window));
}

Values global_pool(Operator& op) { return op.emit_same({op.input(0)}); }

Values global_lp_pool(Operator& op) {
  const std::int64_t p = op.get_int("p", 2);
  if (p != 1 && p != 2) throw op.unsupported(fmt::format("p = {}, only 1 and 2 are", p));
  Ints axes;
  for (int i = 2; i < op.rank(0); ++i) axes.push_back(i);
  return {op.emit(p == 1 ? "ReduceL1" : "ReduceL2", {op.input(0)},
                  {{"axes", axes}, {"keepdims", std::int64_t{1}}})};
}

constexpr CanonicalEntry kEntries[] = {
    {"Conv", conv},
    {"ConvInteger", conv},
    {"QLinearConv", qlinear_conv},
    {"ConvTranspose", conv_transpose},
    {"MaxPool", pool},
    {"AveragePool", pool},
    {"LpPool", pool},
    {"GlobalAveragePool", global_pool},
    {"GlobalMaxPool", global_pool},
    {"GlobalLpPool", global_lp_pool},
};

}  // namespace

std::span<const CanonicalEntry> canonical_convolutions() { return kEntries; }

}  // namespace inlay
