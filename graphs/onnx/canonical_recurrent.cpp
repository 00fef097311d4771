// LSTM, GRU and RNN: layout 1 (batch first) becomes transposes around layout 0.
#include <fmt/format.h>

#include <algorithm>

#include "graphs/onnx/operator.h"

namespace inlay {
namespace {

// Lengths that all equal the sequence's say nothing.
bool is_full_length(Operator& op, std::int64_t steps) {
  if (op.constant(4) == nullptr) return false;
  const Ints lengths = op.constant_ints(4, "sequence_lens");
  return std::all_of(lengths.begin(), lengths.end(), [&](std::int64_t n) { return n == steps; });
}

Values recurrence(Operator& op) {
  if (op.rank(0) != 3 || op.rank(2) != 3) {
    throw op.error(Code::kShapeMismatch, fmt::format("expected X and R of rank 3, found {} and {}",
                                                     to_string(op.type(0)), to_string(op.type(2))));
  }
  const bool is_batch_first = op.get_int("layout", 0) != 0;
  const Ints swap{1, 0, 2};
  Values operands = op.inputs();
  if (is_batch_first) {
    operands[0] = op.transpose(operands[0], swap);
    for (std::size_t i = 5; i < std::min<std::size_t>(operands.size(), 7); ++i) {
      if (!operands[i].is_none()) operands[i] = op.transpose(operands[i], swap);
    }
  }
  if (operands.size() > 4 && is_full_length(op, op.type(operands[0]).shape[0])) {
    operands[4] = kNoValue;
  }
  Attributes attributes{{"hidden_size", op.get_int("hidden_size", op.shape(2)[2])}};
  for (const auto& [name, value] : op.attributes()) {
    if (name != "layout") attributes.emplace(name, value);
  }
  attributes.erase("output_sequence");  // opset 6; whether Y is named says the same
  if (op.op() == "GRU" && op.opset() < 3) attributes.erase("linear_before_reset");

  const std::size_t outputs = op.op() == "LSTM" ? 3 : 2;
  std::vector<bool> wanted;
  for (std::size_t i = 0; i < outputs; ++i) wanted.push_back(op.is_wanted(static_cast<int>(i)));
  Values results = op.emit_outputs(op.op(), operands, std::move(attributes), wanted);
  if (is_batch_first) {
    if (wanted[0]) results[0] = op.transpose(results[0], {2, 0, 1, 3});
    for (std::size_t i = 1; i < outputs; ++i) {
      if (wanted[i]) results[i] = op.transpose(results[i], swap);
    }
  }
  return results;
}

constexpr CanonicalEntry kEntries[] = {
    {"LSTM", recurrence}, {"GRU", recurrence}, {"RNN", recurrence}};

}  // namespace

std::span<const CanonicalEntry> canonical_recurrences() { return kEntries; }

}  // namespace inlay
