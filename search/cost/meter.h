// Measures plans for price(): the database first, else the worker, within the budget, counting what
// is done. Private to search/cost.
//
//   Meter meter(context);
//   const std::optional<Measurement> m = meter.measure(key, [&] { return lower_region(region,
//   plugin, host); }, request);
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "core/run/worker_client.h"
#include "search/cost/database.h"
#include "search/cost/price.h"
#include "search/cost/quarantine.h"
#include "search/cost/standing.h"
#include "search/lower/region_plan.h"

namespace inlay {

inline constexpr const char* kBudgetReason = "not measured: the time budget was spent";

class Meter {
 public:
  explicit Meter(const PriceContext& context);

  // What the database knows about the key, quarantine before all else; counted.
  std::optional<Measurement> find(const MeasurementKey& key);

  // Measures the plan and stores the result, unless that is of this moment only (outcome.h) or a
  // failure of the host's own work; counted.
  Measurement measure(const MeasurementKey& key, const Lowered& plan,
                      const MeasureRequest& request);

  // Stores and counts what was measured without the worker.
  void keep(const MeasurementKey& key, const Measurement& measurement);

  // Why the plugin must not be opened in this process: in the worker, where it was tried first, its
  // library did not load, crashed or hung. Empty if it opened there. Only that is kept in the
  // database, since other outcomes may be due to this machine's state.
  const std::string& why_unopened(const std::string& plugin);

  // Key of what the host does itself.
  MeasurementKey host_key(MeasurementKind kind, std::string subject) const;

  // throws  Error{kCancelled} if that was asked for
  void check_cancelled() const;
  bool is_budget_spent() const;

  void expect_more(int measurements) { total_ += measurements; }
  void report(const std::string& what) const;  // progress: about to do this
  void advance() { ++done_; }

  Standing& standing() { return standing_; }
  const PriceContext& context() const { return context_; }
  PriceStats& stats() { return stats_; }
  void count(MeasurementStatus status);  // a decline or failure
  double seconds() const;

 private:
  WorkerResult<Stats> ask(const Lowered& plan, const MeasureRequest& request);

  const PriceContext& context_;
  std::chrono::steady_clock::time_point start_;
  PriceStats stats_;
  Standing standing_;
  Quarantine quarantine_;  // as it was when pricing began
  std::string host_fingerprint_;
  std::map<std::string, std::string> unopened_;  // plugin → reason, or empty
  int done_ = 0;
  int total_ = 0;
};

}  // namespace inlay
