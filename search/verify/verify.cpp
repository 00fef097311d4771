#include "search/verify/verify.h"

#include <chrono>
#include <memory>
#include <new>
#include <variant>

#include "core/base/error.h"
#include "core/run/worker_client.h"
#include "search/lower/region_plan.h"
#include "search/verify/expected.h"
#include "search/verify/outcome.h"

namespace inlay {
namespace {

constexpr const char* kReference = "reference";

CheckResult run_check(const Region& region, const std::string& plugin, const Expected& expected,
                      const CheckContext& context) {
  const Lowered candidate = lower_region(region, plugin, context.host, EdgeLayout::kDense);
  for (const Trial& trial : expected.trials) {
    const WorkerResult<std::vector<Tensor>> answer = context.worker.outputs(
        candidate.plan, candidate.weights, trial.inputs,
        patience(region.nodes.size(), expected.reference_time, context.start_patience));
    const auto* results = std::get_if<std::vector<Tensor>>(&answer);
    if (results == nullptr) {
      return {.status = status_of(answer),
              .reason = reason_of(answer, summary(region)),
              .is_transient = is_transient(answer)};
    }
    const std::string found = difference(expected, trial, *results);
    if (!found.empty()) return {.status = MeasurementStatus::kWrong, .reason = "wrong: " + found};
  }
  return {};
}

// Never stored: the fault is not the plugin's.
CheckResult unproved(const std::string& reason) {
  return {.status = MeasurementStatus::kFailed,
          .reason = "cannot be checked: " + reason,
          .is_transient = true};
}

}  // namespace

MeasurementKey region_key(MeasurementKind kind, const Region& region, const std::string& plugin,
                          PluginHost& host) {
  MeasurementKey key;
  key.kind = kind;
  key.subject = region_hash(region, /*with_constants=*/false).hex();
  key.plugin = plugin;
  key.fingerprint = host.open_device(plugin)->fingerprint();
  // A run takes longer there, by a round trip and copies.
  if (host.is_isolated(plugin)) key.fingerprint += ", in a process of its own";
  const PluginRecord* record = host.find(plugin);
  key.build_id = record->build_id;
  key.library = record->manifest.library;
  key.threads = host.threads();
  return key;
}

ExpectedCache::ExpectedCache() = default;
ExpectedCache::~ExpectedCache() = default;

const Expected& ExpectedCache::get(const Region& region, const std::string& tolerance,
                                   PluginHost& host, std::uint64_t seed) {
  Region plain = region;
  plain.pattern.clear();
  for (RegionValue& value : plain.values) {
    value.port.clear();
    value.layout = Layout::dense(static_cast<int>(value.type.shape.size()));
  }
  // The order of inputs and outputs counts in the hash, so equal hashes have equal trials.
  Hasher hasher;
  hasher.add(region_hash(plain, /*with_constants=*/true).hex())
      .add(tolerance)
      .add(static_cast<std::int64_t>(seed));
  const Hash key = hasher.finish();
  if (!expected_ || key != key_) {
    expected_.reset();  // before the next takes as much
    expected_ = std::make_unique<Expected>(expect(plain, tolerance, host, seed));
    key_ = key;
  }
  return *expected_;
}

CheckResult check_region(const Region& region, const std::string& plugin,
                         const std::string& tolerance, const CheckContext& context) {
  if (plugin == kReference) return {};  // what everything else is compared with
  MeasurementKey key = region_key(MeasurementKind::kCheck, region, plugin, context.host);
  key.knobs = tolerance;
  if (const std::optional<Measurement> known = context.database.find(key)) {
    return {.status = known->status, .reason = known->reason, .from_database = true};
  }
  ExpectedCache own;
  ExpectedCache& cache = context.cache != nullptr ? *context.cache : own;
  const Expected* expected = nullptr;
  try {
    expected = &cache.get(region, tolerance, context.host, context.seed);
  } catch (const Error& error) {  // trial run: what the reference cannot do cannot be proved
    if (error.code() != Code::kUnsupported && error.code() != Code::kPluginFailed &&
        error.code() != Code::kNoMemory) {
      throw;
    }
    return unproved(error.what());
  } catch (const std::bad_alloc&) {
    return unproved("out of memory");
  }
  const CheckResult result = run_check(region, plugin, *expected, context);
  if (!result.is_transient) {
    context.database.put(key, {.status = result.status, .reason = result.reason});
  }
  return result;
}

}  // namespace inlay
