#include "search/check/agreement.h"

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/run/executor.h"
#include "search/check/doing.h"
#include "search/check/verdict.h"
#include "search/lower/region_plan.h"
#include "search/verify/expected.h"

namespace inlay::check {
namespace {

// What the kit itself cannot do is not the plugin's failure.
Expected expectation(Subject& subject, const Sample& sample) {
  PluginHost& reference = subject.reference();
  try {
    return expect(sample.region, sample.tolerance, reference, /*seed=*/1);
  } catch (const Error& error) {
    skip_undeclared("{}: the reference has no answer: {}", describe(sample), error.what());
  }
}

}  // namespace

void require_agrees(Subject& subject, const OpenDevice& device, const Sample& sample,
                    Placement placement, bool on_all_inputs) {
  doing("{}", describe(sample));
  const Compiled compiled = compile(device, sample.region);
  require(compiled.program != nullptr, "{}: compile: expected INLAY_OK, found {}", describe(sample),
          describe(compiled.answer));
  const Expected expected = expectation(subject, sample);
  for (const Trial& trial : expected.trials) {
    Run run(device, compiled, sample.region, placement);
    run.set_inputs(trial.inputs);
    run.fill_outputs();
    const Answer answer = run.enqueue();
    require(answer.is_ok(), "{}: enqueue: expected INLAY_OK, found {}", describe(sample),
            describe(answer));
    const std::string found = difference(expected, trial, run.outputs());
    require(found.empty(), "{}: {}", describe(sample), found);
    if (!on_all_inputs) return;
  }
}

void require_equal(Subject& subject, const Sample& sample, const std::vector<Tensor>& inputs,
                   const std::vector<Tensor>& results, std::string_view what) {
  Expected expected = expectation(subject, sample);
  // The magnitudes of the first trial's inputs, which these are (inputs_for, seed 1).
  const Trial& trial = expected.trials.front();
  require(trial.inputs == inputs, "the kit compares with other inputs than it ran");
  const std::string found = difference(expected, trial, results);
  require(found.empty(), "{}: {}: {}", what, describe(sample), found);
}

std::vector<Tensor> reference_outputs(Subject& subject, const Sample& sample,
                                      const std::vector<Tensor>& inputs) {
  PluginHost& reference = subject.reference();
  try {
    const Lowered lowered = lower_reference(sample.region, reference);
    return Executor(lowered.plan, lowered.weights, reference).run(inputs);
  } catch (const Error& error) {
    skip_undeclared("{}: the reference has no answer: {}", describe(sample), error.what());
  }
}

std::vector<const Sample*> accepted(const OpenDevice& device, const SampleSet& set) {
  std::vector<const Sample*> list;
  for (const Sample& sample : set.list) {
    doing("compile of {}", describe(sample));
    const Compiled compiled = compile(device, sample.region);
    if (compiled.program != nullptr) {
      list.push_back(&sample);
      continue;
    }
    require(compiled.answer.status == INLAY_DECLINED,
            "{}: compile: expected INLAY_OK or INLAY_DECLINED, found {}", describe(sample),
            describe(compiled.answer));
  }
  return list;
}

}  // namespace inlay::check
