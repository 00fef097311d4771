// Memory that a trial needs, against what there is: a request that cannot be met is refused with
// both numbers, and does not bring the system to end a process, which may be another's.
//
//   require_memory(3 * bytes_of(region, region.inputs), "checking it");
#pragma once

#include <string_view>
#include <vector>

#include "core/plan/plan.h"
#include "core/plan/region.h"

namespace inlay {

// Of the values' dense contents. A double, since a shape may ask for more than 64 bits count.
double bytes_of(const Region& region, const std::vector<int>& values);

// The least that running the plan takes.
double bytes_to_run(const Plan& plan);

// throws  Error{kNoMemory} "checking it takes at least 15.2 GB of memory, 3.1 GB are available"
void require_memory(double needed_bytes, std::string_view what);

}  // namespace inlay
