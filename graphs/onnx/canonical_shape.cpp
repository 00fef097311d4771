// Operators that only give elements another place: Reshape and its kin, Transpose, Concat, Split,
// Slice, Pad, Expand, …
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "graphs/onnx/operator.h"

namespace inlay {
namespace {

// Product of dims[begin, end).
std::int64_t product(const Shape& dims, std::size_t begin, std::size_t end) {
  return element_count(Shape(dims.begin() + static_cast<std::ptrdiff_t>(begin),
                             dims.begin() + static_cast<std::ptrdiff_t>(end)));
}

Values reshape_to(Operator& op, Shape shape) {
  if (shape == op.shape(0)) return op.identity(op.input(0));
  return {op.reshape(op.input(0), std::move(shape))};
}

// 0 copies the input's dimension unless allowzero; one -1 takes what is left.
Values reshape(Operator& op) {
  Shape target = op.opset() < 5 ? op.get_ints("shape") : op.constant_ints(1, "shape");
  const bool keeps_zero = op.get_int("allowzero", 0) != 0;
  const Shape& source = op.shape(0);
  std::ptrdiff_t open = -1;
  std::int64_t known = 1;
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i] == 0 && !keeps_zero) {
      if (i >= source.size()) {
        throw op.error(Code::kShapeMismatch,
                       fmt::format("entry {} of the shape [{}] copies a dimension that {} lacks", i,
                                   fmt::join(target, ", "), to_string(op.type(0))));
      }
      target[i] = source[i];
    }
    const bool is_open = target[i] == -1;
    if (target[i] < -1 || (is_open && open >= 0) ||
        (!is_open && __builtin_mul_overflow(known, target[i], &known))) {
      throw op.error(Code::kShapeMismatch,
                     fmt::format("the shape [{}] is not a shape", fmt::join(target, ", ")));
    }
    if (is_open) open = static_cast<std::ptrdiff_t>(i);
  }
  if (open >= 0) {
    const std::int64_t count = element_count(source);
    if (known == 0 || count % known != 0) {
      throw op.error(
          Code::kShapeMismatch,
          fmt::format("{} cannot become [{}]", to_string(op.type(0)), fmt::join(target, ", ")));
    }
    target[static_cast<std::size_t>(open)] = count / known;
  }
  return reshape_to(op, std::move(target));
}

Values flatten(Operator& op) {
  const auto rank = op.rank(0);
  const std::int64_t given = op.get_int("axis", 1);
  const auto axis = static_cast<std::size_t>(given == rank ? rank : op.axis(given, rank));
  const Shape& shape = op.shape(0);
  return reshape_to(op, {product(shape, 0, axis), product(shape, axis, shape.size())});
}

Values squeeze(Operator& op) {
  const bool has_axes = op.opset() < 13 ? op.has_attribute("axes") : op.has_input(1);
  Ints axes;
  if (has_axes) {
    axes = op.sorted_axes(op.opset() < 13 ? op.get_ints("axes") : op.constant_ints(1, "axes"),
                          op.rank(0));
  }
  Shape shape;
  for (std::size_t i = 0; i < op.shape(0).size(); ++i) {
    const std::int64_t dim = op.shape(0)[i];
    const bool is_named =
        std::binary_search(axes.begin(), axes.end(), static_cast<std::int64_t>(i));
    if (is_named && dim != 1) {
      throw op.error(Code::kShapeMismatch,
                     fmt::format("axis {} of {} is not 1", i, to_string(op.type(0))));
    }
    if (has_axes ? !is_named : dim != 1) shape.push_back(dim);
  }
  return reshape_to(op, std::move(shape));
}

Values unsqueeze(Operator& op) {
  Ints axes = op.opset() < 13 ? op.get_ints("axes") : op.constant_ints(1, "axes");
  const int rank = op.rank(0) + static_cast<int>(axes.size());
  axes = op.sorted_axes(std::move(axes), rank);
  Shape shape = op.shape(0);
  for (const std::int64_t axis : axes) shape.insert(shape.begin() + axis, 1);
  return reshape_to(op, std::move(shape));
}

Values transpose(Operator& op) {
  const auto rank = static_cast<std::size_t>(op.rank(0));
  Ints perm(rank);
  std::iota(perm.rbegin(), perm.rend(), 0);
  perm = op.get_ints("perm", perm);
  op.expect_count("perm", perm, rank);
  op.sorted_axes(perm, op.rank(0));
  for (std::int64_t& axis : perm) axis = op.axis(axis, op.rank(0));
  const ValueId result = op.transpose(op.input(0), perm);
  return result == op.input(0) ? op.identity(result) : Values{result};
}

Values concat(Operator& op) {
  const std::int64_t axis = op.axis(op.get_int("axis", op.opset() < 4 ? 1 : 0), op.rank(0));
  if (op.input_count() == 1) return op.identity(op.input(0));
  return op.emit_same(op.inputs(), {{"axis", axis}});
}

// Without sizes the parts are equal; as of opset 18 the last may be smaller.
Values split(Operator& op) {
  const std::int64_t axis = op.axis(op.get_int("axis", 0), op.rank(0));
  const std::int64_t dim = op.shape(0)[static_cast<std::size_t>(axis)];
  const std::int64_t parts = op.output_count();
  Ints sizes;
  if (op.opset() >= 13 ? op.has_input(1) : op.has_attribute("split")) {
    sizes = op.opset() >= 13 ? op.constant_ints(1, "split") : op.get_ints("split");
  } else {
    const std::int64_t part = (dim + parts - 1) / parts;
    if (op.opset() < 18 && part * parts != dim) {
      throw op.error(Code::kShapeMismatch,
                     fmt::format("{} elements do not split into {} equal parts", dim, parts));
    }
    if (op.get_int("num_outputs", parts) != parts) {
      throw op.error(Code::kCorrupt, fmt::format("num_outputs is {}, but there are {}",
                                                 op.get_int("num_outputs", parts), parts));
    }
    for (std::int64_t i = 0; i < parts; ++i) {
      sizes.push_back(std::max<std::int64_t>(0, std::min(part, dim - i * part)));
    }
  }
  // A part of a size that no output names cannot be addressed, but it still takes its elements.
  std::int64_t sum = 0;
  for (const std::int64_t size : sizes) {
    if (size < 0 || __builtin_add_overflow(sum, size, &sum)) sum = -1;
    if (sum < 0) break;
  }
  if (sum != dim || static_cast<std::int64_t>(sizes.size()) < parts) {
    throw op.error(Code::kShapeMismatch,
                   fmt::format("sizes [{}] of {} outputs do not divide {} elements",
                               fmt::join(sizes, ", "), parts, dim));
  }
  if (parts == 1 && sizes.size() == 1) return op.identity(op.input(0));
  std::vector<bool> wanted;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    wanted.push_back(op.is_wanted(static_cast<int>(i)));
  return op.emit_outputs("Split", {op.input(0)}, {{"axis", axis}, {"split", sizes}}, wanted);
}

struct SlicedAxis {
  std::int64_t start = 0;
  std::int64_t step = 1;
  std::int64_t end = 0;
  std::int64_t count = 0;
};

// Starts and ends count from the end where negative and are then clamped; the extremes of int64
// stand for "all the way".
SlicedAxis clamp_slice(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t dim) {
  step = std::clamp(step, -dim - 1, dim + 1);  // a longer step takes one element as well
  const std::int64_t lowest = step < 0 ? -1 : 0;
  const std::int64_t highest = step < 0 ? dim - 1 : dim;
  if (start < 0) start += dim;
  if (end < 0) end += dim;
  start = step < 0 ? std::clamp<std::int64_t>(start, std::min<std::int64_t>(0, highest), highest)
                   : std::clamp(start, lowest, highest);
  end = std::clamp(end, lowest, highest);
  const std::int64_t span = step < 0 ? start - end : end - start;
  const std::int64_t stride = step < 0 ? -step : step;
  return {start, step, end, span <= 0 ? 0 : (span + stride - 1) / stride};
}

Values slice(Operator& op) {
  const bool by_attribute = op.opset() < 10;
  const Ints starts = by_attribute ? op.get_ints("starts") : op.constant_ints(1, "starts");
  const Ints ends = by_attribute ? op.get_ints("ends") : op.constant_ints(2, "ends");
  op.expect_count("ends", ends, starts.size());
  Ints axes(starts.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (by_attribute) axes = op.get_ints("axes", axes);
  if (!by_attribute && op.has_input(3)) axes = op.constant_ints(3, "axes");
  op.expect_count("axes", axes, starts.size());
  Ints steps(starts.size(), 1);
  if (!by_attribute && op.has_input(4)) steps = op.constant_ints(4, "steps");
  op.expect_count("steps", steps, starts.size());

  std::map<std::int64_t, SlicedAxis> sliced;
  Shape shape = op.shape(0);
  op.sorted_axes(axes, op.rank(0));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (steps[i] == 0) throw op.error(Code::kCorrupt, "a step is 0");
    const std::int64_t axis = op.axis(axes[i], op.rank(0));
    std::int64_t& dim = shape[static_cast<std::size_t>(axis)];
    const SlicedAxis entry = clamp_slice(starts[i], ends[i], steps[i], dim);
    const bool is_whole = entry.step == 1 && entry.count == dim;
    if (!is_whole) sliced.emplace(axis, entry);
    dim = entry.count;
  }
  if (sliced.empty()) return op.identity(op.input(0));
  Ints all[4];
  for (const auto& [axis, entry] : sliced) {
    all[0].push_back(axis);
    all[1].push_back(entry.start);
    // An empty slice must not come out as a negative count where it is computed from start and end.
    all[2].push_back(entry.count == 0 ? entry.start : entry.end);
    all[3].push_back(entry.step);
  }
  return {op.emit_as({op.type(0).dtype, shape}, "Slice", {op.input(0)},
                     {{"axes", all[0]}, {"starts", all[1]}, {"ends", all[2]}, {"steps", all[3]}})};
}

Values pad(Operator& op) {
  const auto rank = static_cast<std::size_t>(op.rank(0));
  const bool by_attribute = op.opset() < 11;
  Ints given = by_attribute ? op.get_ints(op.opset() < 2 ? "paddings" : "pads")
                            : op.constant_ints(1, "pads");
  Ints axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (op.has_input(3)) axes = op.constant_ints(3, "axes");
  op.sorted_axes(axes, op.rank(0));
  op.expect_count("pads", given, 2 * axes.size());
  Ints pads(2 * rank, 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(op.axis(axes[i], op.rank(0)));
    pads[axis] = given[i];
    pads[axis + rank] = given[i + axes.size()];
  }
  if (std::all_of(pads.begin(), pads.end(), [](std::int64_t p) { return p == 0; })) {
    return op.identity(op.input(0));
  }
  double value = by_attribute ? static_cast<double>(op.get_float("value", 0)) : 0.0;
  if (!by_attribute && op.has_input(2)) {
    const std::vector<double> values = op.constant_doubles(2, "constant_value");
    value = values.empty() ? 0.0 : values[0];
  }
  const bool by_operand = !is_float(op.type(0).dtype) && value != 0.0;
  Attributes attributes{{"pads", pads},
                        {"mode", op.get_string("mode", "constant")},
                        {"value", by_operand ? 0.0f : static_cast<float>(value)}};
  if (by_operand) return {op.emit("Pad", {op.input(0), op.input(2)}, std::move(attributes))};
  return {op.emit("Pad", {op.input(0)}, std::move(attributes))};
}

Values expand(Operator& op) {
  Shape target = op.constant_ints(1, "shape");
  const Shape& source = op.shape(0);
  if (target.size() < source.size()) {
    target.insert(target.begin(), source.size() - target.size(), 1);
  }
  const std::size_t shift = target.size() - source.size();
  for (std::size_t i = 0; i < source.size(); ++i) {
    std::int64_t& dim = target[i + shift];
    if (dim == 1) dim = source[i];
    if (dim != source[i] && source[i] != 1) {
      throw op.error(Code::kShapeMismatch,
                     fmt::format("{} does not broadcast to [{}]", to_string(op.type(0)),
                                 fmt::join(target, ", ")));
    }
  }
  if (target == source) return op.identity(op.input(0));
  // Where only ones are added, no element is repeated.
  if (element_count(target) == element_count(source)) return {op.reshape(op.input(0), target)};
  return {op.emit_as({op.type(0).dtype, target}, "Expand", {op.input(0)})};
}

Values tile(Operator& op) {
  const Ints repeats = op.constant_ints(1, "repeats");
  op.expect_count("repeats", repeats, static_cast<std::size_t>(op.rank(0)));
  if (std::all_of(repeats.begin(), repeats.end(), [](std::int64_t r) { return r == 1; })) {
    return op.identity(op.input(0));
  }
  return {op.emit("Tile", {op.input(0)}, {{"repeats", repeats}})};
}

Values same(Operator& op) { return op.emit_same(op.inputs()); }

constexpr CanonicalEntry kEntries[] = {
    {"Reshape", reshape},     {"Flatten", flatten},     {"Squeeze", squeeze},
    {"Unsqueeze", unsqueeze}, {"Transpose", transpose}, {"Concat", concat},
    {"Split", split},         {"Slice", slice},         {"Pad", pad},
    {"Expand", expand},       {"Tile", tile},           {"DepthToSpace", same},
    {"SpaceToDepth", same},
};

}  // namespace

std::span<const CanonicalEntry> canonical_shapes() { return kEntries; }

}  // namespace inlay
