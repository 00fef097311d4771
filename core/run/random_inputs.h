// Seeded inputs for a plan: what `inlay run --seed`, measuring and checking feed it.
//
//   const std::vector<Tensor> inputs = random_inputs(plan, 7);
//   const std::vector<Tensor> ids = random_inputs(plan, 7, {{0, 30521}});   // input 0 indexes a
//   table of 30522 rows
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/base/rng.h"
#include "core/plan/plan.h"

namespace inlay {

// By position among the plan's inputs: the largest number an integer input may hold, at least 0.
using MaxValues = std::map<int, std::int64_t>;

inline constexpr std::int64_t kDefaultMaxValue = 1;

// Floats are drawn from the normal distribution (mean 0, deviation 1), integers evenly from 0 to
// max_value (cut to what the type holds), bools evenly. throws  Error{kUnsupported} for other types
Tensor random_tensor(const TensorType& type, Rng& rng, std::int64_t max_value = kDefaultMaxValue);

// One tensor per plan input, dense. An input's numbers depend on the seed and its position only.
std::vector<Tensor> random_inputs(const Plan& plan, std::uint64_t seed,
                                  const MaxValues& max_values = {});

// |x| of each element of a float tensor; others as they are, sharing the bytes.
Tensor absolute_values(const Tensor& tensor);

}  // namespace inlay
