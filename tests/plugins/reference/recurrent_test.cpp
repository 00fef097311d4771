#include "tests/plugins/reference/kernel_case.h"

namespace inlay::reference {
namespace {

constexpr std::int64_t kSteps = 4, kBatch = 3, kInput = 5, kHidden = 6;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Operands of two directions; `direction` picks one.
struct Weights {
  int gates;
  Tensor x, w, r, b, h0, c0, p;
  std::vector<std::int32_t> lengths{4, 2, 0};

  Weights(Rng& rng, int gates_of)
      : gates(gates_of),
        x(random_floats(rng, {kSteps, kBatch, kInput})),
        w(random_floats(rng, {2, gates * kHidden, kInput})),
        r(random_floats(rng, {2, gates * kHidden, kHidden})),
        b(random_floats(rng, {2, 2 * gates * kHidden})),
        h0(random_floats(rng, {2, kBatch, kHidden})),
        c0(random_floats(rng, {2, kBatch, kHidden})),
        p(random_floats(rng, {2, 3 * kHidden})) {}

  double input_part(int d, std::int64_t t, std::int64_t n, std::int64_t row) const {
    double sum = b.as<float>()[d * 2 * gates * kHidden + row];
    for (std::int64_t i = 0; i < kInput; ++i)
      sum += double{x.as<float>()[(t * kBatch + n) * kInput + i]} *
             w.as<float>()[(d * gates * kHidden + row) * kInput + i];
    return sum;
  }
  double recurrent_part(int d, const std::vector<double>& h, std::int64_t row) const {
    double sum = b.as<float>()[(d * 2 + 1) * gates * kHidden + row];
    for (std::int64_t k = 0; k < kHidden; ++k)
      sum += h[k] * r.as<float>()[(d * gates * kHidden + row) * kHidden + k];
    return sum;
  }
  std::vector<double> state(const Tensor& tensor, int d, std::int64_t n) const {
    const auto* begin = tensor.as<float>().data() + (d * kBatch + n) * kHidden;
    return {begin, begin + kHidden};
  }
};

struct Results {
  std::vector<double> y = std::vector<double>(kSteps * 2 * kBatch * kHidden);
  std::vector<double> h, c;
};

// step(direction, batch, time, h, c) advances the state by the published formula.
template <typename Step>
Results unroll(const Weights& weights, const Step& step) {
  Results results;
  for (int d = 0; d < 2; ++d)
    for (std::int64_t n = 0; n < kBatch; ++n) {
      std::vector<double> h = weights.state(weights.h0, d, n), c = weights.state(weights.c0, d, n);
      for (std::int64_t s = 0; s < weights.lengths[n]; ++s) {
        const std::int64_t t = d == 0 ? s : weights.lengths[n] - 1 - s;
        step(d, n, t, h, c);
        std::copy(h.begin(), h.end(), results.y.begin() + ((t * 2 + d) * kBatch + n) * kHidden);
      }
      results.h.insert(results.h.end(), h.begin(), h.end());
      results.c.insert(results.c.end(), c.begin(), c.end());
    }
  return results;
}

TensorType y_type() { return {DType::kF32, {kSteps, 2, kBatch, kHidden}}; }
TensorType state_type() { return {DType::kF32, {2, kBatch, kHidden}}; }

TEST(ReferenceLstm, MatchesTheStepsInBothDirectionsWithPeepholesAndLengths) {
  Rng rng(1);
  const Weights v(rng, 4);
  const Results expected = unroll(v, [&](int d, std::int64_t n, std::int64_t t,
                                         std::vector<double>& h, std::vector<double>& c) {
    const auto gate = [&](int g, std::int64_t j) {
      return v.input_part(d, t, n, g * kHidden + j) + v.recurrent_part(d, h, g * kHidden + j);
    };
    const auto peephole = [&](int g, std::int64_t j) {
      return double{v.p.as<float>()[(d * 3 + g) * kHidden + j]};
    };
    std::vector<double> next(kHidden);
    for (std::int64_t j = 0; j < kHidden; ++j) {
      const double i = sigmoid(gate(0, j) + peephole(0, j) * c[j]);
      const double f = sigmoid(gate(2, j) + peephole(2, j) * c[j]);
      c[j] = f * c[j] + i * std::tanh(gate(3, j));
      next[j] = sigmoid(gate(1, j) + peephole(1, j) * c[j]) * std::tanh(c[j]);
    }
    h = next;
  });
  const auto y =
      KernelCase("LSTM", {{"hidden_size", kHidden}, {"direction", std::string("bidirectional")}})
          .input(v.x)
          .input(v.w)
          .input(v.r)
          .input(v.b)
          .input(Tensor::from<std::int32_t>({kBatch}, v.lengths))
          .input(v.h0)
          .input(v.c0)
          .input(v.p)
          .run_all({y_type(), state_type(), state_type()});
  expect_close(y[0], expected.y);
  expect_close(y[1], expected.h);
  expect_close(y[2], expected.c);
}

TEST(ReferenceGru, MatchesTheStepsInBothForms) {
  for (const std::int64_t linear : {0, 1}) {
    Rng rng(2);
    const Weights v(rng, 3);
    const Results expected = unroll(v, [&](int d, std::int64_t n, std::int64_t t,
                                           std::vector<double>& h, std::vector<double>&) {
      const auto in = [&](int g, std::int64_t j) { return v.input_part(d, t, n, g * kHidden + j); };
      const auto back = [&](int g, std::int64_t j, const std::vector<double>& s) {
        return v.recurrent_part(d, s, g * kHidden + j);
      };
      std::vector<double> z(kHidden), r(kHidden), reset(kHidden), next(kHidden);
      for (std::int64_t j = 0; j < kHidden; ++j) {
        z[j] = sigmoid(in(0, j) + back(0, j, h));
        r[j] = sigmoid(in(1, j) + back(1, j, h));
        reset[j] = r[j] * h[j];
      }
      for (std::int64_t j = 0; j < kHidden; ++j) {
        const double proposed =
            std::tanh(in(2, j) + (linear ? r[j] * back(2, j, h) : back(2, j, reset)));
        next[j] = (1 - z[j]) * proposed + z[j] * h[j];
      }
      h = next;
    });
    const auto y = KernelCase("GRU", {{"hidden_size", kHidden},
                                      {"direction", std::string("bidirectional")},
                                      {"linear_before_reset", linear}})
                       .input(v.x)
                       .input(v.w)
                       .input(v.r)
                       .input(v.b)
                       .input(Tensor::from<std::int32_t>({kBatch}, v.lengths))
                       .input(v.h0)
                       .run_all({y_type(), state_type()});
    expect_close(y[0], expected.y);
    expect_close(y[1], expected.h);
  }
}

TEST(ReferenceRnn, TakesNamedActivationsWithParametersAndClips) {
  // One step, one unit: f(clip(2·3 + 1)).
  const auto rnn = [](std::vector<std::string> activations, std::vector<float> alpha, float clip) {
    const auto y = KernelCase("RNN", {{"hidden_size", std::int64_t{1}},
                                      {"direction", std::string("reverse")},
                                      {"activations", activations},
                                      {"activation_alpha", alpha},
                                      {"clip", clip}})
                       .input(floats({1, 1, 1}, {3}))
                       .input(floats({1, 1, 1}, {2}))
                       .input(floats({1, 1, 1}, {0}))
                       .input(floats({1, 2}, {0.25f, 0.75f}))
                       .run_all({std::nullopt, TensorType{DType::kF32, {1, 1, 1}}});
    return y[1].as<float>()[0];
  };
  EXPECT_EQ(rnn({"Relu"}, {}, 0), 7);
  EXPECT_EQ(rnn({"relu"}, {}, 2.5f), 2.5f);
  EXPECT_EQ(rnn({"Affine"}, {3}, 0), 21);
}

TEST(ReferenceLstm, ReportsALengthBeyondTheSequence) {
  Rng rng(3);
  const Weights v(rng, 4);
  KernelCase c("LSTM", {{"hidden_size", kHidden}, {"direction", std::string("bidirectional")}});
  c.input(v.x).input(v.w).input(v.r).absent().input(
      Tensor::from<std::int32_t>({kBatch}, {1, 5, 1}));
  EXPECT_THROW(c.run_all({y_type(), state_type(), state_type()}), std::out_of_range);
}

}  // namespace
}  // namespace inlay::reference
