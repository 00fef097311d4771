#include <gtest/gtest.h>

#include "tests/plugins/agreement.h"

namespace inlay {
namespace {

struct RecurrentCase {
  std::string op;
  std::string direction = "forward";
  std::int64_t steps = 5, batch = 1, input = 7, hidden = 6;
  bool has_bias = true, has_state = false, has_peepholes = false;
  bool gives_states = true;
  std::int64_t linear_before_reset = 0;
  float clip = 0;
  std::vector<std::string> activations{};

  std::int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
  std::int64_t gates() const { return op == "LSTM" ? 4 : op == "GRU" ? 3 : 1; }
  bool is_lstm() const { return op == "LSTM"; }
};

RegionCase make_case(const RecurrentCase& r, unsigned seed = 1) {
  RegionCase c("recurrent", seed);
  const std::int64_t d = r.directions(), rows = r.gates() * r.hidden;
  std::vector<int> operands{c.input("X", {r.steps, r.batch, r.input}),
                            c.constant("W", {d, rows, r.input}),
                            c.constant("R", {d, rows, r.hidden})};
  operands.push_back(r.has_bias ? c.constant("B", {d, 2 * rows}) : -1);
  operands.push_back(-1);  // lengths
  if (r.has_state || r.has_peepholes) {
    operands.push_back(r.has_state ? c.input("H", {d, r.batch, r.hidden}) : -1);
  }
  if (r.is_lstm() && (r.has_state || r.has_peepholes)) {
    operands.push_back(r.has_state ? c.input("C", {d, r.batch, r.hidden}) : -1);
  }
  if (r.has_peepholes) operands.push_back(c.constant("P", {d, 3 * r.hidden}));
  std::vector<TensorType> outputs{{DType::kF32, {r.steps, d, r.batch, r.hidden}}};
  for (int i = 0; r.gives_states && i < (r.is_lstm() ? 2 : 1); ++i) {
    outputs.push_back({DType::kF32, {d, r.batch, r.hidden}});
  }
  Attributes attributes{{"hidden_size", r.hidden},
                        {"direction", r.direction},
                        {"activations", r.activations},
                        {"activation_alpha", std::vector<float>{}},
                        {"activation_beta", std::vector<float>{}},
                        {"clip", r.clip}};
  if (r.is_lstm()) attributes["input_forget"] = std::int64_t{0};
  if (r.op == "GRU") attributes["linear_before_reset"] = r.linear_before_reset;
  c.apply_all(r.op, operands, outputs, attributes);
  return c;
}

std::string check(Agreement& agreement, const RecurrentCase& r) {
  RegionCase c = make_case(r);
  return agreement.check(c);
}

TEST(OnednnRecurrent, AgreesInEveryDirectionWithAndWithoutStates) {
  for (const int threads : {1, 2}) {
    Agreement agreement("onednn", threads);
    for (const std::string op : {"LSTM", "GRU", "RNN"})
      for (const std::string direction : {"forward", "reverse", "bidirectional"})
        for (const std::int64_t batch : {1, 3})
          for (const bool has_state : {false, true}) {
            SCOPED_TRACE(op + " " + direction + " batch " + std::to_string(batch));
            EXPECT_EQ(check(agreement, {.op = op,
                                        .direction = direction,
                                        .batch = batch,
                                        .has_bias = batch == 3,
                                        .has_state = has_state,
                                        .gives_states = has_state}),
                      "");
          }
  }
}

TEST(OnednnRecurrent, AgreesOnOddSizes) {
  Agreement agreement("onednn", 2);
  for (const std::string op : {"LSTM", "GRU", "RNN"}) {
    SCOPED_TRACE(op);
    EXPECT_EQ(check(agreement, {.op = op, .steps = 1, .input = 1, .hidden = 1}), "");
    EXPECT_EQ(check(agreement, {.op = op, .steps = 9, .batch = 2, .input = 33, .hidden = 17}), "");
    EXPECT_EQ(check(agreement, {.op = op, .steps = 3, .batch = 16, .input = 64, .hidden = 64}), "");
  }
}

TEST(OnednnRecurrent, ResetGateActsOnTheStateOrOnItsContribution) {
  Agreement agreement("onednn", 2);
  for (const std::int64_t linear : {0, 1})
    for (const bool has_bias : {false, true}) {
      EXPECT_EQ(check(agreement, {.op = "GRU",
                                  .direction = "bidirectional",
                                  .batch = 2,
                                  .has_bias = has_bias,
                                  .has_state = true,
                                  .linear_before_reset = linear}),
                "")
          << "linear_before_reset " << linear;
    }
}

TEST(OnednnRecurrent, PeepholesReachTheGatesTheyAreFor) {
  Agreement agreement("onednn", 2);
  EXPECT_EQ(check(agreement, {.op = "LSTM", .batch = 2, .has_peepholes = true}), "");
}

TEST(OnednnRecurrent, OneStateAloneStartsTheOtherAtZero) {
  Agreement agreement("onednn", 1);
  RegionCase c("recurrent");
  const std::int64_t steps = 3, hidden = 5;
  const int x = c.input("X", {steps, 1, 4}), w = c.constant("W", {1, 4 * hidden, 4}),
            r = c.constant("R", {1, 4 * hidden, hidden});
  const int cell = c.input("C", {1, 1, hidden});
  c.apply_all("LSTM", {x, w, r, -1, -1, -1, cell}, {{DType::kF32, {steps, 1, 1, hidden}}},
              {{"hidden_size", hidden},
               {"direction", std::string("forward")},
               {"activations", std::vector<std::string>{}}});
  EXPECT_EQ(agreement.check(c), "");
}

TEST(OnednnRecurrent, RnnTakesItsActivation) {
  Agreement agreement("onednn", 1);
  for (const char* activation : {"Tanh", "Relu", "Sigmoid"}) {
    EXPECT_EQ(check(agreement, {.op = "RNN", .activations = {activation}}), "") << activation;
  }
}

TEST(OnednnRecurrent, DeclinesInWords) {
  Agreement agreement("onednn", 1);
  EXPECT_EQ(check(agreement, {.op = "LSTM", .clip = 3}), "declined: LSTM: clipped gates");
  EXPECT_EQ(check(agreement, {.op = "GRU", .activations = {"HardSigmoid", "Tanh"}}),
            "declined: GRU: activation HardSigmoid where oneDNN has Sigmoid");
  EXPECT_EQ(check(agreement, {.op = "RNN", .activations = {"Softsign"}}),
            "declined: RNN: activation Softsign");
  EXPECT_EQ(check(agreement, {.op = "LSTM", .steps = 0}), "declined: a tensor without elements");
}

TEST(OnednnRecurrent, SequencesOfOneLengthMayBeSpeltOut) {
  Agreement agreement("onednn", 1);
  const std::int64_t steps = 4, batch = 2, hidden = 3;
  const auto check_lengths = [&](const std::vector<std::int32_t>& lengths) {
    RegionCase c("recurrent");
    const int x = c.input("X", {steps, batch, 2}), w = c.constant("W", {1, hidden, 2}),
              r = c.constant("R", {1, hidden, hidden});
    const int l = c.constant("L", Tensor::from<std::int32_t>({batch}, lengths));
    c.apply_all("RNN", {x, w, r, -1, l}, {{DType::kF32, {steps, 1, batch, hidden}}},
                {{"hidden_size", hidden},
                 {"direction", std::string("forward")},
                 {"activations", std::vector<std::string>{}}});
    return agreement.check(c);
  };
  EXPECT_EQ(check_lengths({4, 4}), "");
  EXPECT_EQ(check_lengths({4, 2}), "declined: RNN: sequences of different lengths");
}

}  // namespace
}  // namespace inlay
