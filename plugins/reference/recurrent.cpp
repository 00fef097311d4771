#include "plugins/reference/recurrent.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "plugins/reference/element.h"
#include "plugins/reference/product.h"

namespace inlay::reference {
namespace {

struct ActivationDefault {
  std::string_view name;
  bool has_alpha, has_beta;
  double alpha, beta;
};

// ONNX's activations; those with parameters consume them from activation_alpha and activation_beta
// in order.
constexpr ActivationDefault kActivations[] = {
    {"Relu", false, false, 0, 0},        {"Tanh", false, false, 0, 0},
    {"Sigmoid", false, false, 0, 0},     {"Softsign", false, false, 0, 0},
    {"Softplus", false, false, 0, 0},    {"Affine", true, true, 1, 0},
    {"LeakyRelu", true, false, 0.01, 0}, {"ThresholdedRelu", true, false, 1, 0},
    {"ScaledTanh", true, true, 1, 1},    {"HardSigmoid", true, true, 0.2, 0.5},
    {"Elu", true, false, 1, 0}};

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return lower;
}

std::vector<Activation> read_activations(const Operation& op, std::int64_t directions,
                                         const std::vector<std::string>& defaults) {
  std::vector<std::string> names;
  for (const std::string_view name : op.node().get_strings("activations")) names.emplace_back(name);
  while (names.size() < defaults.size() * directions) {
    names.push_back(defaults[names.size() % defaults.size()]);
  }
  const auto alphas = op.node().get_floats("activation_alpha");
  const auto betas = op.node().get_floats("activation_beta");
  std::size_t alpha = 0, beta = 0;
  std::vector<Activation> activations;
  for (const std::string& name : names) {
    const auto* entry = std::find_if(
        std::begin(kActivations), std::end(kActivations),
        [&](const ActivationDefault& a) { return lower_case(a.name) == lower_case(name); });
    if (entry == std::end(kActivations)) {
      throw sdk::Decline(op.title() + ": unknown activation '" + name + "'");
    }
    Activation activation{std::string(entry->name), entry->alpha, entry->beta};
    if (entry->has_alpha && alpha < alphas.size()) activation.alpha = alphas[alpha++];
    if (entry->has_beta && beta < betas.size()) activation.beta = betas[beta++];
    activations.push_back(activation);
  }
  return activations;
}

}  // namespace

double Activation::operator()(double x) const {
  if (name == "Sigmoid") return 1.0 / (1.0 + std::exp(-x));
  if (name == "Tanh") return std::tanh(x);
  if (name == "Relu") return x < 0 ? 0.0 : x;
  if (name == "Affine") return alpha * x + beta;
  if (name == "LeakyRelu") return x < 0 ? alpha * x : x;
  if (name == "ThresholdedRelu") return x < alpha ? 0.0 : x;
  if (name == "ScaledTanh") return alpha * std::tanh(beta * x);
  if (name == "HardSigmoid") return std::clamp(alpha * x + beta, 0.0, 1.0);
  if (name == "Elu") return x < 0 ? alpha * std::expm1(x) : x;
  if (name == "Softsign") return x / (1.0 + std::fabs(x));
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));  // Softplus
}

void Sequence::load_gates(std::int64_t step, std::vector<double>& sums) const {
  const double* row = projected + (time(step) * shape.batch + batch) * shape.width();
  for (std::int64_t j = 0; j < shape.width(); ++j) sums[j] = row[j] + input_bias[j];
}

void Sequence::add_recurrent(const std::vector<double>& state, std::int64_t first,
                             std::int64_t count, double* sums) const {
  for (std::int64_t k = 0; k < shape.hidden; ++k) {
    const double factor = state[k];
    const double* row = recurrent + k * shape.width() + first;
    for (std::int64_t j = 0; j < count; ++j) sums[j] += factor * row[j];
  }
}

void Sequence::emit(std::int64_t step) const {
  if (run.out(0) == nullptr) return;
  const std::int64_t row = (time(step) * shape.directions + direction) * shape.batch + batch;
  store(dtype, run.out(0), row * shape.hidden, 1, shape.hidden, h.data());
}

void Sequence::emit_final(int output, const std::vector<double>& state) const {
  if (run.out(output) == nullptr) return;
  const std::int64_t row = direction * shape.batch + batch;
  store(dtype, run.out(output), row * shape.hidden, 1, shape.hidden, state.data());
}

Recurrence::Recurrence(const Operation& op, int gates, const std::vector<std::string>& defaults)
    : dtype_(op.input(0).dtype),
      lengths_(op.has_input(4) ? op.input(4) : Type{}),
      clip_(op.node().get_float("clip", 0)),
      title_(op.title()),
      direction_(op.node().get_string("direction", "forward")) {
  const Type x = op.input(0), w = op.input(1), r = op.input(2);
  if (x.rank() != 3 || w.rank() != 3 || r.rank() != 3) {
    throw sdk::Decline(op.title() + ": X, W and R must have rank 3");
  }
  shape_ = {x.dims[0], x.dims[1], x.dims[2], r.dims[2], w.dims[0], gates};
  const bool fits = w.dims == Dims{shape_.directions, shape_.width(), shape_.input} &&
                    r.dims == Dims{shape_.directions, shape_.width(), shape_.hidden} &&
                    shape_.directions == (direction_ == "bidirectional" ? 2 : 1);
  if (!fits || op.node().get_int("layout", 0) != 0) {
    throw sdk::Decline(op.title() + ": W, R, direction and layout do not fit");
  }
  activations_ = read_activations(op, shape_.directions, defaults);
  activations_per_direction_ = static_cast<std::int64_t>(defaults.size());
}

double Recurrence::clipped(double x) const { return clip_ > 0 ? std::clamp(x, -clip_, clip_) : x; }

std::vector<double> Recurrence::load_state(const Run& run, int operand, std::int64_t direction,
                                           std::int64_t batch) const {
  std::vector<double> state(shape_.hidden);
  if (run.in(operand) != nullptr) {
    const std::int64_t row = direction * shape_.batch + batch;
    load(dtype_, run.in(operand), row * shape_.hidden, 1, shape_.hidden, state.data());
  }
  return state;
}

// X·Wᵀ of one direction: [steps·batch, width].
std::vector<double> Recurrence::project(const Run& run, std::int64_t direction) const {
  const std::int64_t width = shape_.width();
  std::vector<double> result(shape_.steps * shape_.batch * width);
  for_each_product_block<double>(
      run.host, 1, shape_.steps * shape_.batch, shape_.input, width,
      [&](const Block& block, std::int64_t k, std::int64_t part, double* target,
          std::int64_t row_length) {
        for (std::int64_t i = 0; i < block.rows; ++i) {
          load(dtype_, run.in(0), (block.row + i) * shape_.input + k, 1, part,
               target + i * row_length);
        }
      },
      [&](const Block& block, std::int64_t k, std::int64_t part, double* target,
          std::int64_t row_length) {
        for (std::int64_t i = 0; i < part; ++i) {
          load(dtype_, run.in(1), (direction * width + block.column) * shape_.input + k + i,
               shape_.input, block.columns, target + i * row_length);
        }
      },
      [&](const Block& block, std::int64_t i, const double* sums) {
        std::copy_n(sums, block.columns, result.data() + (block.row + i) * width + block.column);
      });
  return result;
}

void Recurrence::run(const Run& run, const std::function<void(Sequence&)>& f) const {
  std::vector<std::int64_t> lengths(shape_.batch, shape_.steps);
  if (run.in(4) != nullptr) {
    lengths = load_all<std::int64_t>(lengths_.dtype, run.in(4), shape_.batch);
    for (const std::int64_t length : lengths) {
      if (length >= 0 && length <= shape_.steps) continue;
      throw std::out_of_range(title_ + ": sequence length " + std::to_string(length) +
                              " is outside [0, " + std::to_string(shape_.steps) + "]");
    }
  }
  const std::int64_t width = shape_.width();
  for (std::int64_t d = 0; d < shape_.directions; ++d) {
    const std::vector<double> projected = project(run, d);
    std::vector<double> recurrent(shape_.hidden * width);
    for (std::int64_t k = 0; k < shape_.hidden; ++k) {
      load(dtype_, run.in(2), d * width * shape_.hidden + k, shape_.hidden, width,
           recurrent.data() + k * width);
    }
    std::vector<double> biases(2 * width);
    if (run.in(3) != nullptr) {
      load(dtype_, run.in(3), d * 2 * width, 1, 2 * width, biases.data());
    }
    run.host.parallel_for(shape_.batch, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b) {
        Sequence sequence{d,
                          b,
                          lengths[b],
                          projected.data(),
                          recurrent.data(),
                          biases.data(),
                          biases.data() + width,
                          load_state(run, 5, d, b),
                          shape_,
                          run,
                          dtype_,
                          direction_ == "reverse" || d == 1};
        const std::vector<double> zeros(shape_.hidden);
        for (std::int64_t t = lengths[b]; t < shape_.steps && run.out(0) != nullptr; ++t) {
          const std::int64_t row = (t * shape_.directions + d) * shape_.batch + b;
          store(dtype_, run.out(0), row * shape_.hidden, 1, shape_.hidden, zeros.data());
        }
        f(sequence);
        sequence.emit_final(1, sequence.h);
      }
    });
  }
}

}  // namespace inlay::reference
