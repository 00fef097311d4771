// Functions of one element with attributes, and Clip.
#include <cmath>
#include <functional>
#include <numbers>

#include "plugins/reference/elementwise.h"
#include "plugins/reference/operators.h"

namespace inlay::reference {
namespace {

using Function = std::function<double(double)>;

double elu(double x, double alpha) { return x < 0 ? alpha * std::expm1(x) : x; }

double gelu(double x) { return 0.5 * x * std::erfc(-x / std::numbers::sqrt2); }

double gelu_tanh(double x) {
  const double inner = std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1.0 + std::tanh(inner));
}

double hard_sigmoid(double x, double alpha, double beta) {
  const double y = alpha * x + beta;
  return y < 0 ? 0.0 : y > 1 ? 1.0 : y;
}

double shrink(double x, double lambda, double bias) {
  if (x < -lambda) return x + bias;
  if (x > lambda) return x - bias;
  return std::isnan(x) ? x : 0.0;
}

Function make_function(const Operation& op) {
  const std::string_view name = op.node().op();
  const auto number = [&](std::string_view key, float fallback) -> double {
    return op.node().get_float(key, fallback);
  };
  const double alpha = number("alpha", name == "LeakyRelu"     ? 0.01f
                                       : name == "HardSigmoid" ? 0.2f
                                       : name == "Selu"        ? 1.67326319217681884765625f
                                                               : 1.0f);
  if (name == "Elu") return [=](double x) { return elu(x, alpha); };
  if (name == "Celu") return [=](double x) { return x < 0 ? alpha * std::expm1(x / alpha) : x; };
  if (name == "LeakyRelu") return [=](double x) { return x < 0 ? alpha * x : x; };
  if (name == "ThresholdedRelu") return [=](double x) { return x <= alpha ? 0.0 : x; };
  if (name == "Selu") {
    const double gamma = number("gamma", 1.05070102214813232421875f);
    return [=](double x) { return gamma * elu(x, alpha); };
  }
  if (name == "HardSigmoid") {
    const double beta = number("beta", 0.5f);
    return [=](double x) { return hard_sigmoid(x, alpha, beta); };
  }
  if (name == "Gelu") {
    if (op.node().get_string("approximate", "none") == "tanh") return gelu_tanh;
    return gelu;
  }
  if (name == "Swish") return [=](double x) { return x / (1.0 + std::exp(-alpha * x)); };
  if (name == "Shrink") {
    const double lambda = number("lambd", 0.5f), bias = number("bias", 0.0f);
    return [=](double x) { return shrink(x, lambda, bias); };
  }
  if (name == "IsInf") {
    const bool negative = op.node().get_int("detect_negative", 1) != 0;
    const bool positive = op.node().get_int("detect_positive", 1) != 0;
    return [=](double x) { return std::isinf(x) && (x < 0 ? negative : positive) ? 1.0 : 0.0; };
  }
  throw sdk::Decline(op.title() + ": unknown function");
}

}  // namespace

Body compile_activation(const Operation& op) {
  const Type x = op.input(0), y = op.output(0);
  return [x, y, f = make_function(op)](const Run& run) { map_unary<double>(run, x, y, f); };
}

// Bounds are attributes, or operands of the tensor's type. The upper bound wins where they cross,
// as in numpy.
Body compile_clip(const Operation& op) {
  const Type x = op.input(0), y = op.output(0);
  const bool has_min = op.node().has("min"), has_max = op.node().has("max");
  const double min = op.node().get_float("min", 0), max = op.node().get_float("max", 0);
  return [=](const Run& run) {
    with_compute_type(x.dtype, [&]<typename C>(C) {
      C low = has_min ? static_cast<C>(min) : lowest<C>(x.dtype);
      C high = has_max ? static_cast<C>(max) : highest<C>(x.dtype);
      if (run.in(1) != nullptr) load(x.dtype, run.in(1), 0, 1, 1, &low);
      if (run.in(2) != nullptr) load(x.dtype, run.in(2), 0, 1, 1, &high);
      map_unary<C>(run, x, y, [=](C value) {
        const C raised = value < low ? low : value;
        return raised > high ? high : raised;
      });
    });
  };
}

}  // namespace inlay::reference
