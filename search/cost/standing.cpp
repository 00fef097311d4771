#include "search/cost/standing.h"

#include <fmt/format.h>

namespace inlay {
namespace {

constexpr int kMostCrashes = 3;
constexpr int kMostHangs = 2;
constexpr int kMostWarnings = 3;

}  // namespace

void Standing::count(const std::string& plugin, MeasurementStatus status, const std::string& what,
                     const std::string& reason) {
  if (status == MeasurementStatus::kDeclined) return;
  Record& record = records_[plugin];
  const bool is_crash = status == MeasurementStatus::kCrashed;
  const bool is_hang = status == MeasurementStatus::kHung;
  record.crashes += is_crash;
  record.hangs += is_hang;
  if ((is_crash && record.crashes == kMostCrashes) || (is_hang && record.hangs == kMostHangs)) {
    log_.warn("plugin left out of the rest: it crashed or hung too often",
              {{"plugin", plugin},
               {"crashes", fmt::to_string(record.crashes)},
               {"hangs", fmt::to_string(record.hangs)},
               {"region", what},
               {"reason", reason}});
    return;
  }
  if (record.warnings > kMostWarnings) return;
  if (record.warnings++ == kMostWarnings) {
    log_.warn("more candidates left out; the report has every reason", {{"plugin", plugin}});
    return;
  }
  log_.warn("candidate left out", {{"plugin", plugin}, {"region", what}, {"reason", reason}});
}

std::string Standing::why_out(const std::string& plugin) const {
  const auto found = records_.find(plugin);
  if (found == records_.end()) return {};
  if (found->second.hangs >= kMostHangs) return "not tried: the plugin hung twice before";
  if (found->second.crashes >= kMostCrashes) {
    return fmt::format("not tried: the plugin crashed {} times before", found->second.crashes);
  }
  return {};
}

}  // namespace inlay
