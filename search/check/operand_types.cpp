#include "search/check/operand_types.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <string_view>

#include "core/run/random_inputs.h"
#include "graphs/ir/op_table.h"

namespace inlay::check {
namespace {

using Ints = std::vector<std::int64_t>;

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_recurrent(std::string_view op) { return is_one_of(op, {"LSTM", "GRU", "RNN"}); }
bool is_pool(std::string_view op) { return is_one_of(op, {"MaxPool", "AveragePool", "LpPool"}); }
bool is_conv(std::string_view op) {
  return is_one_of(op, {"Conv", "ConvInteger", "QLinearConv", "ConvTranspose"});
}
bool is_logical(std::string_view op) { return is_one_of(op, {"And", "Or", "Xor", "Not"}); }
bool is_bitwise(std::string_view op) {
  return is_one_of(op, {"BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "BitShift"});
}
bool is_reduce(std::string_view op) { return op.starts_with("Reduce"); }

void set(NodeDraft& draft, const char* name, Attribute value) {
  draft.attributes.try_emplace(name, std::move(value));
}

Shape random_shape(Draw& draw, std::int64_t low, std::int64_t high) {
  Shape shape(static_cast<std::size_t>(draw.between(low, high)));
  for (std::int64_t& extent : shape) extent = draw.extent();
  return shape;
}

// What the first operand of an operator looks like.
TensorType first_operand(const NodeDraft& draft, Draw& draw) {
  const std::string& op = draft.op;
  if (is_one_of(op, {"ConvInteger", "QLinearConv", "MatMulInteger", "QLinearMatMul",
                     "DequantizeLinear"})) {
    const bool is_matrix = op.find("MatMul") != std::string::npos;
    const Shape image{draw.extent(), 4, 8, 9};
    return {DType::kU8, is_matrix || op[0] == 'D' ? random_shape(draw, 2, 2) : image};
  }
  if (is_logical(op)) return {DType::kBool, random_shape(draw, 1, 4)};
  if (is_bitwise(op))
    return {op == "BitShift" ? DType::kU8 : DType::kI32, random_shape(draw, 1, 3)};
  if (op == "Where") return {DType::kBool, random_shape(draw, 1, 4)};
  if (op == "OneHot") return {DType::kI64, random_shape(draw, 1, 2)};
  if (op == "Trilu" || op == "EyeLike" || op == "Gemm")
    return {DType::kF32, random_shape(draw, 2, 2)};
  if (op == "MatMul") return {DType::kF32, random_shape(draw, 2, 3)};
  if (op == "Einsum") return {DType::kF32, {draw.extent(), draw.extent()}};
  if (is_recurrent(op)) return {DType::kF32, {draw.between(1, 4), draw.extent(), draw.extent()}};
  if (is_conv(op) || is_pool(op) || op.starts_with("Global")) {
    const std::int64_t spatial = draw.chance(0.6) ? 2 : draw.between(1, 3);
    Shape shape{draw.kind == SampleKind::kEmpty ? draw.extent() : draw.between(1, 2)};
    shape.push_back(draw.kind == SampleKind::kOdd ? draw.extent() : 4 * draw.between(1, 4));
    for (std::int64_t i = 0; i < spatial; ++i) shape.push_back(draw.between(5, 9));
    return {DType::kF32, shape};
  }
  if (is_one_of(op, {"DepthToSpace", "SpaceToDepth"})) {
    return {DType::kF32, {draw.extent(), 4 * draw.between(1, 4), 2 * draw.between(1, 4), 4}};
  }
  if (is_one_of(op, {"BatchNormalization", "InstanceNormalization", "GroupNormalization", "LRN"})) {
    return {DType::kF32,
            {draw.extent(), 2 * draw.between(1, 4), draw.between(2, 6), draw.between(2, 6)}};
  }
  if (op == "MeanVarianceNormalization" || op == "GridSample" || op == "Resize") {
    return {DType::kF32, {draw.extent(), draw.extent(), draw.between(3, 7), draw.between(3, 7)}};
  }
  if (is_one_of(op, {"ScatterElements", "Gather", "GatherElements", "GatherND", "ScatterND"})) {
    return {DType::kF32, random_shape(draw, 2, 2)};
  }
  if (op == "Pow" || op == "Mod") return {DType::kF32, random_shape(draw, 1, 4)};
  if (is_reduce(op) || op.starts_with("Arg") || op == "TopK")
    return {DType::kF32, random_shape(draw, 1, 4)};
  // Mostly of several dimensions: a handful of elements shows little.
  return {DType::kF32, draw.chance(0.15) ? random_shape(draw, 0, 1) : random_shape(draw, 2, 4)};
}

// A shape that broadcasts to `shape`, or `shape` broadcasts to it.
Shape broadcast_partner(const Shape& shape, Draw& draw) {
  if (draw.chance(0.6)) return shape;
  Shape partner = shape;
  if (draw.chance(0.3)) return {};
  if (draw.chance(0.4) && shape.size() >= 2) {  // per channel
    for (std::size_t i = 0; i < partner.size(); ++i) partner[i] = i == 1 ? shape[1] : 1;
    return partner;
  }
  if (!partner.empty()) partner[draw.rng.below(partner.size())] = 1;
  return partner;
}

Shape conv_weight(const NodeDraft& draft, Draw& draw) {
  const Shape& x = draft.known[0]->shape;
  const std::int64_t channels = x.size() > 1 ? x[1] : 1;
  const std::int64_t group = get_int(draft.attributes, "group", 1);
  const std::int64_t outputs = group * draw.between(1, 8);
  Shape weight = draft.op == "ConvTranspose"
                     ? Shape{channels, std::max<std::int64_t>(outputs / group, 1)}
                     : Shape{outputs, channels / std::max<std::int64_t>(group, 1)};
  const std::int64_t window = draw.chance(0.4) ? 1 : 3;
  for (std::size_t i = 2; i < x.size(); ++i) weight.push_back(std::min(window, x[i]));
  return weight;
}

Shape matrix_partner(const NodeDraft& draft, Draw& draw) {
  const Shape& a = draft.known[0]->shape;
  if (a.empty()) return {1};
  Shape b{a.back(), draw.extent()};
  if (draft.op == "Gemm") {
    const bool is_a_transposed = get_int(draft.attributes, "transA", 0) != 0;
    const std::int64_t k = is_a_transposed ? a.front() : a.back();
    b = {k, draw.extent()};
    if (get_int(draft.attributes, "transB", 0) != 0) std::swap(b[0], b[1]);
    return b;
  }
  if (a.size() > 2 && draw.chance(0.5)) b.insert(b.begin(), a.begin(), a.end() - 2);
  return b;
}

TensorType recurrent_operand(const NodeDraft& draft, std::size_t i) {
  const Shape& x = draft.known[0]->shape;
  const std::int64_t gates = draft.op == "LSTM" ? 4 : draft.op == "GRU" ? 3 : 1;
  const std::int64_t hidden = get_int(draft.attributes, "hidden_size", 1);
  const std::int64_t ways =
      get_string(draft.attributes, "direction", "forward") == "bidirectional" ? 2 : 1;
  const Shape state{ways, x[1], hidden};
  switch (i) {
    case 1:
      return {DType::kF32, {ways, gates * hidden, x[2]}};
    case 2:
      return {DType::kF32, {ways, gates * hidden, hidden}};
    case 3:
      return {DType::kF32, {ways, 2 * gates * hidden}};
    case 4:
      return {DType::kI32, {x[1]}};
    case 7:
      return {DType::kF32, {ways, 3 * hidden}};
    default:
      return {DType::kF32, state};
  }
}

TensorType quantized_operand(const NodeDraft& draft, std::size_t i, Draw& draw) {
  const TensorType x = *draft.known[0];
  if (draft.op == "QuantizeLinear" || draft.op == "DequantizeLinear") {
    return {i == 1 ? DType::kF32 : DType::kU8, {}};
  }
  if (draft.op == "ConvInteger" || draft.op == "MatMulInteger") {
    if (i > 1) return {DType::kU8, {}};
    NodeDraft plain = draft;
    plain.op = draft.op == "ConvInteger" ? "Conv" : "MatMul";
    return {DType::kU8,
            plain.op == "Conv" ? conv_weight(plain, draw) : matrix_partner(plain, draw)};
  }
  // x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias
  if (i == 8) return {DType::kI32, {draft.known[3]->shape[0]}};
  if (i != 3) return {i == 1 || i == 4 || i == 6 ? DType::kF32 : DType::kU8, {}};
  NodeDraft plain = draft;
  plain.op = draft.op == "QLinearConv" ? "Conv" : "MatMul";
  return {DType::kU8, plain.op == "Conv" ? conv_weight(plain, draw) : matrix_partner(plain, draw)};
}

TensorType index_operand(const NodeDraft& draft, std::size_t i, Draw& draw) {
  const Shape& data = draft.known[0]->shape;
  if (draft.op == "OneHot") return {DType::kF32, {2}};
  if (i == 2) {  // updates
    if (draft.op == "ScatterElements") return {draft.known[0]->dtype, draft.known[1]->shape};
    Shape shape(draft.known[1]->shape.begin(), draft.known[1]->shape.end() - 1);
    const auto taken = static_cast<std::size_t>(draft.known[1]->shape.back());
    shape.insert(shape.end(),
                 data.begin() + static_cast<std::ptrdiff_t>(std::min(taken, data.size())),
                 data.end());
    return {draft.known[0]->dtype, shape};
  }
  if (draft.op == "Gather") {
    if (draw.chance(0.3)) return {DType::kI64, draw.chance(0.5) ? Shape{} : Shape{1}};
    return {DType::kI64, random_shape(draw, 1, 2)};
  }
  if (draft.op == "GatherND" || draft.op == "ScatterND")
    return {DType::kI64, {draw.between(1, 3), 1}};
  Shape shape = data;  // GatherElements, ScatterElements
  const auto axis = static_cast<std::size_t>(get_int(draft.attributes, "axis", 0));
  if (axis < shape.size()) shape[axis] = draw.between(1, 4);
  return {DType::kI64, shape};
}

}  // namespace

std::int64_t Draw::between(std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(high - low + 1)));
}

std::int64_t Draw::extent() {
  constexpr std::array<std::int64_t, 6> kPlain{2, 3, 4, 6, 8, 16};
  constexpr std::array<std::int64_t, 6> kOdd{1, 3, 5, 7, 13, 17};
  if (kind == SampleKind::kEmpty && chance(0.25)) return 0;
  const auto& pool = kind == SampleKind::kOdd ? kOdd : kPlain;
  return pool[rng.below(pool.size())];
}

int draw_operand_count(const std::string& op, Draw& draw) {
  const OpInfo* info = find_op(op);
  if (info == nullptr) return 1;
  if (op == "Concat" || op == "Einsum") return static_cast<int>(draw.between(2, 4));
  if (op == "Clip" || op == "Pad") return 1;
  const int most = info->max_inputs < 0 ? info->min_inputs + 1 : info->max_inputs;
  if (is_recurrent(op)) return draw.chance(0.5) ? 3 : 4;
  return draw.chance(0.5) ? info->min_inputs : most;
}

void begin_attributes(NodeDraft& draft, Draw& draw) {
  const std::string& op = draft.op;
  if (is_conv(op)) set(draft, "group", draw.chance(0.75) ? std::int64_t{1} : std::int64_t{2});
  if (op == "Gemm") {
    set(draft, "transA", std::int64_t{draw.chance(0.25)});
    set(draft, "transB", std::int64_t{draw.chance(0.5)});
  }
  if (is_recurrent(op)) {
    set(draft, "hidden_size", draw.between(2, 5));
    set(draft, "direction", std::string(draw.chance(0.3) ? "bidirectional" : "forward"));
  }
  if (is_one_of(op, {"GatherElements", "ScatterElements", "Gather"})) {
    set(draft, "axis", std::int64_t{draw.chance(0.4)});
  }
  if (op == "ScatterElements" && draw.chance(0.5)) set(draft, "reduction", std::string("add"));
  if (op == "Concat") set(draft, "axis", std::int64_t{draw.chance(0.6)});
}

TensorType suggest_operand(const NodeDraft& draft, Draw& draw) {
  const std::size_t i = draft.known.size();
  const std::string& op = draft.op;
  const OpInfo* info = find_op(op);
  if (i == 0) {
    if (draft.wanted && info != nullptr && info->is_elementwise) {
      return {is_logical(op) ? DType::kBool : draft.wanted->dtype, draft.wanted->shape};
    }
    if (draft.wanted && op == "Transpose") {
      return {draft.wanted->dtype, Shape(draft.wanted->shape.rbegin(), draft.wanted->shape.rend())};
    }
    return first_operand(draft, draw);
  }
  if (!draft.known[0]) return first_operand(draft, draw);
  const TensorType& x = *draft.known[0];
  const std::int64_t channels = x.shape.size() > 1 ? x.shape[1] : 1;
  if (is_recurrent(op)) return recurrent_operand(draft, i);
  if (is_one_of(op, {"QuantizeLinear", "DequantizeLinear", "ConvInteger", "MatMulInteger",
                     "QLinearMatMul", "QLinearConv"})) {
    return quantized_operand(draft, i, draw);
  }
  if (op == "OneHot" || op.starts_with("Gather") || op.starts_with("Scatter")) {
    return index_operand(draft, i, draw);
  }
  if (is_conv(op)) {
    if (i == 1) return {x.dtype, conv_weight(draft, draw)};
    const Shape& w = draft.known[1]->shape;
    const std::int64_t group = get_int(draft.attributes, "group", 1);
    return {x.dtype, {op == "ConvTranspose" ? w[1] * group : w[0]}};
  }
  if (op == "MatMul" || (op == "Gemm" && i == 1)) return {x.dtype, matrix_partner(draft, draw)};
  if (op == "Gemm") {
    const Shape& b = draft.known[1]->shape;
    const bool is_b_transposed = get_int(draft.attributes, "transB", 0) != 0;
    return {x.dtype, {is_b_transposed ? b.front() : b.back()}};
  }
  if (op == "Einsum") return {x.dtype, {x.shape.back(), draw.extent()}};
  if (op == "Concat") {
    TensorType part = x;
    const auto axis = static_cast<std::size_t>(get_int(draft.attributes, "axis", 0));
    if (axis < part.shape.size()) part.shape[axis] = draw.extent();
    return part;
  }
  if (op == "GridSample") return {x.dtype, {x.shape[0], draw.between(2, 5), draw.between(2, 5), 2}};
  if (op == "LayerNormalization" || op == "RMSNormalization")
    return {x.dtype, {x.shape.empty() ? 1 : x.shape.back()}};
  if (op.ends_with("Normalization")) return {x.dtype, {channels}};
  if (op == "Where" && i == 1) return {DType::kF32, x.shape};
  if (op == "Where") return {draft.known[1]->dtype, broadcast_partner(x.shape, draw)};
  if (op == "Pow" && draw.chance(0.5)) return {x.dtype, {}};
  return {x.dtype, broadcast_partner(x.shape, draw)};
}

void complete_attributes(NodeDraft& draft, Draw& draw) {
  const std::string& op = draft.op;
  if (draft.known.empty() || !draft.known[0]) return;
  const Shape& x = draft.known[0]->shape;
  const auto rank = static_cast<std::int64_t>(x.size());
  const auto axis = [&] { return rank > 0 ? draw.between(0, rank - 1) : 0; };
  if (is_conv(op) || is_pool(op)) {
    const std::size_t spatial = x.size() > 2 ? x.size() - 2 : 1;
    const auto window = is_pool(op) ? Ints(spatial, draw.between(1, 3)) : Ints();
    if (is_pool(op)) set(draft, "kernel_shape", window);
    if (draw.chance(0.4)) set(draft, "strides", Ints(spatial, draw.between(1, 2)));
    if (draw.chance(0.5) && (!is_pool(op) || window[0] > 1))
      set(draft, "pads", Ints(2 * spatial, 1));
  } else if (op == "LRN") {
    set(draft, "size", std::int64_t{3});
  } else if (op == "DepthToSpace" || op == "SpaceToDepth") {
    set(draft, "blocksize", std::int64_t{2});
  } else if (op == "Resize") {
    std::vector<float> scales(x.size(), 1.0f);
    for (std::size_t i = 2; i < scales.size(); ++i) scales[i] = 2.0f;
    set(draft, "scales", scales);
    if (draw.chance(0.5)) set(draft, "mode", std::string("linear"));
  } else if (op == "GroupNormalization") {
    set(draft, "num_groups", std::int64_t{2});
  } else if (op == "LayerNormalization" || op == "RMSNormalization") {
    set(draft, "axis", rank - 1);
  } else if (op == "MeanVarianceNormalization") {
    set(draft, "axes", Ints{0, 2, 3});
  } else if (op == "Einsum") {
    std::string equation = "ab";
    char last = 'b';
    for (std::size_t i = 1; i < draft.known.size(); ++i) {
      equation += std::string(",") + last + static_cast<char>(last + 1);
      ++last;
    }
    set(draft, "equation", equation + "->a" + last);
  } else if (op == "Cast") {
    set(draft, "to", std::int64_t{draw.chance(0.5) ? 6 : 7});
  } else if (op == "Clip") {
    set(draft, "min", -0.5f);
    if (draw.chance(0.7)) set(draft, "max", 0.75f);
  } else if (op == "BitShift") {
    set(draft, "direction", std::string("LEFT"));
  } else if (is_reduce(op)) {
    set(draft, "axes", Ints{axis()});
    set(draft, "keepdims", std::int64_t{draw.chance(0.5)});
  } else if (op == "Split") {
    const std::int64_t along = get_int(draft.attributes, "axis", axis());
    set(draft, "axis", along);
    const std::int64_t extent = rank > 0 ? x[static_cast<std::size_t>(along)] : 1;
    const std::int64_t first = extent > 1 ? draw.between(1, extent - 1) : 0;
    set(draft, "split", Ints{first, extent - first});
  } else if (op == "Slice") {
    const std::int64_t along = axis();
    const std::int64_t extent = rank > 0 ? x[static_cast<std::size_t>(along)] : 1;
    const std::int64_t begin = extent > 1 ? draw.between(0, extent - 1) : 0;
    set(draft, "axes", Ints{along});
    set(draft, "starts", Ints{begin});
    set(draft, "ends", Ints{extent});
    set(draft, "steps", Ints{1});
  } else if (op == "Pad") {
    set(draft, "pads", Ints(2 * x.size(), 1));
  } else if (op == "TopK") {
    set(draft, "axis", rank - 1);
    set(draft, "k", std::int64_t{1});
  } else if (op == "OneHot") {
    set(draft, "axis", rank);
    set(draft, "depth", std::int64_t{4});
  } else if (op == "Tile") {
    Ints repeats(x.size(), 1);
    if (!repeats.empty()) repeats[draw.rng.below(repeats.size())] = 2;
    set(draft, "repeats", repeats);
  } else if (op == "Transpose" && !draft.wanted && draw.chance(0.6)) {
    Ints perm(x.size());
    std::iota(perm.begin(), perm.end(), 0);
    for (std::size_t i = perm.size(); i > 1; --i) std::swap(perm[i - 1], perm[draw.rng.below(i)]);
    set(draft, "perm", perm);
  } else if (const OpInfo* info = find_op(op)) {
    // The rest: an axis without a default.
    if (info->attributes.find("axis:int") != std::string_view::npos &&
        info->attributes.find("axis:int=") == std::string_view::npos) {
      set(draft, "axis", axis());
    }
  }
}

int draw_output_count(const NodeDraft& draft, Draw&) {
  if (draft.op == "Split") return 2;
  if (draft.op == "TopK") return 2;
  if (draft.op == "DynamicQuantizeLinear") return 3;
  if (draft.op == "LSTM") return 3;
  if (draft.op == "GRU" || draft.op == "RNN") return 2;
  return 1;
}

std::optional<TensorType> draw_output_type(const NodeDraft& draft, Draw& draw) {
  if (draft.op != "Reshape" && draft.op != "Expand") return std::nullopt;
  TensorType type = *draft.known[0];
  if (draft.op == "Reshape") {
    type.shape = {element_count(type.shape)};
  } else {
    type.shape.insert(type.shape.begin(), draw.between(1, 3));
  }
  return type;
}

bool is_often_constant(const std::string& op, std::size_t position) {
  if (is_one_of(op, {"Gather", "GatherElements", "GatherND"})) return position == 1;
  if (op == "ScatterElements" || op == "ScatterND") return position == 1;
  if (is_conv(op) || is_recurrent(op) || op.ends_with("Normalization")) return position > 0;
  if (is_one_of(op, {"QuantizeLinear", "DequantizeLinear", "QLinearMatMul", "QLinearConv"})) {
    return position > 0;
  }
  if (op == "MatMulInteger" || op == "ConvInteger") return position > 1;
  return op == "Gemm" && position > 0;
}

Tensor draw_constant(const NodeDraft& draft, std::size_t position, const TensorType& type,
                     Draw& draw) {
  std::int64_t most = 1;
  const std::string& op = draft.op;
  if (position == 1 && (op.starts_with("Gather") || op.starts_with("Scatter"))) {
    const Shape& data = draft.known[0]->shape;
    most = data.empty() ? 0 : *std::min_element(data.begin(), data.end()) - 1;
  } else if (op == "BitShift") {
    most = 7;
  } else if (type.dtype == DType::kU8 || type.dtype == DType::kI8) {
    most = 100;
  }
  Tensor tensor = random_tensor(type, draw.rng, std::max<std::int64_t>(most, 0));
  const bool is_positive = (op == "BatchNormalization" && position == 4) ||
                           op.find("Quantize") != std::string::npos || op.starts_with("QLinear") ||
                           op == "Pow";
  if (is_positive) tensor = absolute_values(tensor);
  if (is_recurrent(op) && position == 4) {  // lengths of sequences, of which the first is whole
    auto* lengths = reinterpret_cast<std::int32_t*>(tensor.mutable_bytes().data());
    for (std::int64_t i = 0; i < type.shape[0]; ++i) {
      lengths[i] = static_cast<std::int32_t>(draft.known[0]->shape[0]);
    }
  }
  return tensor;
}

}  // namespace inlay::check
