#include "search/cost/work.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/error.h"
#include "core/run/measure.h"
#include "search/cost/meter.h"
#include "search/verify/verify.h"

namespace inlay {
namespace {

// The region's work without what a plugin adds to it.
Hash work_hash(Region region) {
  region.pattern.clear();
  for (RegionValue& value : region.values) {
    value.port.clear();
    value.layout = Layout::dense(static_cast<int>(value.type.shape.size()));
  }
  return region_hash(region, /*with_constants=*/false);
}

Work make_work(Region region, const Candidate& candidate, const std::string& knobs, Meter& meter) {
  Work work;
  work.plugin = candidate.plugin;
  work.tolerance = candidate.tolerance;
  work.refused = meter.why_unopened(candidate.plugin);
  try {
    if (work.refused.empty()) {
      work.key =
          region_key(MeasurementKind::kMeasure, region, candidate.plugin, meter.context().host);
      work.key.knobs = knobs;
    }
  } catch (const Error& error) {  // trial run of a candidate: its plugin cannot be opened
    work.refused = error.what();
  }
  work.region = std::move(region);
  return work;
}

}  // namespace

std::int64_t bytes_between_runs(const Graph& graph) {
  constexpr std::int64_t kLeast = MeasureOptions{}.elsewhere_bytes;
  constexpr std::int64_t kMost = std::int64_t{64} << 20;
  std::int64_t total = 0;
  for (std::int32_t v = 0; v < graph.value_count() && total < kMost; ++v) {
    const Value& value = graph.value({v});
    if (value.constant) total += static_cast<std::int64_t>(value.constant->size_bytes());
  }
  std::int64_t bytes = kLeast;
  while (bytes < std::min(total, kMost)) bytes *= 2;
  return bytes;
}

std::vector<WorkGroup> group_work(const Graph& graph, const Candidates& candidates, Meter& meter) {
  const std::string knobs = fmt::format("{} MiB between runs", bytes_between_runs(graph) >> 20);
  std::vector<WorkGroup> groups;
  std::map<Hash, std::size_t> group_of;
  std::map<std::pair<std::string, Hash>, std::pair<std::size_t, std::size_t>> work_of;
  for (std::size_t id = 0; id < candidates.list.size(); ++id) {
    const Candidate& candidate = candidates.list[id];
    if (candidate.plugin == kViewPlugin) continue;
    Region region = make_region(graph, candidate);
    const Hash hash = region_hash(region, /*with_constants=*/false);
    const auto known = work_of.find({candidate.plugin, hash});
    if (known != work_of.end()) {
      const auto [group, work] = known->second;
      groups[group].works[work].candidates.push_back(static_cast<int>(id));
      continue;
    }
    const auto [entry, is_new] = group_of.try_emplace(work_hash(region), groups.size());
    if (is_new) groups.push_back({{}, candidate.nodes.size()});
    WorkGroup& group = groups[entry->second];
    work_of[{candidate.plugin, hash}] = {entry->second, group.works.size()};
    group.works.push_back(make_work(std::move(region), candidate, knobs, meter));
    group.works.back().candidates.push_back(static_cast<int>(id));
  }
  return groups;
}

std::vector<ConversionWork> needed_conversions(const Graph& graph, const Candidates& candidates,
                                               const std::vector<CandidateCost>& costs) {
  using Layouts = std::map<std::string, Layout>;  // by text: a deterministic order
  std::map<ValueId, Layouts> produced;
  std::map<ValueId, Layouts> read;
  const auto add_dense = [&graph](std::map<ValueId, Layouts>& into, ValueId id) {
    const Layout dense = Layout::dense(static_cast<int>(graph.value(id).type.shape.size()));
    into[id].emplace(dense.text(), dense);
  };
  for (const ValueId id : graph.inputs()) add_dense(produced, id);
  for (const ValueId id : graph.outputs()) add_dense(read, id);
  for (std::size_t c = 0; c < candidates.list.size(); ++c) {
    if (!costs[c].cost) continue;
    const Candidate& candidate = candidates.list[c];
    for (std::size_t i = 0; i < candidate.inputs.size(); ++i) {
      read[candidate.inputs[i]].emplace(candidate.input_layouts[i].text(),
                                        candidate.input_layouts[i]);
    }
    for (std::size_t i = 0; i < candidate.outputs.size(); ++i) {
      produced[candidate.outputs[i]].emplace(candidate.output_layouts[i].text(),
                                             candidate.output_layouts[i]);
    }
  }
  std::vector<ConversionWork> needed;
  std::set<ConversionKey> seen;
  for (const auto& [id, sources] : produced) {
    const TensorType& type = graph.value(id).type;
    for (const auto& [from_text, from] : sources) {
      for (const auto& [to_text, to] : read[id]) {
        if (from_text == to_text || !seen.insert({to_string(type), from_text, to_text}).second)
          continue;
        needed.push_back({type, from, to});
      }
    }
  }
  return needed;
}

}  // namespace inlay
