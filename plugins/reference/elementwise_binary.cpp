// Functions of two elements with broadcasting, and Where.
#include <cmath>
#include <string_view>
#include <type_traits>

#include "plugins/reference/elementwise.h"
#include "plugins/reference/operators.h"

namespace inlay::reference {
namespace {

using Bits = std::uint64_t;

template <typename C>
constexpr bool kIsFloat = std::is_floating_point_v<C>;

// Integers are added, subtracted and multiplied as unsigned, where overflow wraps.
template <typename C>
using Wrapping = std::conditional_t<kIsFloat<C>, C, Bits>;

template <typename C>
C divide(C a, C b) {
  if constexpr (kIsFloat<C>) {
    return a / b;
  } else {
    if (b == 0) return 0;
    if (std::is_signed_v<C> && b == static_cast<C>(-1)) return static_cast<C>(Bits{0} - Bits(a));
    return static_cast<C>(a / b);
  }
}

template <typename C>
C modulo(C a, C b, bool takes_dividend_sign) {
  if constexpr (kIsFloat<C>) {
    const C rest = std::fmod(a, b);
    const bool fits = takes_dividend_sign || rest == 0 || (rest < 0) == (b < 0);
    return fits ? rest : rest + b;
  } else {
    if (b == 0 || (std::is_signed_v<C> && b == static_cast<C>(-1))) return 0;
    const C rest = static_cast<C>(a % b);
    const bool fits = takes_dividend_sign || rest == 0 || (rest < C{0}) == (b < C{0});
    return fits ? rest : static_cast<C>(rest + b);
  }
}

template <typename C>
C power(C base, C exponent) {
  if constexpr (kIsFloat<C>) {
    return std::pow(base, exponent);
  } else {
    if (std::is_signed_v<C> && exponent < C{0}) {
      if (base == static_cast<C>(-1)) return exponent % 2 == 0 ? C{1} : base;
      return base == C{1} ? C{1} : C{0};
    }
    Bits result = 1;
    Bits square = static_cast<Bits>(base);
    for (Bits rest = static_cast<Bits>(exponent); rest != 0; rest >>= 1) {
      if (rest & 1u) result *= square;
      square *= square;
    }
    return static_cast<C>(result);
  }
}

// NaN wins, as in numpy.maximum and numpy.minimum.
template <typename C>
C greater_of(C a, C b) {
  if constexpr (kIsFloat<C>) {
    if (std::isnan(a) || std::isnan(b)) return a + b;
  }
  return a > b ? a : b;
}

template <typename C>
C lesser_of(C a, C b) {
  if constexpr (kIsFloat<C>) {
    if (std::isnan(a) || std::isnan(b)) return a + b;
  }
  return a < b ? a : b;
}

// Shifts by the width or more leave nothing but the sign.
template <typename C>
C shift(C a, C b, bool is_left) {
  if (is_left) return Bits(b) >= 64 ? C{0} : static_cast<C>(Bits(a) << Bits(b));
  if (Bits(b) < 64) return static_cast<C>(a >> Bits(b));
  return std::is_signed_v<C> && a < C{0} ? static_cast<C>(~Bits{0}) : C{0};
}

// Runs `f` over the operands in C. One function a line below; each body is compiled once per
// compute type.
struct Loop {
  Type a, b, y;
  Walk walk;

  template <typename C, typename F>
  void operator()(const Run& run, const F& f) const {
    map_binary<C>(run, walk, a.dtype, b.dtype, y.dtype, f);
  }
};

template <typename C>
bool run_arithmetic(std::string_view op, const Loop& loop, const Run& run) {
  using W = Wrapping<C>;
  if (op == "Add") return loop.operator()<C>(run, [](C a, C b) { return C(W(a) + W(b)); }), true;
  if (op == "Sub") return loop.operator()<C>(run, [](C a, C b) { return C(W(a) - W(b)); }), true;
  if (op == "Mul") return loop.operator()<C>(run, [](C a, C b) { return C(W(a) * W(b)); }), true;
  if (op == "Div") return loop.operator()<C>(run, divide<C>), true;
  if (op == "Max") return loop.operator()<C>(run, greater_of<C>), true;
  if (op == "Min") return loop.operator()<C>(run, lesser_of<C>), true;
  if (op == "PRelu") {
    return loop.operator()<C>(run, [](C a, C b) { return a < C{0} ? C(W(a) * W(b)) : a; }), true;
  }
  return false;
}

template <typename C>
bool run_comparison(std::string_view op, const Loop& loop, const Run& run) {
  if (op == "Equal") return loop.operator()<C>(run, [](C a, C b) { return a == b; }), true;
  if (op == "Less") return loop.operator()<C>(run, [](C a, C b) { return a < b; }), true;
  if (op == "LessOrEqual") return loop.operator()<C>(run, [](C a, C b) { return a <= b; }), true;
  if (op == "Greater") return loop.operator()<C>(run, [](C a, C b) { return a > b; }), true;
  if (op == "GreaterOrEqual") return loop.operator()<C>(run, [](C a, C b) { return a >= b; }), true;
  return false;
}

template <typename C>
bool run_bitwise(std::string_view op, bool is_left, const Loop& loop, const Run& run) {
  if constexpr (!kIsFloat<C>) {
    if (op == "And") return loop.operator()<C>(run, [](C a, C b) { return a && b; }), true;
    if (op == "Or") return loop.operator()<C>(run, [](C a, C b) { return a || b; }), true;
    if (op == "Xor") return loop.operator()<C>(run, [](C a, C b) { return !a != !b; }), true;
    if (op == "BitwiseAnd") return loop.operator()<C>(run, [](C a, C b) { return a & b; }), true;
    if (op == "BitwiseOr") return loop.operator()<C>(run, [](C a, C b) { return a | b; }), true;
    if (op == "BitwiseXor") return loop.operator()<C>(run, [](C a, C b) { return a ^ b; }), true;
    if (op == "BitShift") {
      return loop.operator()<C>(run, [=](C a, C b) { return shift<C>(a, b, is_left); }), true;
    }
  }
  return false;
}

Loop make_loop(const Operation& op) {
  const Type a = op.input(0), b = op.input(1), y = op.output(0);
  return {a, b, y, Walk::broadcast(y.dims, {a.dims, b.dims})};
}

constexpr std::string_view kIntegerOnly[] = {"And",       "Or",         "Xor",     "BitwiseAnd",
                                             "BitwiseOr", "BitwiseXor", "BitShift"};

}  // namespace

Body compile_binary(const Operation& op) {
  const Loop loop = make_loop(op);
  const std::string name(op.node().op());
  const bool takes_dividend_sign = op.node().get_int("fmod", 0) != 0;
  const bool is_left = op.node().get_string("direction", "LEFT") == "LEFT";
  for (const std::string_view integer_only : kIntegerOnly) {
    if (name == integer_only && is_float(loop.a.dtype)) {
      throw sdk::Decline(op.title() + ": not defined for floats");
    }
  }
  if (loop.a.dtype != loop.b.dtype) {
    throw sdk::Decline(op.title() + ": operands have different element types");
  }
  return [=](const Run& run) {
    with_compute_type(loop.a.dtype, [&]<typename C>(C) {
      if (name == "Mod") {
        loop.operator()<C>(run, [=](C a, C b) { return modulo(a, b, takes_dividend_sign); });
        return;
      }
      run_arithmetic<C>(name, loop, run) || run_comparison<C>(name, loop, run) ||
          run_bitwise<C>(name, is_left, loop, run);
    });
  };
}

// Base and exponent may have different types; the result has the base's. Computed in double unless
// both are integers.
Body compile_power(const Operation& op) {
  const Loop loop = make_loop(op);
  return [=](const Run& run) {
    if (is_float(loop.a.dtype) || is_float(loop.b.dtype)) {
      loop.operator()<double>(run, power<double>);
    } else if (is_signed_integer(loop.a.dtype) || is_signed_integer(loop.b.dtype)) {
      loop.operator()<std::int64_t>(run, power<std::int64_t>);
    } else {
      loop.operator()<std::uint64_t>(run, power<std::uint64_t>);
    }
  };
}

Body compile_where(const Operation& op) {
  const Type condition = op.input(0), x = op.input(1), other = op.input(2), y = op.output(0);
  if (condition.dtype != INLAY_BOOL) throw sdk::Decline(op.title() + ": condition is not bool");
  const Walk walk = Walk::broadcast(y.dims, {condition.dims, x.dims, other.dims});
  return [=](const Run& run) {
    with_element_size(y.dtype, [&]<typename E>(E) {
      run.host.parallel_for(walk.count(), kGrain, [&](std::int64_t begin, std::int64_t end) {
        walk.for_each_run(begin, end, end - begin,
                          [&](std::int64_t to, const std::int64_t* from, std::int64_t length) {
                            const auto* c = run.in<std::uint8_t>(0) + from[0];
                            const E* a = run.in<E>(1) + from[1];
                            const E* b = run.in<E>(2) + from[2];
                            E* out = run.out<E>(0) + to;
                            for (std::int64_t i = 0; i < length; ++i) {
                              out[i] = c[i * walk.inner_stride(0)] != 0
                                           ? a[i * walk.inner_stride(1)]
                                           : b[i * walk.inner_stride(2)];
                            }
                          });
      });
    });
  };
}

}  // namespace inlay::reference
