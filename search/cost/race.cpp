#include "search/cost/race.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/error.h"
#include "core/plan/plan_text.h"
#include "core/run/worker_client.h"
#include "search/cost/database.h"
#include "search/verify/outcome.h"

namespace inlay {
namespace {

using nlohmann::json;

// Both plans are compiled, a whole-model engine included, and run for some seconds.
constexpr std::chrono::seconds kDeadline{240};

// Plan text and the constants that it names by hash: all that a run depends on.
Hash plan_hash(const Plan& plan) { return Hasher().add(to_text(plan)).finish(); }

Cost cost_of(const Stats& stats) {
  return {stats.median_ns, stats.low_ns, stats.high_ns, stats.samples};
}

json cost_json(const Cost& cost) { return {cost.ns, cost.low_ns, cost.high_ns, cost.samples}; }

Cost cost_from(const json& row) {
  return {row.at(0).get<double>(), row.at(1).get<double>(), row.at(2).get<double>(),
          row.at(3).get<int>()};
}

std::string to_detail(const RaceResult& r) {
  return json{{"first", cost_json(r.first)}, {"second", cost_json(r.second)},
              {"log_ratio", r.log_ratio},    {"low", r.log_ratio_low},
              {"high", r.log_ratio_high},    {"pairs", r.pairs}}
      .dump();
}

RaceResult from_detail(const std::string& detail, const std::string& database) {
  try {
    const json row = json::parse(detail);
    return {cost_from(row.at("first")),
            cost_from(row.at("second")),
            row.at("log_ratio").get<double>(),
            row.at("low").get<double>(),
            row.at("high").get<double>(),
            row.at("pairs").get<int>(),
            true};
  } catch (const json::exception& error) {
    throw Error(
        Code::kCorrupt,
        fmt::format("cost database '{}': a race's figures cannot be read: {}; clear the rows "
                    "of the host",
                    database, error.what()));
  }
}

RaceResult swapped(RaceResult r) {
  std::swap(r.first, r.second);
  r.log_ratio = -r.log_ratio;
  r.log_ratio_low = -std::exchange(r.log_ratio_high, -r.log_ratio_low);
  return r;
}

MeasurementKey race_key(const Lowered& first, const Lowered& second, const PriceContext& context) {
  MeasurementKey key;
  key.kind = MeasurementKind::kRace;
  key.subject = plan_hash(first.plan).hex() + ":" + plan_hash(second.plan).hex();
  key.build_id = INLAY_VERSION;
  key.fingerprint = context.host.open_device("reference")->fingerprint();
  key.threads = context.host.threads();
  for (const Plan* plan : {&first.plan, &second.plan}) {
    for (const PlanPlugin& plugin : plan->plugins) {
      if (context.host.is_isolated(plugin.name)) key.knobs += plugin.name + " isolated ";
    }
  }
  return key;
}

RaceResult run_race(const Lowered& first, const Lowered& second, const PriceContext& context) {
  const WorkerResult<PairStats> answer = context.worker.measure_pair(
      {first.plan, first.weights}, {second.plan, second.weights},
      {.seed = context.seed, .max_values = {}, .options = {}}, kDeadline);
  const PairStats* stats = std::get_if<PairStats>(&answer);
  if (stats == nullptr) {
    throw Error(Code::kPluginFailed,
                fmt::format("race of two plans: {}", describe_failure(answer)));
  }
  return {cost_of(stats->first),
          cost_of(stats->second),
          stats->log_ratio,
          stats->log_ratio_low,
          stats->log_ratio_high,
          stats->pairs,
          false};
}

}  // namespace

RaceResult race(const Lowered& first, const Lowered& second, const PriceContext& context) {
  if (context.cancelled != nullptr && context.cancelled->load()) {
    throw Error(Code::kCancelled,
                "racing was cancelled; what was measured is kept in the cost database");
  }
  const std::string database = context.database.path().string();
  const MeasurementKey key = race_key(first, second, context);
  if (const auto known = context.database.find(key)) return from_detail(known->detail, database);
  if (const auto known = context.database.find(race_key(second, first, context))) {
    return swapped(from_detail(known->detail, database));
  }
  const RaceResult result = run_race(first, second, context);
  Measurement row;
  row.cost = result.first;
  row.detail = to_detail(result);
  context.database.put(key, row);
  return result;
}

}  // namespace inlay
