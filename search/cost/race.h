// Two complete plans against each other, end to end: what settles a placement. Predictions add up
// single steps; only a race sees what the steps do to each other's caches and threads.
//
//   const RaceResult heat = race(placed, single, context);
//   if (heat.log_ratio_low > 0) ...   // the second is faster, beyond the noise
//
// Both run in one worker process, on the same inputs, in the order A B B A A B B A …, so that a
// machine that slows down meanwhile slows both. A result is a row of the database, keyed by both
// plans (their text and their constants).
#pragma once

#include "search/cost/cost_table.h"
#include "search/cost/price.h"
#include "search/lower/region_plan.h"

namespace inlay {

struct RaceResult {
  Cost first;  // one run
  Cost second;
  // mean over pairs of log(time of first / time of second); below 0: first is faster
  double log_ratio = 0;
  double log_ratio_low = 0;  // 95% interval
  double log_ratio_high = 0;
  int pairs = 0;
  bool from_database = false;
};

// throws  Error{kPluginFailed} if a plan cannot be run in the worker (crash and hang included);
// Error{kCancelled};
//         Error{kIo, kBusy, kCorrupt} from the database
RaceResult race(const Lowered& first, const Lowered& second, const PriceContext& context);

}  // namespace inlay
