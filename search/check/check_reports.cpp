#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "core/abi/inlay_trace.h"
#include "search/check/agreement.h"
#include "search/check/doing.h"
#include "search/check/families.h"
#include "search/check/program_run.h"
#include "search/check/verdict.h"

namespace inlay::check {
namespace {

std::int64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

// The devices that keep a clock of their own.
std::vector<OpenDevice> simulated_devices(Subject& subject) {
  std::vector<OpenDevice> devices;
  const int count = subject.plugin().device_count();
  for (int i = 0; i < count; ++i) {
    OpenDevice device = subject.plugin().open(i);
    if (device.is_simulated()) devices.push_back(std::move(device));
  }
  if (devices.empty()) skip("device_info declares a wall clock for every device");
  return devices;
}

inlay_run_report reported(Run& run, std::uint32_t flags, const Sample& sample) {
  inlay_run_report report{};
  report.struct_size = sizeof(report);
  report.simulated_ns = -1;
  report.cycles = -1;
  report.energy_pj = -1;
  const Answer answer = run.enqueue(flags, nullptr, &report);
  require(answer.is_ok(), "{}: enqueue: expected INLAY_OK, found {}", describe(sample),
          describe(answer));
  require(report.simulated_ns >= 0 && report.cycles >= 0,
          "{}: a simulated device's report: expected simulated_ns and cycles, found {} and {}",
          describe(sample), report.simulated_ns, report.cycles);
  require(std::isfinite(report.energy_pj) && report.energy_pj >= 0,
          "{}: a simulated device's report: expected an energy in pJ, found {}", describe(sample),
          report.energy_pj);
  return report;
}

std::string text_of(const inlay_run_report& report) {
  return fmt::format("{} ns, {} cycles, {} pJ", report.simulated_ns, report.cycles,
                     report.energy_pj);
}

bool equal(const inlay_run_report& a, const inlay_run_report& b) {
  return a.simulated_ns == b.simulated_ns && a.cycles == b.cycles && a.energy_pj == b.energy_pj;
}

// body(device, sample, compiled) for every simulated device and sample that it takes.
template <typename Body>
void for_each_simulated(Subject& subject, const Body& body) {
  for (const OpenDevice& device : simulated_devices(subject)) {
    for (const Sample* sample : accepted(device, subject.samples())) {
      doing("{} on '{}'", describe(*sample), device.info.name);
      const Compiled compiled = compile(device, sample->region);
      body(device, *sample, compiled);
    }
  }
}

}  // namespace

void clock_calibrated(Subject& subject) {
  const OpenDevice& device = subject.device();
  const Sample& sample = subject.sample();
  const Compiled compiled = compile(device, sample.region);
  Run run(device, compiled, sample.region);
  run.set_inputs(inputs_for(sample.region, 1));
  const std::int64_t begin = now_ns();
  const Answer answer = run.enqueue();
  const std::int64_t end = now_ns();
  require(answer.is_ok(), "enqueue: found {}", describe(answer));
  if (!subject.host().was_trace_asked()) skip("the plugin does not ask for {}", INLAY_TRACE_ID);
  const std::vector<TestHost::Span> spans = subject.host().spans();
  for (const TestHost::Span& span : spans) {
    require(span.begin_ns <= span.end_ns, "the span '{}' ends {} ns before it begins", span.name,
            span.begin_ns - span.end_ns);
    if (span.clock != INLAY_TRACE_HOST_CLOCK) continue;
    require(
        span.begin_ns >= begin && span.end_ns <= end,
        "the span '{}' on the host's clock begins {} ns after the call that caused it began, and "
        "ends {} ns before that ended",
        span.name, span.begin_ns - begin, end - span.end_ns);
  }
}

void simulated_deterministic(Subject& subject) {
  for_each_simulated(
      subject, [](const OpenDevice& device, const Sample& sample, const Compiled& compiled) {
        Run first(device, compiled, sample.region);
        Run second(device, compiled, sample.region);
        first.set_inputs(inputs_for(sample.region, 1));
        second.set_inputs(inputs_for(sample.region, 1));
        const inlay_run_report expected = reported(first, 0, sample);
        for (Run* run : {&second, &second}) {
          const inlay_run_report found = reported(*run, 0, sample);
          require(equal(expected, found), "{}: the same run again: expected {}, found {}",
                  describe(sample), text_of(expected), text_of(found));
        }
      });
}

void timing_only_equal(Subject& subject) {
  for_each_simulated(
      subject, [](const OpenDevice& device, const Sample& sample, const Compiled& compiled) {
        Run run(device, compiled, sample.region);
        run.set_inputs(inputs_for(sample.region, 1));
        const inlay_run_report whole = reported(run, 0, sample);
        const inlay_run_report timing = reported(run, INLAY_RUN_TIMING_ONLY, sample);
        require(equal(whole, timing), "{}: a run for its timing only: expected {}, found {}",
                describe(sample), text_of(whole), text_of(timing));
      });
}

void energy_additive(Subject& subject) {
  for_each_simulated(subject,
                     [](const OpenDevice& device, const Sample& sample, const Compiled& compiled) {
                       // A report is of its run alone, whatever ran before and with whatever
                       // numbers: so that the energies of a plan's steps add up to the plan's.
                       Run run(device, compiled, sample.region);
                       run.set_inputs(inputs_for(sample.region, 1));
                       const double first = reported(run, 0, sample).energy_pj;
                       double total = first;
                       constexpr int kMore = 3;
                       for (int i = 0; i < kMore; ++i) {
                         Run next(device, compiled, sample.region);
                         next.set_inputs(inputs_for(sample.region, 1));
                         total += reported(next, 0, sample).energy_pj;
                         total += reported(run, 0, sample).energy_pj;
                       }
                       const double expected = first * (2 * kMore + 1);
                       require(std::fabs(total - expected) <= 1e-9 * std::fabs(expected),
                               "{}: {} runs of {} pJ: expected {} pJ together, found {} pJ",
                               describe(sample), 2 * kMore + 1, first, expected, total);
                     });
}

void estimate_sane(Subject& subject) {
  const int count = subject.plugin().device_count();
  if (subject.plugin().table().estimate == nullptr) skip("the table has no estimate");
  for (int i = 0; i < count; ++i) {
    const OpenDevice device = subject.plugin().open(i);
    for (const Sample* sample : accepted(device, subject.samples())) {
      doing("estimate of {} on '{}'", describe(*sample), device.info.name);
      const RegionView view(sample->region);
      inlay_estimate estimate{};
      estimate.struct_size = sizeof(estimate);
      estimate.time_ns = -1;
      ErrorText error;
      const Answer answer =
          error.answer(device.table().estimate(device.get(), view.get(), &estimate, error.get()));
      if (answer.status == INLAY_DECLINED) continue;
      require(answer.is_ok(), "{}: estimate: expected INLAY_OK, found {}", describe(*sample),
              describe(answer));
      constexpr std::int64_t kHour_ns = std::int64_t{3600} * 1'000'000'000;
      require(estimate.time_ns >= 0 && estimate.time_ns < kHour_ns,
              "{}: estimate: expected a time of at most an hour, found {} ns", describe(*sample),
              estimate.time_ns);
      require(std::isfinite(estimate.energy_pj) && estimate.energy_pj >= 0,
              "{}: estimate: expected an energy, found {} pJ", describe(*sample),
              estimate.energy_pj);
      if (!device.is_simulated()) continue;
      const Compiled compiled = compile(device, sample->region);
      Run run(device, compiled, sample->region);
      run.set_inputs(inputs_for(sample->region, 1));
      const inlay_run_report report = reported(run, 0, *sample);
      require(estimate.time_ns == report.simulated_ns && estimate.energy_pj == report.energy_pj,
              "{}: a simulated device estimates {} ns and {} pJ, and reports {}", describe(*sample),
              estimate.time_ns, estimate.energy_pj, text_of(report));
    }
  }
}

}  // namespace inlay::check
