#include "search/cost/wake.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "core/run/measure.h"

namespace inlay {
namespace {

using Clock = std::chrono::steady_clock;

// A worker of oneTBB looks for work for some tens of microseconds before it sleeps.
constexpr std::chrono::microseconds kIdle{1000};
constexpr std::chrono::microseconds kWork{20};  // of each thread: a short region's
constexpr int kSamples = 60;

void spin(std::chrono::nanoseconds time) {
  const Clock::time_point end = Clock::now() + time;
  while (Clock::now() < end) {
  }
}

double time_work(const PluginHost& host) {
  const Clock::time_point start = Clock::now();
  host.parallel_for()(
      host.threads(), [](void*, std::int64_t) { spin(kWork); }, nullptr);
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

Measurement measure_wake(const PluginHost& host) {
  std::vector<double> added;
  for (int i = 0; i < kSamples; ++i) {
    time_work(host);
    const double awake = time_work(host);
    spin(kIdle);
    added.push_back(time_work(host) - awake);
  }
  const Stats stats = stats_of(&added);
  Measurement m;
  m.cost = {stats.median_ns, stats.low_ns, stats.high_ns, stats.samples};
  return m;
}

}  // namespace

double price_wake(Meter& meter) {
  const PluginHost& host = meter.context().host;
  if (host.threads() == 1) return 0;
  const MeasurementKey key = meter.host_key(MeasurementKind::kDispatch, "waking threads");
  std::optional<Measurement> m = meter.find(key);
  if (!m) {
    meter.report("waking threads");
    m = measure_wake(host);
    meter.keep(key, *m);
  }
  return std::max(0.0, m->cost.ns);
}

}  // namespace inlay
