// How far a correct f32 implementation of a region may stray, from the region alone.
//
// For many operators the rounding error of any order of summation is bounded by a sum that can be
// computed: with u = 2⁻²⁴ and K products in a dot product, |ŷ − y| ≤ K·u·Σ|a·b| (Higham, Accuracy
// and Stability of Numerical Algorithms, 2nd ed., 3.1). The sum Σ|a·b| is what the same region
// gives on absolute inputs and constants. The majorant of a region carries this through a chain of
// operators: each value v has a majorant M ≥ |v| and a count c with |v̂ − v| ≤ c·u·M.
//
//   product, sum      counts add; M is the operator on the operands' majorants, Sub having become
//   Add 1-Lipschitz f     with |f(x)| ≤ |x|, as Relu or Clip around 0: M and c pass through
//   L-Lipschitz f     M is multiplied by L; f's own error is a few u of its result, plus 1e-6 near
//   zero data movement     exact
//
//   if (const auto majorant = majorant_of(region)) ... // error bound:
//   2·majorant->roundings·2⁻²⁴·(majorant's output)
//
// The factor 2 pays for the reference's own rounding of each node's result and for terms of second
// order.
#pragma once

#include <optional>

#include "core/plan/region.h"

namespace inlay {

struct Majorant {
  Region region;  // to run on absolute floating-point inputs; outputs in the original's order
  double roundings = 0;  // c, the largest over the outputs
};

// nullopt where no such bound holds: Softmax, normalisations over data, recurrent cells, division
// by data, operators that jump (Round, ArgMax, comparisons of computed values), types other than
// f32.
std::optional<Majorant> majorant_of(const Region& region);

// Roundings along the region's chain, counted as above, for regions without a majorant: reductions
// by their length, recurrent cells by length times steps, other functions as 32 (16 ulp).
double rounding_count(const Region& region);

}  // namespace inlay
