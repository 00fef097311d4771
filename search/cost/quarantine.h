// Regions that crashed or hung on a plugin's build, in any process on this machine: they are not
// tried again until the plugin has another build, or `inlay db clear --quarantine`.
//
//   const Quarantine quarantine(database);
//   if (const std::optional<Measurement> why = quarantine.find(build_id, region)) ...  // leave it
//   out
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "search/cost/database.h"

namespace inlay {

// Whether a row puts its region into quarantine: a trial or measurement on a plugin that ended the
// worker, or had it killed. What is transient (search/verify/outcome.h) makes no row.
bool is_quarantine(const MeasurementKey& key, const Measurement& measurement);

class Quarantine {
 public:
  struct Entry {
    MeasurementKey key;
    Measurement measurement;
  };

  Quarantine() = default;
  explicit Quarantine(const CostDatabase& database);

  // What became of the region (its hash without constants, as in MeasurementKey::subject), whatever
  // number of threads or state of the caches it failed on; nullopt if it may be tried.
  std::optional<Measurement> find(const std::string& build_id, const std::string& region) const;

  // One of each region, in the order of build and region.
  std::vector<const Entry*> of_build(const std::string& build_id) const;

 private:
  std::map<std::pair<std::string, std::string>, Entry> entries_;  // build id and region
};

}  // namespace inlay
