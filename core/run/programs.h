// The first half of making an executor: a plan's devices opened and its programs compiled. Private
// to core/run.
//
//   std::vector<std::shared_ptr<Device>> devices = open_devices(plan, host);
//   Programs programs = compile_programs(plan, weights, devices, threads);
//   programs.list[programs.of_step[3]]->instantiate(workspace);
#pragma once

#include <memory>
#include <vector>

#include "core/host/plugin_host.h"
#include "core/plan/plan.h"
#include "core/plan/weights.h"

namespace inlay {

// One per Plan::plugins entry.
// throws  Error{kStale} naming what differs, expected and found; Error{kNotFound, kPluginFailed} as
// open_device
std::vector<std::shared_ptr<Device>> open_devices(const Plan& plan, PluginHost& host);

struct Programs {
  std::vector<std::unique_ptr<Program>> list;  // each distinct (plugin, region, constants) once
  std::vector<int> of_step;                    // into `list`; -1 for a step that runs no program
};

// The most threads for a run of the region, of a plan for `threads`.
int most_threads(const Region& region, int threads);

// throws  Error{kUnsupported} if a plugin declines, Error{kPluginFailed} if it fails; both name the
// step
Programs compile_programs(const Plan& plan, const Weights& weights,
                          const std::vector<std::shared_ptr<Device>>& devices, int threads);

// "step 3 (conv1, relu1)"
std::string name_of_step(const Plan& plan, std::size_t step);

}  // namespace inlay
