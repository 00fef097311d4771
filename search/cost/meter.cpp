#include "search/cost/meter.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "search/verify/memory_need.h"
#include "search/verify/outcome.h"
#include "search/verify/patience.h"

namespace inlay {
namespace {

// The reference is trusted, and may be slow.
constexpr std::chrono::minutes kReferencePatience{10};

std::chrono::milliseconds patience_for(const Plan& plan, const MeasureRequest& request,
                                       std::chrono::milliseconds start) {
  std::size_t nodes = 0;
  for (const Region& region : plan.regions) nodes += region.nodes.size();
  const bool is_trusted =
      std::all_of(plan.plugins.begin(), plan.plugins.end(),
                  [](const PlanPlugin& plugin) { return plugin.name == kReferencePlugin; });
  if (is_trusted) return kReferencePatience;
  return patience(nodes, std::chrono::duration<double>(request.options.max_seconds), start);
}

}  // namespace

Meter::Meter(const PriceContext& context)
    : context_(context), start_(std::chrono::steady_clock::now()), standing_(context.log),
      quarantine_(context.database) {
  host_fingerprint_ = context.host.open_device(kReferencePlugin)->fingerprint();
}

std::optional<Measurement> Meter::find(const MeasurementKey& key) {
  std::optional<Measurement> known = quarantine_.find(key.build_id, key.subject);
  if (!known) known = context_.database.find(key);
  if (known) {
    ++stats_.from_database;
    count(known->status);
  }
  return known;
}

Measurement Meter::measure(const MeasurementKey& key, const Lowered& plan,
                           const MeasureRequest& request) {
  check_cancelled();
  ++stats_.measured;
  const WorkerResult<Stats> answer = ask(plan, request);
  Measurement m;
  m.status = status_of(answer);
  if (const Stats* stats = std::get_if<Stats>(&answer)) {
    m.cost = {stats->median_ns, stats->low_ns, stats->high_ns, stats->samples};
  } else {
    m.reason = reason_of(answer, plan.plan.model);
  }
  const bool is_own_failure = key.plugin.empty() && m.status != MeasurementStatus::kOk;
  if (!is_transient(answer) && !is_own_failure) context_.database.put(key, m);
  count(m.status);
  return m;
}

void Meter::keep(const MeasurementKey& key, const Measurement& measurement) {
  ++stats_.measured;
  context_.database.put(key, measurement);
}

WorkerResult<Stats> Meter::ask(const Lowered& plan, const MeasureRequest& request) {
  try {
    require_memory(bytes_to_run(plan.plan), "running it");
  } catch (const Error& error) {
    return Failed{error.what(), /*is_transient=*/true};
  }
  return context_.worker.measure(plan.plan, plan.weights, request,
                                 patience_for(plan.plan, request, context_.start_patience));
}

const std::string& Meter::why_unopened(const std::string& plugin) {
  const auto [entry, is_new] = unopened_.try_emplace(plugin);
  if (!is_new || plugin == kReferencePlugin) return entry->second;
  const PluginRecord* record = context_.host.find(plugin);
  if (record == nullptr) return entry->second = "there is no such plugin";
  MeasurementKey key = host_key(MeasurementKind::kCheck, "open");
  key.plugin = plugin;
  key.build_id = record->build_id;
  key.library = record->manifest.library;
  if (context_.database.find(key)) return entry->second;
  check_cancelled();
  const WorkerResult<Opened> answer =
      context_.worker.open(plugin, patience(0, {}, context_.start_patience));
  if (std::holds_alternative<Opened>(answer)) {
    context_.database.put(key, {});
  } else {
    entry->second = fmt::format("cannot be opened: {}", describe_failure(answer));
    context_.log.warn("plugin left out", {{"plugin", plugin}, {"reason", entry->second}});
  }
  return entry->second;
}

MeasurementKey Meter::host_key(MeasurementKind kind, std::string subject) const {
  MeasurementKey key;
  key.kind = kind;
  key.subject = std::move(subject);
  key.build_id = INLAY_VERSION;
  key.fingerprint = host_fingerprint_;
  key.threads = context_.host.threads();
  return key;
}

void Meter::check_cancelled() const {
  if (context_.cancelled != nullptr && context_.cancelled->load()) {
    throw Error(Code::kCancelled,
                "pricing was cancelled; what was measured is kept in the cost database");
  }
}

bool Meter::is_budget_spent() const {
  return context_.budget.count() > 0 &&
         std::chrono::steady_clock::now() - start_ >= context_.budget;
}

void Meter::report(const std::string& what) const {
  if (context_.progress) context_.progress(done_, total_, what);
}

double Meter::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void Meter::count(MeasurementStatus status) {
  if (status == MeasurementStatus::kDeclined) ++stats_.declined;
  const bool is_failure =
      status != MeasurementStatus::kOk && status != MeasurementStatus::kDeclined;
  if (is_failure) ++stats_.failed;
}

}  // namespace inlay
