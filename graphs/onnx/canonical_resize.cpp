// Upsample and Resize: one scale per dimension, and the output's shape.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "graphs/onnx/operator.h"

namespace inlay {
namespace {

Floats to_floats(const std::vector<double>& values) {
  Floats out;
  for (const double value : values) out.push_back(static_cast<float>(value));
  return out;
}

// The output's dimensions are those of the input times the scales, rounded down, in single
// precision as the specification's shape inference does it.
Shape scaled_shape(Operator& op, const Floats& scales) {
  Shape shape = op.shape(0);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const float dim = std::floor(static_cast<float>(shape[i]) * scales[i]);
    if (!(scales[i] > 0) || dim > 1e15f) {
      throw op.error(Code::kCorrupt, fmt::format("the scale {} is not usable", scales[i]));
    }
    shape[i] = static_cast<std::int64_t>(dim);
  }
  return shape;
}

// What opset 10 calls nearest rounds down where it enlarges and up where it shrinks.
std::string old_nearest_mode(Operator& op, const Floats& scales) {
  const auto shrinks = [](float scale) { return scale < 1.0f; };
  const auto enlarges = [](float scale) { return scale > 1.0f; };
  if (std::none_of(scales.begin(), scales.end(), shrinks)) return "floor";
  if (std::none_of(scales.begin(), scales.end(), enlarges)) return "ceil";
  throw op.unsupported("nearest both enlarges and shrinks in the form of opset 10");
}

// Upsample, and Resize of opset 10: pixels at their corners, scales only.
Values resize_by_scales(Operator& op) {
  Floats scales = op.has_attribute("scales") ? op.get_floats("scales")
                                             : to_floats(op.constant_doubles(1, "scales"));
  if (static_cast<int>(scales.size()) != op.rank(0)) {
    throw op.error(Code::kCorrupt,
                   fmt::format("{} scales for a tensor of rank {}", scales.size(), op.rank(0)));
  }
  std::string mode = op.get_string("mode", "nearest");
  if (mode == "bilinear" || mode == "trilinear") mode = "linear";
  return {op.emit_as({op.type(0).dtype, scaled_shape(op, scales)}, "Resize", {op.input(0)},
                     {{"mode", mode},
                      {"coordinate_transformation_mode", std::string("asymmetric")},
                      {"nearest_mode", old_nearest_mode(op, scales)},
                      {"scales", scales}})};
}

struct Target {
  Shape shape;
  Floats scales;
};

Ints resized_axes(Operator& op) {
  Ints axes(static_cast<std::size_t>(op.rank(0)));
  std::iota(axes.begin(), axes.end(), 0);
  if (!op.has_attribute("axes")) return axes;
  axes = op.get_ints("axes");
  op.sorted_axes(axes, op.rank(0));
  for (std::int64_t& axis : axes) axis = op.axis(axis, op.rank(0));
  return axes;
}

Target target_of_sizes(Operator& op, const Ints& axes) {
  const Ints sizes = op.constant_ints(3, "sizes");
  op.expect_count("sizes", sizes, axes.size());
  const std::string policy = op.get_string("keep_aspect_ratio_policy", "stretch");
  Target target{op.shape(0), Floats(op.shape(0).size(), 1.0f)};
  const auto ratio = [&](std::size_t i) {
    const std::int64_t dim = op.shape(0)[static_cast<std::size_t>(axes[i])];
    if (dim < 1 || sizes[i] < 0) {
      throw op.error(
          Code::kShapeMismatch,
          fmt::format("cannot resize {} to [{}]", to_string(op.type(0)), fmt::join(sizes, ", ")));
    }
    return static_cast<float>(sizes[i]) / static_cast<float>(dim);
  };
  float common = axes.empty() ? 1.0f : ratio(0);
  for (std::size_t i = 1; i < axes.size(); ++i) {
    common = policy == "not_smaller" ? std::max(common, ratio(i)) : std::min(common, ratio(i));
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    target.scales[axis] = policy == "stretch" ? ratio(i) : common;
    target.shape[axis] = policy == "stretch"
                             ? sizes[i]
                             : static_cast<std::int64_t>(std::floor(
                                   common * static_cast<float>(op.shape(0)[axis]) + 0.5f));
  }
  return target;
}

Target target_of_scales(Operator& op, const Ints& axes, const Floats& given, const Floats& roi) {
  if (given.size() != axes.size()) {
    throw op.error(Code::kCorrupt, fmt::format("{} scales for {} axes", given.size(), axes.size()));
  }
  Floats scales(op.shape(0).size(), 1.0f);
  for (std::size_t i = 0; i < axes.size(); ++i)
    scales[static_cast<std::size_t>(axes[i])] = given[i];
  Floats effective = scales;
  for (std::size_t i = 0; i < scales.size() && !roi.empty(); ++i) {
    effective[i] *= roi[i + scales.size()] - roi[i];
  }
  return {scaled_shape(op, effective), scales};
}

// The region of interest of all dimensions: starts, then ends.
Floats region_of_interest(Operator& op, const Ints& axes) {
  if (op.get_string("coordinate_transformation_mode", "half_pixel") != "tf_crop_and_resize")
    return {};
  const Floats given = to_floats(op.constant_doubles(1, "roi"));
  if (given.size() != 2 * axes.size()) {
    throw op.error(Code::kCorrupt,
                   fmt::format("roi of {} numbers for {} axes", given.size(), axes.size()));
  }
  const auto rank = static_cast<std::size_t>(op.rank(0));
  Floats roi(2 * rank, 0.0f);
  std::fill(roi.begin() + static_cast<std::ptrdiff_t>(rank), roi.end(), 1.0f);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    roi[static_cast<std::size_t>(axes[i])] = given[i];
    roi[static_cast<std::size_t>(axes[i]) + rank] = given[i + axes.size()];
  }
  return roi;
}

Values resize(Operator& op) {
  if (op.opset() < 11) return resize_by_scales(op);
  const Ints axes = resized_axes(op);
  const Floats roi = region_of_interest(op, axes);
  // An empty list of scales stands for none where sizes are given.
  Floats scales;
  if (op.has_input(2)) scales = to_floats(op.constant_doubles(2, "scales"));
  const bool by_sizes = scales.empty() && op.has_input(3);
  const Target target =
      by_sizes ? target_of_sizes(op, axes) : target_of_scales(op, axes, scales, roi);
  Attributes attributes{{"scales", target.scales}};
  for (const char* name :
       {"mode", "coordinate_transformation_mode", "nearest_mode", "cubic_coeff_a",
        "extrapolation_value", "exclude_outside", "antialias"}) {
    const auto it = op.attributes().find(name);
    if (it != op.attributes().end()) attributes.insert(*it);
  }
  if (!roi.empty()) attributes.emplace("roi", roi);
  return {
      op.emit_as({op.type(0).dtype, target.shape}, "Resize", {op.input(0)}, std::move(attributes))};
}

constexpr CanonicalEntry kEntries[] = {{"Resize", resize}, {"Upsample", resize_by_scales}};

}  // namespace

std::span<const CanonicalEntry> canonical_resizes() { return kEntries; }

}  // namespace inlay
