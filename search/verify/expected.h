// What a region should give, and how far a result may be from it: the reference's answers on a few
// sets of inputs.
//
//   const Expected expected = expect(region, "accum", host, seed);
//   for (const Trial& trial : expected.trials) ... compare(trial.outputs[i], result,
//   expected.tolerance, trial.magnitude(i))
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/tensor.h"
#include "core/host/plugin_host.h"
#include "core/plan/region.h"
#include "core/run/compare.h"

namespace inlay {

// One set of inputs and the reference's answer.
struct Trial {
  std::string name;                // "seed 1", "seed 1 times 8"
  std::vector<Tensor> inputs;      // dense, in the region's order
  std::vector<Tensor> outputs;     // dense, in the region's order
  std::vector<Tensor> magnitudes;  // of kAccum: M, one per output; else empty
  const Tensor* magnitude(std::size_t output) const {
    return magnitudes.empty() ? nullptr : &magnitudes[output];
  }
};

struct Expected {
  Tolerance tolerance;
  std::vector<Trial> trials;
  std::chrono::duration<double> reference_time{0};  // of the slowest trial
};

// The tolerance that a pattern's text means for this region; see verify.h.
// throws  Error{kInvalidArgument} for an unknown text
Tolerance tolerance_for(const Region& region, const std::string& text);

// Runs the reference on every trial's inputs.
// throws  Error{kInvalidArgument} for an unknown tolerance; Error{kNotFound, kPluginFailed} from
// the reference
Expected expect(const Region& region, const std::string& tolerance, PluginHost& host,
                std::uint64_t seed);

// "" if the results of a trial are right, else what is wrong, naming the output and the trial.
std::string difference(const Expected& expected, const Trial& trial,
                       const std::vector<Tensor>& results);

}  // namespace inlay
