// What price() has to measure: equal regions of one plugin once, and together those that do the
// same work. Private to search/cost.
#pragma once

#include <string>
#include <vector>

#include "core/host/plugin_host.h"
#include "search/candidates/candidates.h"
#include "search/cost/cost_table.h"
#include "search/cost/database.h"

namespace inlay {

class Meter;

// Equal regions on one plugin: one measurement serves all of them.
struct Work {
  Region region;
  std::string plugin;
  std::string tolerance;
  std::vector<int> candidates;  // ids; the first is the one measured
  MeasurementKey key;           // kind kMeasure; knobs say what is read between runs
  std::string refused;          // set if the plugin could not be opened
  bool is_done = false;
  bool is_new = false;  // measured now, not found in the database
  CandidateCost result;
};

// The same operators on the same shapes, whatever the plugin, pattern and layouts: rivals for the
// same nodes.
struct WorkGroup {
  std::vector<Work> works;
  std::size_t nodes = 0;  // that each region covers
};

// What a run of the model reads between two runs of one region: its constants, rounded up to a
// power of two, so that models of about one size share measurements; from the cores' own caches up
// to what exceeds any shared one.
std::int64_t bytes_between_runs(const Graph& graph);

// Groups in the order of their first candidate; works likewise. Views are left out: they cost
// nothing.
std::vector<WorkGroup> group_work(const Graph& graph, const Candidates& candidates, Meter& meter);

// A conversion that some placement may need.
struct ConversionWork {
  TensorType type;
  Layout from;
  Layout to;
};

// For each value: from every layout in which a priced candidate produces it to every layout in
// which one reads it. Graph inputs and outputs are dense.
std::vector<ConversionWork> needed_conversions(const Graph& graph, const Candidates& candidates,
                                               const std::vector<CandidateCost>& costs);

}  // namespace inlay
