// Functions of one element without attributes.
#include <cmath>
#include <string_view>
#include <type_traits>

#include "plugins/reference/elementwise.h"
#include "plugins/reference/operators.h"

namespace inlay::reference {
namespace {

using Function = double (*)(double);

struct Entry {
  std::string_view op;
  Function function;
};

double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

// Comparisons are written so that NaN passes through.
constexpr Entry kFunctions[] = {
    {"Relu", [](double x) { return x < 0 ? 0.0 : x; }},
    {"Sigmoid", [](double x) { return 1.0 / (1.0 + std::exp(-x)); }},
    {"Tanh", [](double x) { return std::tanh(x); }},
    {"Erf", [](double x) { return std::erf(x); }},
    {"Sqrt", [](double x) { return std::sqrt(x); }},
    {"Exp", [](double x) { return std::exp(x); }},
    {"Log", [](double x) { return std::log(x); }},
    {"Neg", [](double x) { return -x; }},
    {"Abs", [](double x) { return std::fabs(x); }},
    {"Floor", [](double x) { return std::floor(x); }},
    {"Ceil", [](double x) { return std::ceil(x); }},
    {"Round", [](double x) { return std::nearbyint(x); }},  // halves to even
    {"Sign", [](double x) { return x > 0    ? 1.0
                                   : x < 0  ? -1.0
                                   : x == 0 ? 0.0
                                            : x; }},
    {"Reciprocal", [](double x) { return 1.0 / x; }},
    {"Sin", [](double x) { return std::sin(x); }},
    {"Cos", [](double x) { return std::cos(x); }},
    {"Tan", [](double x) { return std::tan(x); }},
    {"Asin", [](double x) { return std::asin(x); }},
    {"Acos", [](double x) { return std::acos(x); }},
    {"Atan", [](double x) { return std::atan(x); }},
    {"Sinh", [](double x) { return std::sinh(x); }},
    {"Cosh", [](double x) { return std::cosh(x); }},
    {"Asinh", [](double x) { return std::asinh(x); }},
    {"Acosh", [](double x) { return std::acosh(x); }},
    {"Atanh", [](double x) { return std::atanh(x); }},
    {"Softplus", softplus},
    {"Softsign", [](double x) { return x / (1.0 + std::fabs(x)); }},
    {"HardSwish",
     [](double x) {
       const double gate = x / 6.0 + 0.5;
       return x * (gate < 0 ? 0.0 : gate > 1 ? 1.0 : gate);
     }},
    {"Mish", [](double x) { return x * std::tanh(softplus(x)); }},
    {"IsNaN", [](double x) { return std::isnan(x) ? 1.0 : 0.0; }},
};

// Integers and bool; unsigned arithmetic wraps.
template <typename C>
C apply_integer(char function, C x) {
  using Bits = std::uint64_t;
  const bool is_negative = std::is_signed_v<C> && x < C{0};
  switch (function) {
    case 'r':
      return is_negative ? C{0} : x;
    case '-':
      return static_cast<C>(Bits{0} - static_cast<Bits>(x));
    case 'a':
      return is_negative ? static_cast<C>(Bits{0} - static_cast<Bits>(x)) : x;
    case 's':
      return static_cast<C>(is_negative ? Bits(-1) : Bits(x != 0));
    case '!':
      return static_cast<C>(x == 0);
    default:
      return static_cast<C>(~static_cast<Bits>(x));
  }
}

struct IntegerEntry {
  std::string_view op;
  char function;
};
constexpr IntegerEntry kIntegerFunctions[] = {{"Relu", 'r'}, {"Neg", '-'}, {"Abs", 'a'},
                                              {"Sign", 's'}, {"Not", '!'}, {"BitwiseNot", '~'}};

}  // namespace

Body compile_unary(const Operation& op) {
  const Type x = op.input(0), y = op.output(0);
  if (is_float(x.dtype)) {
    for (const Entry& entry : kFunctions) {
      if (entry.op != op.node().op()) continue;
      return [x, y, f = entry.function](const Run& run) { map_unary<double>(run, x, y, f); };
    }
  }
  for (const IntegerEntry& entry : kIntegerFunctions) {
    if (is_float(x.dtype) || entry.op != op.node().op()) continue;
    return [x, y, function = entry.function](const Run& run) {
      with_compute_type(x.dtype, [&]<typename C>(C) {
        map_unary<C>(run, x, y, [=](C value) { return apply_integer(function, value); });
      });
    };
  }
  throw sdk::Decline(op.title() + ": not defined for element type " + std::to_string(x.dtype));
}

}  // namespace inlay::reference
