// A claim is proved before it is used: a plugin's answer for a region against the reference's, in
// the worker, within the bound of the pattern's tolerance class.
//
//   const CheckResult check = check_region(region, "onednn", "accum", {host, database, worker});
//   if (!check.is_ok()) ...   // check.reason: "wrong: 3 of 4096 elements out of bounds, first at
//   17: got …"
//
// Inputs: two seeds of standard normal numbers, and the first seed once more times eight, so that
// saturating functions leave their linear range. Whole-number inputs that index stay inside what
// they index.
//
// Bounds, by the pattern's tolerance:
//   exact             equal values
//   elementwise       2 ulp                          for one operator; a chain is bounded as accum
//   transcendental    max(1e-6, 16 ulp)              for one operator; a chain is bounded as accum
//   accum             2·c·2⁻²⁴·M, c and M from majorant.h
//   reduced:R         R·max|reference|, the plugin's own claim
//   region            for one operator as accum; for n of them min(1e-3, 2e-5·n)·max|reference|: an
//                     engine orders its operations as it likes, and what many layers in f32 differ by
//                     is far below what fewer bits do to one of them
// Where majorant.h has no bound (Softmax, normalisations, recurrent cells) `accum` means 2·c·2⁻²⁴·S
// + δ: S is the largest magnitude of the reference's output, and δ how far that output moves when
// the reference's inputs and constants are changed by a few u of themselves. That is the error of a
// backward stable algorithm (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 1.5):
// the exact answer to a slightly different question.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/host/plugin_host.h"
#include "core/plan/region.h"
#include "core/run/random_inputs.h"
#include "search/cost/database.h"
#include "search/verify/patience.h"

namespace inlay {

class WorkerClient;

struct Expected;

// Keeps the reference's latest answers, so that several plugins' claims for one region cost one run
// of the reference.
class ExpectedCache {
 public:
  ExpectedCache();
  ~ExpectedCache();
  // The region's own pattern and layouts do not matter. The result lives until the next call.
  const Expected& get(const Region& region, const std::string& tolerance, PluginHost& host,
                      std::uint64_t seed);

 private:
  Hash key_;
  std::unique_ptr<Expected> expected_;
};

struct CheckContext {
  PluginHost& host;
  CostDatabase& database;
  WorkerClient& worker;
  std::uint64_t seed = 1;
  ExpectedCache* cache = nullptr;
  std::chrono::milliseconds start_patience = kStartPatience;  // see patience.h
};

struct CheckResult {
  MeasurementStatus status = MeasurementStatus::kOk;
  std::string reason;  // set iff status is not kOk
  bool from_database = false;
  bool is_transient = false;  // of this moment, and not stored; see outcome.h
  bool is_ok() const { return status == MeasurementStatus::kOk; }
};

// Checks the region, whose constants all carry bytes, or finds an earlier check of the same build
// in the database. A check holds for every region of the same structure: it does not depend on the
// values of weights. What the reference cannot run fails: it cannot be proved.
// throws  Error{kInvalidArgument} for an unknown tolerance; Error{kNotFound, kPluginFailed} if the
//         plugin cannot be opened; Error{kIo, kBusy, kCorrupt} from the database
CheckResult check_region(const Region& region, const std::string& plugin,
                         const std::string& tolerance, const CheckContext& context);

// The key of everything that is stored about a region on a plugin of this host.
MeasurementKey region_key(MeasurementKind kind, const Region& region, const std::string& plugin,
                          PluginHost& host);

// For region inputs that index (Gather, …): the largest number they may hold.
MaxValues index_limits(const Region& region);

}  // namespace inlay
