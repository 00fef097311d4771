#include <fmt/format.h>
#include <fmt/ranges.h>
#include <time.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/plan/onnx_constant.h"
#include "search/check/agreement.h"
#include "search/check/doing.h"
#include "search/check/families.h"
#include "search/check/program_run.h"
#include "search/check/verdict.h"

namespace inlay::check {
namespace {

constexpr std::size_t kNamesShown = 8;

std::string listed(const std::vector<std::string>& names) {
  const std::vector<std::string> first(
      names.begin(),
      names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kNamesShown)));
  const std::size_t more = names.size() - first.size();
  return fmt::format("{}{}", fmt::join(first, "; "),
                     more > 0 ? fmt::format("; and {} more", more) : "");
}

// What a manifest promises by one sample: its pattern, and of a list of operators the operator.
std::string promise_of(const Manifest& manifest, const Sample& sample) {
  for (const ManifestPattern& pattern : manifest.patterns) {
    if (pattern.id == sample.pattern && !pattern.ops.empty()) {
      return fmt::format("pattern '{}': {}", pattern.id, sample.region.nodes.back().op);
    }
  }
  return fmt::format("pattern '{}'", sample.pattern);
}

// Without the ONNX form, which would still say what the region was.
Region renamed(const Region& region, const char* domain, const char* op) {
  Region other = split_onnx(region).first;
  other.nodes.back().domain = domain;
  other.nodes.back().op = op;
  return other;
}

double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

void pattern_samples_compile(Subject& subject) {
  const OpenDevice& device = subject.device();
  std::map<std::string, std::string> declined;  // promise → the last decline
  std::set<std::string> kept;
  constexpr std::uint64_t kSeeds = 3;
  std::vector<std::string> missing;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const SampleSet set = make_samples(subject.manifest(), {.seed = seed});
    if (seed == 1) missing = set.missing;
    for (const Sample& sample : set.list) {
      const std::string promise = promise_of(subject.manifest(), sample);
      if (kept.count(promise) != 0 && seed > 1) continue;
      doing("compile of {}", describe(sample));
      const Compiled compiled = compile(device, sample.region);
      if (compiled.program != nullptr) {
        kept.insert(promise);
        continue;
      }
      require(compiled.answer.status == INLAY_DECLINED,
              "{}: compile: expected INLAY_OK or INLAY_DECLINED, found {}", describe(sample),
              describe(compiled.answer));
      declined[promise] = fmt::format("{}: {}", describe(sample), describe(compiled.answer));
    }
  }
  std::vector<std::string> broken;
  for (const auto& [promise, decline] : declined) {
    if (kept.count(promise) == 0) broken.push_back(decline);
  }
  require(broken.empty(), "declared, but every sample is declined: {}", listed(broken));
  // Of an engine's rule some operators make no graph of their own.
  std::erase_if(missing, [&](const std::string& what) {
    return std::any_of(subject.manifest().patterns.begin(), subject.manifest().patterns.end(),
                       [&](const ManifestPattern& pattern) {
                         return (pattern.any.opset != 0 || !pattern.fuse.empty()) &&
                                what.starts_with(fmt::format("pattern '{}'", pattern.id));
                       });
  });
  if (!missing.empty()) {
    skip_undeclared("no sample could be made that fits {}; all others compile", listed(missing));
  }
}

void near_miss_declines(Subject& subject) {
  const OpenDevice& device = subject.device();
  const SampleSet set = make_near_misses(subject.manifest(), 1);
  if (set.list.empty()) skip("no pattern has a constraint that an example could break");
  for (const Sample& sample : set.list) {
    doing("compile of {}, which breaks '{}'", describe(sample), sample.broken);
    const Compiled compiled = compile(device, sample.region);
    if (compiled.program == nullptr) {
      require(compiled.answer.status == INLAY_DECLINED || compiled.answer.status == INLAY_INVALID,
              "{}, which breaks '{}': compile: expected INLAY_DECLINED, found {}", describe(sample),
              sample.broken, describe(compiled.answer));
      continue;
    }
    try {
      require_agrees(subject, device, sample);
    } catch (const Failure& failure) {
      fail("'{}' does not hold, and the region was compiled all the same, and wrongly: {}",
           sample.broken, failure.what());
    } catch (const Skipped&) {  // nothing to compare with: it is not the plugin's
    }
  }
}

void veto_consistent(Subject& subject) {
  const OpenDevice& device = subject.device();
  if (device.table().veto == nullptr) skip("the table has no veto");
  SampleSet set = subject.samples();
  for (Sample& miss : make_near_misses(subject.manifest(), 1).list) set.list.push_back(miss);
  for (const Sample& sample : set.list) {
    const RegionView view(sample.region);
    ErrorText error;
    const Answer first = error.answer(device.table().veto(device.get(), view.get(), error.get()));
    const Answer second = error.answer(device.table().veto(device.get(), view.get(), error.get()));
    require(first.status == second.status, "{}: veto: found {} and then {}", describe(sample),
            describe(first), describe(second));
    require(first.is_ok() || first.status == INLAY_DECLINED,
            "{}: veto: expected INLAY_OK or INLAY_DECLINED, found {}", describe(sample),
            describe(first));
    const Compiled compiled = compile(device, sample.region);
    require(first.is_ok() == compiled.answer.is_ok() || compiled.answer.status == INLAY_INVALID,
            "{}: veto says {} and compile {}", describe(sample), describe(first),
            describe(compiled.answer));
  }
}

void decline_cheap(Subject& subject) {
  constexpr double kMostSeconds = 0.02;
  constexpr int kTries = 5;
  const OpenDevice& device = subject.device();
  const Region region = renamed(subject.sample().region, "nowhere.example", "Frobnicate");
  double best = 1e9;
  for (int i = 0; i < kTries; ++i) {
    const double begin = thread_seconds();
    const Compiled compiled = compile(device, region, {.pattern = "no_such_pattern"});
    best = std::min(best, thread_seconds() - begin);
    require(compiled.program == nullptr,
            "compile of an unknown operator: expected a decline, found OK");
  }
  require(best <= kMostSeconds,
          "expected a decline to take at most {} s of the processor, the best of {} took {:.3f} s",
          kMostSeconds, kTries, best);
}

void unlisted_op(Subject& subject) {
  const OpenDevice& device = subject.device();
  const Region& known = subject.sample().region;
  const auto require_declined = [&](const Region& region, const char* pattern, const char* what) {
    doing("compile of {}", what);
    const Compiled compiled = compile(device, region, {.pattern = pattern});
    require(compiled.answer.status == INLAY_DECLINED || compiled.answer.status == INLAY_INVALID,
            "compile of {}: expected INLAY_DECLINED, found {}", what, describe(compiled.answer));
  };
  const Region unknown = renamed(known, "nowhere.example", "Frobnicate");
  require_declined(unknown, "no_such_pattern",
                   "an operator and a pattern that it does not declare");
  require_declined(unknown, nullptr, "an operator of another domain under one of its patterns");
}

}  // namespace inlay::check
