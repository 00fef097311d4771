#include "search/cost/meter.h"

#include <utility>

#include "core/base/error.h"
#include "search/verify/outcome.h"

namespace inlay {
namespace {

// Above what compiling and the first, cold run of the largest whole-model engine takes; then the
// plugin hangs.
constexpr std::chrono::seconds kDeadline{120};

}  // namespace

Meter::Meter(const PriceContext& context)
    : context_(context), start_(std::chrono::steady_clock::now()) {
  host_fingerprint_ = context.host.open_device(kReferencePlugin)->fingerprint();
}

std::optional<Measurement> Meter::find(const MeasurementKey& key) {
  std::optional<Measurement> known = context_.database.find(key);
  if (known) {
    ++stats_.from_database;
    count(known->status);
  }
  return known;
}

Measurement Meter::measure(const MeasurementKey& key, const Lowered& plan,
                           const MeasureRequest& request) {
  check_cancelled();
  const WorkerResult<Stats> answer =
      context_.worker.measure(plan.plan, plan.weights, request, kDeadline);
  Measurement m;
  m.status = status_of(answer);
  if (const Stats* stats = std::get_if<Stats>(&answer)) {
    m.cost = {stats->median_ns, stats->low_ns, stats->high_ns, stats->samples};
  } else {
    m.reason = describe_failure(answer);
  }
  context_.database.put(key, m);
  ++stats_.measured;
  count(m.status);
  return m;
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
