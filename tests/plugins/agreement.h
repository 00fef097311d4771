// A plugin's answer for a region against the reference plugin's, on random inputs and within the
// bound that the pattern's own tolerance gives: the check that every claim passes before it is used
// (search/verify/verify.h), in this process.
//
//   Agreement agreement("onednn", 2);
//   RegionCase c("reduce");
//   c.apply("ReduceMean", {c.input("X", {2, 3, 5})}, {2, 1, 5}, {...});
//   EXPECT_EQ(agreement.check(c), "");        // else what is wrong, or "declined: " and the reason
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/run/executor.h"
#include "search/lower/region_plan.h"
#include "search/verify/expected.h"
#include "tests/plugins/region_case.h"

namespace inlay {

class Agreement {
 public:
  Agreement(const std::string& plugin, int threads)
      : plugin_(plugin),
        pool_(threads),
        host_(log_, HostOptions{.search_path = {library(plugin), library("reference")},
                                .exclude = {},
                                .threads = threads,
                                .parallel_for = pool_.parallel_for()}),
        device_(host_.open_device(plugin)) {}

  std::string check(RegionCase& c, std::uint64_t seed = 1) {
    const Region& region = c.region();
    std::string reason;
    if (!device_->compile(region, CompileOptions{.thread_cap = pool_.threads()}, &reason)) {
      return "declined: " + reason;
    }
    const Expected expected = expect(region, tolerance_of(region.pattern), host_, seed);
    const Lowered lowered = lower_region(region, plugin_, host_, EdgeLayout::kDense);
    Executor executor(lowered.plan, lowered.weights, host_);
    for (const Trial& trial : expected.trials) {
      const std::string found = difference(expected, trial, executor.run(trial.inputs));
      if (!found.empty()) return found;
    }
    return "";
  }

 private:
  static std::filesystem::path library(const std::string& plugin) {
    return std::string(INLAY_PLUGIN_DIR) + "/" + plugin + ".so";
  }

  std::string tolerance_of(const std::string& pattern) const {
    for (const PluginRecord& record : host_.plugins()) {
      for (const ManifestPattern& p : record.manifest.patterns) {
        if (record.manifest.name == plugin_ && p.id == pattern) return p.tolerance;
      }
    }
    return "no pattern '" + pattern + "'";
  }

  std::string plugin_;
  NullLog log_;
  ThreadPool pool_;
  PluginHost host_;
  std::shared_ptr<Device> device_;
};

}  // namespace inlay
