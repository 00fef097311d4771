// What everything costs: the numbers search works on.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/base/layout.h"
#include "graphs/ir/graph.h"

namespace inlay {

// A measured or simulated time. `low` and `high` bound the median with 95% confidence.
struct Cost {
  double ns = 0;
  double low_ns = 0;
  double high_ns = 0;
  int samples = 0;
};

// How a candidate came to its cost, or to none.
enum class CostOrigin {
  kMeasured,  // now, it or an equal region
  kDatabase,  // earlier
  kFree,      // a view: nothing to measure
  kDeclined,  // by its plugin
  kFailed,    // wrong result, crash, hang, error
  kUntried,   // left out: the budget was spent, or its plugin is not to be trusted
  kHopeless   // left out: an engine's, which was far slower on a region around it
};

// A candidate's cost, or why it has none.
struct CandidateCost {
  std::optional<Cost> cost;
  std::string
      reason;  // set iff cost is absent: declined, wrong result, crashed, hung, excluded, pruned
  CostOrigin origin = CostOrigin::kUntried;
  int most_threads = 0;  // with which it costs that; 0: the host's
};

struct ConversionCost {
  Cost cost;
  std::string plugin;  // empty: the host's own convert_layout
};

// (type text, from layout text, to layout text)
using ConversionKey = std::tuple<std::string, std::string, std::string>;

struct CostTable {
  std::vector<CandidateCost> candidates;  // by candidate id
  std::map<ConversionKey, ConversionCost> conversions;
  double dispatch_ns = 0;  // what one more step costs the executor beyond the work itself
  // What the host's threads need to wake after a region on a plugin's own; part of such candidates'
  // costs already.
  double wake_ns = 0;

  // throws  Error{kInternal} if the conversion was not measured
  const ConversionCost& conversion(const TensorType& type, const Layout& from,
                                   const Layout& to) const;
};

}  // namespace inlay
