#include "plugins/onednn/chain.h"

#include <bit>
#include <cmath>
#include <limits>
#include <string>

namespace inlay::onednn {

using dnnl::algorithm;

std::optional<Eltwise> find_eltwise(const sdk::NodeView& node) {
  const std::string_view op = node.op();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (op == "Relu") return Eltwise{algorithm::eltwise_relu, 0, 0};
  if (op == "LeakyRelu") {
    return Eltwise{algorithm::eltwise_relu, node.get_float("alpha", 0.01f), 0};
  }
  if (op == "Clip") {
    if (node.input(1) >= 0 || node.input(2) >= 0) return std::nullopt;
    return Eltwise{algorithm::eltwise_clip, node.get_float("min", -kInfinity),
                   node.get_float("max", kInfinity)};
  }
  if (op == "Sigmoid") return Eltwise{algorithm::eltwise_logistic, 0, 0};
  if (op == "Tanh") return Eltwise{algorithm::eltwise_tanh, 0, 0};
  if (op == "HardSwish") return Eltwise{algorithm::eltwise_hardswish, 1.f / 6, 0.5f};
  if (op == "HardSigmoid") {
    return Eltwise{algorithm::eltwise_hardsigmoid, node.get_float("alpha", 0.2f),
                   node.get_float("beta", 0.5f)};
  }
  if (op == "Elu") return Eltwise{algorithm::eltwise_elu, node.get_float("alpha", 1), 0};
  if (op == "Gelu") {
    const bool is_tanh = node.get_string("approximate", "none") == "tanh";
    return Eltwise{is_tanh ? algorithm::eltwise_gelu_tanh : algorithm::eltwise_gelu_erf, 0, 0};
  }
  if (op == "Swish") return Eltwise{algorithm::eltwise_swish, node.get_float("alpha", 1), 0};
  if (op == "Mish") return Eltwise{algorithm::eltwise_mish, 0, 0};
  if (op == "Abs") return Eltwise{algorithm::eltwise_abs, 0, 0};
  if (op == "Neg") return Eltwise{algorithm::eltwise_linear, -1, 0};
  if (op == "Sqrt") return Eltwise{algorithm::eltwise_sqrt, 0, 0};
  if (op == "Reciprocal") return Eltwise{algorithm::eltwise_pow, 1, -1};
  if (op == "Round") return Eltwise{algorithm::eltwise_round, 0, 0};
  return std::nullopt;
}

std::optional<float> constant_scalar(const sdk::ValueView& value) {
  if (!value.is_constant() || value.count() != 1 || value.dtype() != INLAY_F32) return std::nullopt;
  return value.constant_as<float>()[0];
}

std::optional<Eltwise> find_unary_form(const sdk::RegionView& region, const sdk::NodeView& node) {
  const std::string_view op = node.op();
  if (node.inputs().size() != 2) return std::nullopt;
  if (node.input(0) == node.input(1)) {
    if (op == "Mul") return Eltwise{algorithm::eltwise_square, 0, 0};
    if (op == "Add") return Eltwise{algorithm::eltwise_linear, 2, 0};
  }
  if (op != "Pow") return std::nullopt;
  const auto exponent = constant_scalar(region.value(node.input(1)));
  if (!exponent) throw sdk::Decline("Pow: an exponent that is not one constant number");
  if (*exponent == 2) return Eltwise{algorithm::eltwise_square, 0, 0};
  return Eltwise{algorithm::eltwise_pow, 1, *exponent};
}

std::optional<algorithm> find_binary(std::string_view op) {
  if (op == "Add") return algorithm::binary_add;
  if (op == "Sub") return algorithm::binary_sub;
  if (op == "Mul") return algorithm::binary_mul;
  if (op == "Div") return algorithm::binary_div;
  if (op == "Max") return algorithm::binary_max;
  if (op == "Min") return algorithm::binary_min;
  return std::nullopt;
}

namespace {

bool reads(const sdk::NodeView& node, int value) {
  return node.input(0) == value || node.input(1) == value;
}

// x * Sigmoid(x) and x * HardSigmoid(x) in two nodes from `first` on.
std::optional<Eltwise> find_spelt_swish(const sdk::RegionView& region, int first, int x) {
  if (first + 2 > region.node_count()) return std::nullopt;
  const sdk::NodeView gate = region.node(first), product = region.node(first + 1);
  if (gate.input(0) != x || product.op() != "Mul" || !reads(product, x) ||
      !reads(product, gate.outputs()[0])) {
    return std::nullopt;
  }
  if (gate.op() == "Sigmoid") return Eltwise{algorithm::eltwise_swish, 1, 0};
  if (gate.op() != "HardSigmoid") return std::nullopt;
  return Eltwise{algorithm::eltwise_hardswish, gate.get_float("alpha", 0.2f),
                 gate.get_float("beta", 0.5f)};
}

// The operand of a binary operator that is not `previous`.
sdk::ValueView other_operand(const sdk::RegionView& region, const sdk::NodeView& node,
                             int previous) {
  const bool is_second = node.input(1) == previous;
  if (is_second == (node.input(0) == previous)) {
    throw sdk::Decline(std::string(node.op()) + " does not take the value before it once");
  }
  return region.value(node.input(is_second ? 0 : 1));
}

}  // namespace

// P - v is -v + P, and P / v a power of v.
Chain::Link Chain::turned_around(const Link& link) {
  if (link.op == "Sub") {
    links_.push_back({Eltwise{algorithm::eltwise_linear, -1, 0}, link.op, std::nullopt});
    return {std::nullopt, "Add", link.operand};
  }
  if (link.op == "Div") {
    const auto scalar = constant_scalar(*link.operand);
    if (!scalar) throw sdk::Decline("Div: divides more than one number by the value before it");
    return {Eltwise{algorithm::eltwise_pow, *scalar, -1}, link.op, std::nullopt};
  }
  if (link.op == "PRelu") throw sdk::Decline("PRelu: the value before it is the slope");
  return link;
}

void Chain::negate_first() {
  links_.insert(links_.begin(), {Eltwise{algorithm::eltwise_linear, -1, 0}, "Neg", std::nullopt});
}

Chain Chain::after(const sdk::RegionView& region, int main, int end) {
  return Chain(region, main + 1, end, region.node(main).outputs()[0]);
}

Chain Chain::of_input(const sdk::RegionView& region, const sdk::ValueView& input) {
  return Chain(region, 0, region.node_count(), input.index());
}

Chain::Chain(const sdk::RegionView& region, int first, int end, int previous) {
  const sdk::ValueView main = region.value(previous);
  for (int i = first; i < end; ++i) {
    const sdk::NodeView node = region.node(i);
    Link link{std::nullopt, node.op(), std::nullopt};
    if (const auto swish = find_spelt_swish(region, i, previous)) {
      link.eltwise = swish;
      i += 1;
    } else if (const auto unary = find_unary_form(region, node)) {
      if (node.input(0) != previous) throw sdk::Decline("Pow: the value before it is the exponent");
      link.eltwise = unary;
    } else if (find_binary(node.op()) || node.op() == "PRelu") {
      link.operand = other_operand(region, node, previous);
      if (node.input(1) == previous) link = turned_around(link);
    } else if (link.eltwise = find_eltwise(node); !link.eltwise || node.input(0) != previous) {
      throw sdk::Decline("no post-operation for " + std::string(node.op()));
    }
    links_.push_back(link);
    previous = region.node(i).outputs()[0];
    const sdk::ValueView result = region.value(previous);
    if (result.rank() != main.rank() || result.count() != main.count()) {
      throw sdk::Decline(std::string(node.op()) + " widens the value before it");
    }
  }
}

std::optional<Eltwise> Chain::single() const {
  return links_.size() == 1 ? links_[0].eltwise : std::nullopt;
}

std::optional<sdk::ValueView> Chain::take_bias(std::int64_t columns) {
  if (links_.empty() || links_[0].op != "Add" || !links_[0].operand) return std::nullopt;
  const sdk::ValueView operand = *links_[0].operand;
  const bool is_row = operand.rank() > 0 && operand.dim(operand.rank() - 1) == columns &&
                      operand.count() == columns;
  if (!operand.is_constant() || !is_row) return std::nullopt;
  links_.erase(links_.begin());
  return operand;
}

bool Chain::is_matrix_like(std::int64_t count, std::int64_t columns) const {
  for (const Link& link : links_) {
    if (!link.operand) continue;
    const sdk::ValueView& operand = *link.operand;
    const bool is_row = operand.count() == columns && operand.rank() > 0 &&
                        operand.dim(operand.rank() - 1) == columns;
    if (operand.count() != count && operand.count() != 1 && !is_row) return false;
  }
  return true;
}

bool Chain::has_operands() const {
  for (const Link& link : links_) {
    if (link.operand) return true;
  }
  return false;
}

dnnl::post_ops Chain::post_ops(const Dims& dims, std::string_view layout, bool adds_in_place) {
  operands_.clear();
  added_in_place_.reset();
  dnnl::post_ops post_ops;
  for (const Link& link : links_) append(post_ops, link, dims, layout, adds_in_place);
  return post_ops;
}

void Chain::append(dnnl::post_ops& post_ops, const Link& link, const Dims& dims,
                   std::string_view layout, bool adds_in_place) {
  if (link.eltwise) {
    post_ops.append_eltwise(link.eltwise->algorithm, link.eltwise->alpha, link.eltwise->beta);
    return;
  }
  const sdk::ValueView operand = *link.operand;
  const std::string_view op = link.op;
  if (op == "PRelu") return append_prelu(post_ops, operand, dims);
  if (const auto scalar = constant_scalar(operand); scalar && op != "Max" && op != "Min") {
    if (op == "Add") post_ops.append_eltwise(algorithm::eltwise_linear, 1, *scalar);
    if (op == "Sub") post_ops.append_eltwise(algorithm::eltwise_linear, 1, -*scalar);
    if (op == "Mul") post_ops.append_eltwise(algorithm::eltwise_linear, *scalar, 0);
    if (op == "Div") post_ops.append_eltwise(algorithm::eltwise_linear, 1 / *scalar, 0);
    return;
  }
  const std::int64_t count = sdk::element_count(dims);
  if (adds_in_place && op == "Add" && operand.count() == count && !added_in_place_) {
    if (operand.layout() != layout) throw sdk::Decline("the added tensor lies otherwise");
    post_ops.append_sum();
    added_in_place_ = operand;
    return;
  }
  // An operand of the output's size, or of one row, may be seen through the extents given.
  Dims seen = align_rank(dims_of(operand), dims.size());
  if (operand.count() == count) seen = dims;
  if (seen.size() > dims.size()) {
    if (operand.count() != seen.back()) throw sdk::Decline("an operand of higher rank");
    seen = align_rank({seen.back()}, dims.size());
  }
  operands_.push_back(
      {DNNL_ARG_ATTR_MULTIPLE_POST_OP(post_ops.len()) | DNNL_ARG_SRC_1, operand,
       is_dense(operand.layout()) ? describe_dense(seen) : describe(seen, operand.layout())});
  post_ops.append_binary(*find_binary(op), operands_.back().desc);
}

// One slope, or one for each index along a single dimension.
void Chain::append_prelu(dnnl::post_ops& post_ops, const sdk::ValueView& slope, const Dims& dims) {
  if (const auto scalar = constant_scalar(slope)) {
    post_ops.append_eltwise(algorithm::eltwise_relu, *scalar, 0);
    return;
  }
  const Dims seen = align_rank(dims_of(slope), dims.size());
  int mask = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (seen[i] != 1) mask |= 1 << i;
  }
  if (seen.size() != dims.size() || std::popcount(static_cast<unsigned>(mask)) > 1) {
    throw sdk::Decline("PRelu: slopes along several dimensions");
  }
  operands_.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(post_ops.len()) | DNNL_ARG_WEIGHTS, slope,
                       describe_dense({slope.count()})});
  post_ops.append_prelu(mask);
}

void Chain::bind(KernelBuilder& builder) const {
  for (const Operand& operand : operands_) {
    builder.bind(operand.argument, operand.value, operand.desc);
  }
  if (added_in_place_) builder.copy_first(*added_in_place_);
}

}  // namespace inlay::onednn
