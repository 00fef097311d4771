// Whether a result is right: a tensor against the reference's, by tolerance class.
//
//   const Tolerance tolerance = parse_tolerance("accum", 576);       // sums of 576 products
//   const Comparison c = compare(reference, result, tolerance, &magnitude);
//   if (!c.is_equal()) report(describe(c));
//
// An element's bound, u being half an ulp of 1 in the precision that sums are kept in (2^-24; 2^-53
// for f64):
//   exact           0; -0 equals 0
//   elementwise     2 ulp of the reference
//   transcendental  max(1e-6, 16 ulp of the reference)
//   accum           2 depth u M + 1 ulp of the reference, M = sum of |a b|, the reference run on
//   absolute values
//                   (magnitude.h); the ulp is for the rounding of the result itself
//   reduced:R       R M, or R max|reference| without a magnitude, plus 1 ulp
//   end_to_end      R max|reference|, R being 1e-3 unless the tolerance has another
// Integers and bools must be equal in every class but reduced. NaN matches NaN, an infinity the
// same infinity, in every class.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/tensor.h"

namespace inlay {

enum class ToleranceClass { kExact, kElementwise, kTranscendental, kAccum, kReduced, kEndToEnd };

struct Tolerance {
  ToleranceClass kind = ToleranceClass::kExact;
  std::int64_t depth = 1;     // kAccum: products summed into one element, at least 1
  double relative_bound = 0;  // kReduced; kEndToEnd, where 0 stands for 1e-3
  bool operator==(const Tolerance&) const = default;
};

// Reads "exact", "elementwise", "transcendental", "accum", "reduced:1e-2", "end_to_end".
// throws  Error{kInvalidArgument}
Tolerance parse_tolerance(std::string_view text, std::int64_t depth = 1);
std::string to_string(const Tolerance& tolerance);  // without the depth

// One element that is out of bounds, or the one that comes nearest to it.
struct Deviation {
  std::int64_t index = -1;  // into the dense tensor; -1: none
  double got = 0;
  double want = 0;
  double bound = 0;
  bool operator==(const Deviation&) const = default;
};

struct Comparison {
  std::int64_t count = 0;     // elements compared
  std::int64_t failures = 0;  // elements out of bounds
  Deviation first;            // the first failure
  Deviation worst;            // largest |got - want| / bound, failure or not
  double worst_ratio = 0;  // that quotient; infinite where NaN, infinity or a bound of 0 is missed
  bool is_equal() const { return failures == 0; }
  bool operator==(const Comparison&) const = default;
};

// magnitude  same shape as the reference, any float type; required for kAccum, used by kReduced
// where given throws     Error{kShapeMismatch} if the types of result and reference differ or the
// magnitude's shape does;
//            Error{kInvalidArgument} if kAccum has no magnitude
Comparison compare(const Tensor& reference, const Tensor& result, const Tolerance& tolerance,
                   const Tensor* magnitude = nullptr);

// "3 of 4096 elements out of bounds, first at 17: got 1.5, want 1.25, bound 1e-6; worst at …"
std::string describe(const Comparison& comparison);

}  // namespace inlay
