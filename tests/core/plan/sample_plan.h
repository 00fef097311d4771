// A small valid plan that has one of everything: for tests to round-trip, break and hash.
#pragma once

#include "core/plan/plan.h"

namespace inlay {

// relu(x · w) ^ 2 with an inline constant, w in the weights; then a view, a conversion and a copy.
Plan sample_plan();

// The same with a value made of two parts, values 1 and 3: value 7, copied to output 8 by step 4.
Plan sample_plan_with_parts();

// The region relu(x · w) ^ e of the above, w without bytes.
Region sample_region();

}  // namespace inlay
