// Seeded randomness, handed in wherever it is needed. Same seed, same numbers, on every machine:
// the generator is fixed by the standard (mt19937_64) and the distributions are ours, since the
// standard library's are not portable.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>

namespace inlay {

class Rng {
 public:
  explicit Rng(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t next() { return engine_(); }

  // Uniform in [0, 1), 53 bits.
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

  // Uniform in [0, bound), bound > 0. The bias of the modulo is below 2^-32 for bounds below 2^32.
  std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }

  // Standard normal, Box and Muller 1958.
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace inlay
