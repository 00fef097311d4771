// A plugin's results against the reference's, by the tolerance that its pattern declares.
//
//   require_agrees(subject, device, sample);
#pragma once

#include <string_view>
#include <vector>

#include "search/check/program_run.h"
#include "search/check/subject.h"

namespace inlay::check {

// Compiles the sample, and runs it in memory of this placement on the inputs that search/verify
// uses. throws  Failure naming the sample and the first element that is out of bounds
void require_agrees(Subject& subject, const OpenDevice& device, const Sample& sample,
                    Placement placement = Placement::kAligned, bool on_all_inputs = false);

// The same for results that are there already.
void require_equal(Subject& subject, const Sample& sample, const std::vector<Tensor>& inputs,
                   const std::vector<Tensor>& results, std::string_view what);

// What the reference plugin gives.
std::vector<Tensor> reference_outputs(Subject& subject, const Sample& sample,
                                      const std::vector<Tensor>& inputs);

// Those of the samples that the plugin compiles; a decline is a normal answer.
// throws  Failure if it answers with anything but a decline
std::vector<const Sample*> accepted(const OpenDevice& device, const SampleSet& set);

}  // namespace inlay::check
