// LSTM, GRU, RNN, all with time as the first dimension.
#include "graphs/ir/infer_families.h"

namespace inlay {
namespace {

// Gates of one cell, which are the row blocks of its weights.
std::int64_t gate_count(std::string_view op) {
  if (op == "LSTM") return 4;
  return op == "GRU" ? 3 : 1;
}

std::int64_t direction_count(const InferContext& context) {
  const std::string direction = context.attribute_string("direction");
  if (direction == "bidirectional") return 2;
  if (direction != "forward" && direction != "reverse") {
    context.fail(Code::kInvalidArgument,
                 "attribute 'direction' is '{}', must be forward, reverse or bidirectional",
                 direction);
  }
  return 1;
}

void expect_activations(const InferContext& context, std::int64_t directions) {
  const std::int64_t per_direction = gate_count(context.node.op) == 4   ? 3
                                     : gate_count(context.node.op) == 3 ? 2
                                                                        : 1;
  const auto& activations =
      std::get<std::vector<std::string>>(context.node.attributes.find("activations")->second);
  if (static_cast<std::int64_t>(activations.size()) != per_direction * directions) {
    context.mismatch("attribute 'activations' needs {} entries, has {}", per_direction * directions,
                     activations.size());
  }
}

}  // namespace

std::vector<TensorType> infer_recurrent(const InferContext& context) {
  context.expect_float(0);
  context.expect_rank(0, "X", 3);
  const std::int64_t gates = gate_count(context.node.op);
  const std::int64_t directions = direction_count(context);
  const std::int64_t hidden = context.attribute_int("hidden_size");
  if (hidden <= 0) context.mismatch("hidden_size is {}, must be positive", hidden);
  expect_activations(context, directions);
  const Shape& x = context.shape(0);
  for (const std::size_t i : {1, 2, 3, 5, 6, 7}) context.expect_same_dtype(i);
  context.expect_shape(1, "W", {directions, gates * hidden, x[2]});
  context.expect_shape(2, "R", {directions, gates * hidden, hidden});
  if (context.has_input(3)) context.expect_shape(3, "B", {directions, 2 * gates * hidden});
  if (context.has_input(4)) {
    if (context.dtype(4) != DType::kI32) {
      context.mismatch("sequence_lens must be i32, is {}", name_of(context.dtype(4)));
    }
    context.expect_shape(4, "sequence_lens", {x[1]});
  }
  const Shape state = {directions, x[1], hidden};
  if (context.has_input(5)) context.expect_shape(5, "initial_h", state);
  if (context.has_input(6)) context.expect_shape(6, "initial_c", state);
  if (context.has_input(7)) context.expect_shape(7, "P", {directions, 3 * hidden});
  const DType dtype = context.dtype(0);
  return {{dtype, {x[0], directions, x[1], hidden}}, {dtype, state}, {dtype, state}};
}

}  // namespace inlay
