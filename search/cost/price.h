// Prices everything a search may choose: each candidate proved right and measured (or found in the
// database), each layout conversion, and the executor's dispatch.
//
//   CostTable costs = price(graph, candidates, {.host = host, .database = db, .worker = worker,
//   .progress = progress});
//
// Measuring happens in the worker, by the executor itself. Equal regions are measured once. A
// candidate is checked against the reference before its time may be used (search/verify); what
// declines, fails, crashes or hangs has no cost and keeps its reason. A candidate ten times slower
// than the best for the same nodes so far is timed once, one clearly slower a few times.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>

#include "core/base/log.h"
#include "core/host/plugin_host.h"
#include "search/candidates/candidates.h"
#include "search/cost/cost_table.h"
#include "search/verify/patience.h"

namespace inlay {

class CostDatabase;
class WorkerClient;

// Called from the pricing thread as work goes on: `done` of `total` measurements, what is being
// measured.
using PriceProgress = std::function<void(int done, int total, const std::string& what)>;

struct PriceContext {
  PluginHost& host;
  CostDatabase& database;
  WorkerClient& worker;
  Log& log;
  PriceProgress progress;
  // 0: none. When spent, the rest stays unpriced with that reason, but for one way to run each
  // node and what runs the whole graph at once.
  std::chrono::milliseconds budget{0};
  const std::atomic<bool>* cancelled = nullptr;
  std::uint64_t seed = 1;
  std::chrono::milliseconds start_patience = kStartPatience;  // see patience.h
};

struct PriceStats {
  int measured = 0;  // new measurements made
  int from_database = 0;
  int declined = 0;
  int failed = 0;  // wrong result, crash, hang
  double seconds = 0;
};

struct Priced {
  CostTable costs;
  PriceStats stats;
};

// throws  Error{kUnsupported} naming a node left with no priced candidate, with each reason;
//         Error{kCancelled}; Error{kIo, kBusy, kCorrupt} from the database
Priced price(const Graph& graph, const Candidates& candidates, const PriceContext& context);

}  // namespace inlay
