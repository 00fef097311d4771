// LSTM, GRU and RNN over whole sequences of one length. oneDNN has no clipping, no coupled gates,
// and no activations but the usual ones.

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "plugins/onednn/compile.h"
#include "plugins/onednn/primitive_kernel.h"

namespace inlay::onednn {

using dnnl::rnn_direction;

namespace {

// Where ONNX keeps each of oneDNN's gates. LSTM: i, o, f, c there and i, f, c, o here; GRU: z, r, h
// in both.
constexpr std::array<int, 4> kLstmGates{0, 2, 3, 1};
constexpr std::array<int, 3> kGruGates{0, 1, 2};
constexpr std::array<int, 1> kRnnGates{0};
constexpr std::array<int, 3> kPeepholes{0, 2, 1};  // i, o, f there and i, f, o here

struct Recurrence {
  sdk::NodeView node;
  sdk::ValueView x, w, r;
  std::span<const int> gates;
  std::int64_t steps, batch, input, hidden, directions;
  rnn_direction direction;

  bool is_lstm() const { return node.op() == "LSTM"; }
  bool is_linear_before_reset() const { return node.get_int("linear_before_reset", 0) != 0; }
  std::int64_t gate_count() const { return static_cast<std::int64_t>(gates.size()); }
};

bool is_same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char c, char d) { return (c | 0x20) == (d | 0x20); });
}

void require_usual_activations(const sdk::NodeView& node, std::span<const std::string_view> usual) {
  const auto found = node.get_strings("activations");
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (is_same_word(found[i], usual[i % usual.size()])) continue;
    throw sdk::Decline(std::string(node.op()) + ": activation " + std::string(found[i]) +
                       " where oneDNN has " + std::string(usual[i % usual.size()]));
  }
}

void require_full_sequences(const sdk::RegionView& region, const sdk::NodeView& node,
                            std::int64_t steps) {
  if (node.input(4) < 0) return;
  const sdk::ValueView lengths = region.value(node.input(4));
  bool are_full = lengths.is_constant() && lengths.dtype() == INLAY_I32;
  if (are_full) {
    for (const std::int32_t length : lengths.constant_as<std::int32_t>()) {
      are_full = are_full && length == steps;
    }
  }
  if (!are_full) throw sdk::Decline(std::string(node.op()) + ": sequences of different lengths");
}

rnn_direction read_direction(const sdk::NodeView& node) {
  const std::string_view direction = node.get_string("direction", "forward");
  if (direction == "reverse") return rnn_direction::unidirectional_right2left;
  if (direction == "bidirectional") return rnn_direction::bidirectional_concat;
  return rnn_direction::unidirectional_left2right;
}

Recurrence read_recurrence(const sdk::RegionView& region) {
  const sdk::NodeView node = region.node(0);
  const std::string op(node.op());
  std::span<const int> gates = kRnnGates;
  if (op == "LSTM") gates = kLstmGates;
  if (op == "GRU") gates = kGruGates;
  const sdk::ValueView x = region.value(node.input(0)), w = region.value(node.input(1)),
                       r = region.value(node.input(2));
  const Recurrence c{
      node, x, w, r, gates, x.dim(0), x.dim(1), x.dim(2), r.dim(2), w.dim(0), read_direction(node)};
  if (node.get_float("clip", 0) > 0) throw sdk::Decline(op + ": clipped gates");
  if (node.get_int("input_forget", 0) != 0) throw sdk::Decline(op + ": coupled gates");
  require_full_sequences(region, node, c.steps);
  return c;
}

// W [D, G·H, I] or R [D, G·H, H] as oneDNN's [1, D, I, G, H].
std::vector<float> arrange_weights(const Recurrence& c, const sdk::ValueView& weights) {
  const std::int64_t columns = weights.dim(2), gates = c.gate_count(), hidden = c.hidden;
  const auto source = weights.constant_as<float>();
  std::vector<float> result(source.size());
  for (std::int64_t d = 0; d < c.directions; ++d)
    for (std::int64_t g = 0; g < gates; ++g)
      for (std::int64_t h = 0; h < hidden; ++h) {
        const std::int64_t row = (d * gates + c.gates[static_cast<std::size_t>(g)]) * hidden + h;
        for (std::int64_t i = 0; i < columns; ++i) {
          result[static_cast<std::size_t>(((d * columns + i) * gates + g) * hidden + h)] =
              source[static_cast<std::size_t>(row * columns + i)];
        }
      }
  return result;
}

// B [D, 2·G·H], the input's biases before the state's, as oneDNN's sums [1, D, G, H]; with
// linear_before_reset the candidate's two stay apart, the state's in a gate of its own.
std::vector<float> arrange_bias(const Recurrence& c, const sdk::ValueView& bias) {
  const std::int64_t gates = c.gate_count(), hidden = c.hidden;
  const std::int64_t rows = c.is_linear_before_reset() ? gates + 1 : gates;
  const auto source = bias.constant_as<float>();
  std::vector<float> result(static_cast<std::size_t>(c.directions * rows * hidden));
  for (std::int64_t d = 0; d < c.directions; ++d)
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t h = 0; h < hidden; ++h) {
        const std::int64_t gate =
            c.gates[static_cast<std::size_t>(std::min<std::int64_t>(row, gates - 1))];
        const std::int64_t of_input = (d * 2 * gates + gate) * hidden + h;
        const float b = source[static_cast<std::size_t>(of_input)];
        const float state_b = source[static_cast<std::size_t>(of_input + gates * hidden)];
        float sum = b + state_b;
        if (rows > gates && row == gates - 1) sum = b;
        if (row == gates) sum = state_b;
        result[static_cast<std::size_t>((d * rows + row) * hidden + h)] = sum;
      }
  return result;
}

std::vector<float> arrange_peepholes(const Recurrence& c, const sdk::ValueView& peepholes) {
  const auto source = peepholes.constant_as<float>();
  std::vector<float> result(source.size());
  for (std::int64_t d = 0; d < c.directions; ++d)
    for (std::size_t g = 0; g < kPeepholes.size(); ++g)
      for (std::int64_t h = 0; h < c.hidden; ++h) {
        result[static_cast<std::size_t>((d * 3 + static_cast<std::int64_t>(g)) * c.hidden + h)] =
            source[static_cast<std::size_t>((d * 3 + kPeepholes[g]) * c.hidden + h)];
      }
  return result;
}

// All descriptors of one recurrence; those of states that are neither read nor written are empty.
struct Shapes {
  Desc x, state_in, cell_in, weights, recurrent, bias, peepholes, y, state_out, cell_out;
};

bool is_read(const sdk::RegionView& region, const Recurrence& c, int output) {
  const auto outputs = c.node.outputs();
  if (output >= static_cast<int>(outputs.size()) || outputs[output] < 0) return false;
  const auto of_region = region.outputs();
  return std::find(of_region.begin(), of_region.end(), outputs[output]) != of_region.end();
}

Shapes describe_all(const sdk::RegionView& region, const Recurrence& c) {
  const auto any = [](const Dims& dims) {
    return Desc(dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any);
  };
  const Desc state = describe_dense({1, c.directions, c.batch, c.hidden});
  const std::int64_t bias_rows = c.gate_count() + (c.is_linear_before_reset() ? 1 : 0);
  Shapes s;
  s.x = describe_dense({c.steps, c.batch, c.input});
  s.y = describe_dense({c.steps, c.batch, c.directions * c.hidden});
  s.weights = any({1, c.directions, c.input, c.gate_count(), c.hidden});
  s.recurrent = any({1, c.directions, c.hidden, c.gate_count(), c.hidden});
  s.bias = describe_dense({1, c.directions, bias_rows, c.hidden});
  if (c.node.input(5) >= 0 || (c.is_lstm() && c.node.input(6) >= 0)) s.state_in = state;
  if (is_read(region, c, 1) || (c.is_lstm() && is_read(region, c, 2))) s.state_out = state;
  if (c.is_lstm()) {
    s.cell_in = s.state_in;
    s.cell_out = s.state_out;
    if (c.node.input(7) >= 0) s.peepholes = describe_dense({1, c.directions, 3, c.hidden});
  }
  return s;
}

void bind_state(KernelBuilder& builder, const sdk::RegionView& region, const Recurrence& c,
                int argument, int operand, const Desc& desc) {
  if (desc.get_size() == 0) return;
  if (c.node.input(operand) >= 0) {
    return builder.bind(argument, region.value(c.node.input(operand)), desc);
  }
  const std::vector<float> zeros(desc.get_size() / sizeof(float));
  builder.bind_constant(argument, builder.pack(zeros.data(), desc, desc));
}

void bind_weights(KernelBuilder& builder, const sdk::RegionView& region, const Recurrence& c,
                  const Shapes& s, const Desc& weights, const Desc& recurrent) {
  const auto plain = [](const Desc& desc) { return describe_dense(desc.get_dims()); };
  const std::vector<float> w = arrange_weights(c, c.w), r = arrange_weights(c, c.r);
  builder.bind_constant(DNNL_ARG_WEIGHTS_LAYER, builder.pack(w.data(), plain(weights), weights));
  builder.bind_constant(DNNL_ARG_WEIGHTS_ITER, builder.pack(r.data(), plain(recurrent), recurrent));
  std::vector<float> bias(s.bias.get_size() / sizeof(float));
  if (c.node.input(3) >= 0) bias = arrange_bias(c, region.value(c.node.input(3)));
  builder.bind_constant(DNNL_ARG_BIAS, builder.pack(bias.data(), s.bias, s.bias));
  if (s.peepholes.get_size() == 0) return;
  const std::vector<float> p = arrange_peepholes(c, region.value(c.node.input(7)));
  builder.bind_constant(DNNL_ARG_WEIGHTS_PEEPHOLE,
                        builder.pack(p.data(), s.peepholes, s.peepholes));
}

// Appends the primitive. oneDNN puts both directions of a step beside each other and ONNX each
// around the batch: the same bytes for a batch of one, else rearranged at the end.
template <typename Primitive>
std::unique_ptr<sdk::Kernel> assemble(KernelBuilder& builder, const sdk::RegionView& region,
                                      const Recurrence& c, const Shapes& s,
                                      const typename Primitive::primitive_desc& descriptor) {
  builder.bind(DNNL_ARG_SRC_LAYER, c.x, s.x);
  bind_weights(builder, region, c, s, descriptor.weights_layer_desc(),
               descriptor.weights_iter_desc());
  bind_state(builder, region, c, DNNL_ARG_SRC_ITER, 5, s.state_in);
  bind_state(builder, region, c, DNNL_ARG_SRC_ITER_C, 6, s.cell_in);
  if (s.state_out.get_size() > 0) builder.bind_result(DNNL_ARG_DST_ITER, c.node, 1, s.state_out);
  if (s.cell_out.get_size() > 0) builder.bind_result(DNNL_ARG_DST_ITER_C, c.node, 2, s.cell_out);
  const Primitive primitive(descriptor);
  if (c.directions == 1 || c.batch == 1 || !is_read(region, c, 0)) {
    builder.bind_result(DNNL_ARG_DST_LAYER, c.node, 0, s.y);
    return builder.build(primitive, descriptor.scratchpad_desc());
  }
  const Temporary both = builder.make_temporary(s.y);
  builder.bind_temporary(DNNL_ARG_DST_LAYER, both);
  builder.add(primitive, descriptor.scratchpad_desc());
  const Dims dims{c.steps, c.directions, c.batch, c.hidden};
  const std::int64_t row = c.directions * c.hidden;
  const Desc source(dims, dnnl::memory::data_type::f32, Dims{c.batch * row, c.hidden, row, 1});
  const Desc target = describe_dense(dims);
  const dnnl::reorder::primitive_desc reorder(builder.engine(), source, builder.engine(), target,
                                              make_attributes());
  builder.bind_temporary(DNNL_ARG_FROM, {source, both.offset_bytes});
  builder.bind(DNNL_ARG_TO, region.value(c.node.outputs()[0]), target);
  return builder.build(dnnl::reorder(reorder), reorder.scratchpad_desc());
}

std::unique_ptr<sdk::Kernel> compile_lstm(const sdk::RegionView& region, const Recurrence& c) {
  constexpr std::array<std::string_view, 3> kUsual{"Sigmoid", "Tanh", "Tanh"};
  require_usual_activations(c.node, kUsual);
  KernelBuilder builder(region);
  const Shapes s = describe_all(region, c);
  const dnnl::lstm_forward::primitive_desc descriptor(
      builder.engine(), dnnl::prop_kind::forward_inference, c.direction, s.x, s.state_in, s.cell_in,
      s.weights, s.recurrent, s.peepholes, s.bias, s.y, s.state_out, s.cell_out, make_attributes());
  return assemble<dnnl::lstm_forward>(builder, region, c, s, descriptor);
}

template <typename Primitive>
std::unique_ptr<sdk::Kernel> compile_gru(const sdk::RegionView& region, const Recurrence& c) {
  constexpr std::array<std::string_view, 2> kUsual{"Sigmoid", "Tanh"};
  require_usual_activations(c.node, kUsual);
  KernelBuilder builder(region);
  const Shapes s = describe_all(region, c);
  const typename Primitive::primitive_desc descriptor(
      builder.engine(), dnnl::prop_kind::forward_inference, c.direction, s.x, s.state_in, s.weights,
      s.recurrent, s.bias, s.y, s.state_out, make_attributes());
  return assemble<Primitive>(builder, region, c, s, descriptor);
}

std::unique_ptr<sdk::Kernel> compile_rnn(const sdk::RegionView& region, const Recurrence& c) {
  const auto names = c.node.get_strings("activations");
  const std::string_view name = names.empty() ? "Tanh" : names[0];
  require_usual_activations(c.node, std::array{name});
  auto activation = dnnl::algorithm::eltwise_tanh;
  if (is_same_word(name, "Relu")) {
    activation = dnnl::algorithm::eltwise_relu;
  } else if (is_same_word(name, "Sigmoid")) {
    activation = dnnl::algorithm::eltwise_logistic;
  } else if (!is_same_word(name, "Tanh")) {
    throw sdk::Decline("RNN: activation " + std::string(name));
  }
  KernelBuilder builder(region);
  const Shapes s = describe_all(region, c);
  const dnnl::vanilla_rnn_forward::primitive_desc descriptor(
      builder.engine(), dnnl::prop_kind::forward_inference, activation, c.direction, s.x,
      s.state_in, s.weights, s.recurrent, s.bias, s.y, s.state_out, make_attributes());
  return assemble<dnnl::vanilla_rnn_forward>(builder, region, c, s, descriptor);
}

}  // namespace

std::unique_ptr<sdk::Kernel> compile_recurrent(const sdk::RegionView& region) {
  const Recurrence c = read_recurrence(region);
  if (c.is_lstm()) return compile_lstm(region, c);
  if (c.node.op() == "RNN") return compile_rnn(region, c);
  return c.is_linear_before_reset() ? compile_gru<dnnl::lbr_gru_forward>(region, c)
                                    : compile_gru<dnnl::gru_forward>(region, c);
}

}  // namespace inlay::onednn
