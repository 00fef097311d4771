#include "search/cost/quarantine.h"

namespace inlay {

bool is_quarantine(const MeasurementKey& key, const Measurement& measurement) {
  const bool is_trial =
      key.kind == MeasurementKind::kMeasure || key.kind == MeasurementKind::kCheck;
  return is_trial && !key.plugin.empty() &&
         (measurement.status == MeasurementStatus::kCrashed ||
          measurement.status == MeasurementStatus::kHung);
}

Quarantine::Quarantine(const CostDatabase& database) {
  database.for_each([this](const MeasurementKey& key, const Measurement& measurement) {
    if (!is_quarantine(key, measurement)) return;
    entries_.emplace(std::pair(key.build_id, key.subject), Entry{key, measurement});
  });
}

std::optional<Measurement> Quarantine::find(const std::string& build_id,
                                            const std::string& region) const {
  const auto found = entries_.find({build_id, region});
  if (found == entries_.end()) return std::nullopt;
  Measurement known = found->second.measurement;
  known.reason = "in quarantine until the plugin is built anew, or inlay db clear --quarantine: " +
                 known.reason;
  return known;
}

std::vector<const Quarantine::Entry*> Quarantine::of_build(const std::string& build_id) const {
  std::vector<const Entry*> list;
  for (auto entry = entries_.lower_bound({build_id, ""});
       entry != entries_.end() && entry->first.first == build_id; ++entry) {
    list.push_back(&entry->second);
  }
  return list;
}

}  // namespace inlay
