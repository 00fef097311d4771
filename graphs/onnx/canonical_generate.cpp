// Operators whose result follows from shapes and constants alone. They are computed here and never
// enter a graph.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "graphs/onnx/operator.h"

namespace inlay {
namespace {

// What a file of a few bytes may ask for.
constexpr std::size_t kMaxGeneratedBytes = std::size_t{2} << 30;

Tensor make_tensor(Operator& op, TensorType type) {
  if (dense_bytes(type) > kMaxGeneratedBytes) {
    throw op.unsupported(fmt::format("a constant {} of more than 2 GiB", to_string(type)));
  }
  return Tensor::zeros(std::move(type));
}

Values result(Operator& op, Tensor tensor) {
  op.draft().note("fold-constant", op.name());
  return {op.constant_value(std::move(tensor))};
}

// Not noted as folded: it was a constant before.
Values constant(Operator& op) {
  const Attributes& attributes = op.attributes();
  if (const auto it = attributes.find("value"); it != attributes.end()) {
    if (const Tensor* tensor = std::get_if<Tensor>(&it->second))
      return {op.constant_value(*tensor)};
  }
  if (op.has_attribute("value_float")) {
    return {op.constant_value(Tensor::from<float>({}, {op.get_float("value_float", 0)}))};
  }
  if (op.has_attribute("value_int")) {
    return {op.constant_value(Tensor::from<std::int64_t>({}, {op.get_int("value_int", 0)}))};
  }
  if (op.has_attribute("value_floats")) {
    const Floats values = op.get_floats("value_floats");
    return {
        op.constant_value(Tensor::from<float>({static_cast<std::int64_t>(values.size())}, values))};
  }
  if (op.has_attribute("value_ints")) {
    const Ints values = op.get_ints("value_ints");
    return {op.constant_value(
        Tensor::from<std::int64_t>({static_cast<std::int64_t>(values.size())}, values))};
  }
  throw op.unsupported("a constant that is neither a tensor nor numbers");
}

Values constant_of_shape(Operator& op) {
  Tensor value = Tensor::from<float>({1}, {0.0f});
  if (const auto it = op.attributes().find("value"); it != op.attributes().end()) {
    if (const Tensor* tensor = std::get_if<Tensor>(&it->second)) value = *tensor;
  }
  const std::size_t width = size_of(value.dtype());
  if (value.size_bytes() != width) {
    throw op.error(Code::kCorrupt,
                   fmt::format("'value' is not one number but {}", to_string(value.type())));
  }
  const Shape shape = op.constant_ints(0, "shape");
  Tensor tensor = make_tensor(op, {value.dtype(), shape});
  const auto bytes = tensor.mutable_bytes();
  const bool is_zero = std::all_of(value.bytes().begin(), value.bytes().end(),
                                   [](std::byte b) { return b == std::byte{0}; });
  for (std::size_t at = 0; at < bytes.size() && !is_zero; at += width) {
    std::memcpy(bytes.data() + at, value.data(), width);
  }
  return result(op, std::move(tensor));
}

Values shape(Operator& op) {
  const std::int64_t rank = op.rank(0);
  const auto clamp = [&](std::int64_t axis) {
    return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const std::int64_t start = clamp(op.get_int("start", 0));
  const std::int64_t end = std::max(start, clamp(op.get_int("end", rank)));
  const Ints dims(op.shape(0).begin() + start, op.shape(0).begin() + end);
  return result(op, Tensor::from<std::int64_t>({static_cast<std::int64_t>(dims.size())}, dims));
}

Values size(Operator& op) {
  return result(op, Tensor::from<std::int64_t>({}, {element_count(op.shape(0))}));
}

template <typename T>
Tensor fill_range(Operator& op, std::int64_t count, T start, T step) {
  Tensor tensor = make_tensor(op, {dtype_of<T>(), {count}});
  T* out = reinterpret_cast<T*>(tensor.mutable_bytes().data());
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = static_cast<T>(start + static_cast<T>(i) * step);
  }
  return tensor;
}

template <typename T>
Tensor range_of(Operator& op, const Tensor& start, const Tensor& limit, const Tensor& step) {
  const T first = start.as<T>()[0];
  const T delta = step.as<T>()[0];
  const double span = static_cast<double>(limit.as<T>()[0]) - static_cast<double>(first);
  const double count = std::max(0.0, std::ceil(span / static_cast<double>(delta)));
  if (!(count < 1e15)) throw op.error(Code::kInvalidArgument, "the range does not end");
  return fill_range<T>(op, static_cast<std::int64_t>(count), first, delta);
}

Values range(Operator& op) {
  for (const int i : {0, 1, 2}) {
    if (op.constant_doubles(i, i == 0   ? "start"
                               : i == 1 ? "limit"
                                        : "delta")
                .size() != 1 ||
        op.type(i).dtype != op.type(0).dtype) {
      throw op.error(Code::kShapeMismatch,
                     "start, limit and delta are not three numbers of one type");
    }
  }
  const Tensor& a = *op.constant(0);
  const Tensor& b = *op.constant(1);
  const Tensor& c = *op.constant(2);
  switch (a.dtype()) {
    case DType::kF32:
      return result(op, range_of<float>(op, a, b, c));
    case DType::kF64:
      return result(op, range_of<double>(op, a, b, c));
    case DType::kI16:
      return result(op, range_of<std::int16_t>(op, a, b, c));
    case DType::kI32:
      return result(op, range_of<std::int32_t>(op, a, b, c));
    case DType::kI64:
      return result(op, range_of<std::int64_t>(op, a, b, c));
    default:
      throw op.unsupported(fmt::format("a range of {}", name_of(a.dtype())));
  }
}

// Only the input's shape counts, and that is known.
Values eye_like(Operator& op) {
  if (op.rank(0) != 2) {
    throw op.error(Code::kShapeMismatch,
                   fmt::format("expected a matrix, found {}", to_string(op.type(0))));
  }
  const auto dtype =
      static_cast<DType>(op.get_int("dtype", static_cast<std::int64_t>(op.type(0).dtype)));
  if (size_of(dtype) == 0) throw op.unsupported("its element type is not supported");
  const Tensor one = scalar_of(dtype, 1);
  Tensor tensor = make_tensor(op, {dtype, op.shape(0)});
  const std::int64_t rows = op.shape(0)[0];
  const std::int64_t columns = op.shape(0)[1];
  const std::int64_t k = std::clamp(op.get_int("k", 0), -rows, columns);
  for (std::int64_t row = std::max<std::int64_t>(0, -k); row < rows && row + k < columns; ++row) {
    std::memcpy(tensor.mutable_bytes().data() +
                    static_cast<std::size_t>(row * columns + row + k) * one.size_bytes(),
                one.data(), one.size_bytes());
  }
  return result(op, std::move(tensor));
}

// How many there are depends on the values, so the input must be constant.
Values non_zero(Operator& op) {
  const std::vector<double> values = op.constant_doubles(0, "X");
  const Shape& dims = op.shape(0);
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0.0) found.push_back(i);  // NaN counts as nonzero
  }
  const auto count = static_cast<std::int64_t>(found.size());
  Ints indices;
  const Ints strides = row_major_strides(dims);
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    for (const std::size_t i : found) {
      indices.push_back(static_cast<std::int64_t>(i) / strides[axis] % dims[axis]);
    }
  }
  return result(op, Tensor::from<std::int64_t>({op.rank(0), count}, indices));
}

constexpr CanonicalEntry kEntries[] = {
    {"Constant", constant}, {"ConstantOfShape", constant_of_shape},
    {"Shape", shape},       {"Size", size},
    {"Range", range},       {"EyeLike", eye_like},
    {"NonZero", non_zero},
};

}  // namespace

std::span<const CanonicalEntry> canonical_generators() { return kEntries; }

}  // namespace inlay
