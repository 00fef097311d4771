// What lies between two steps: layout conversions and the executor's own work. Private to
// search/cost.
#pragma once

#include <map>
#include <vector>

#include "search/cost/meter.h"
#include "search/cost/work.h"

namespace inlay {

// Each conversion by the host and by every plugin that declares it; the fastest right one. All are
// priced even when the budget is spent (then by one run of the host's), since a search cannot do
// without. An interval of `precise_ns` is narrow enough.
std::map<ConversionKey, ConversionCost> price_conversions(
    const std::vector<ConversionWork>& conversions, double precise_ns, Meter& meter);

// What the executor adds, from plans of one and of many tiny steps.
struct StepOverhead {
  double dispatch_ns = 0;  // each further step
  // a run of one tiny step: what a region measured alone contains beside its work
  double run_ns = 0;
};
StepOverhead price_dispatch(Meter& meter);

}  // namespace inlay
