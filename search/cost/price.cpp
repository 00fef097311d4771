#include "search/cost/price.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "core/base/error.h"
#include "search/cost/boundary.h"
#include "search/cost/meter.h"
#include "search/cost/wake.h"
#include "search/cost/work.h"
#include "search/verify/verify.h"

namespace inlay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A first look at every candidate, and a longer one at those between which the search will have to
// decide.
constexpr double kFirstSeconds = 0.1;
constexpr double kSecondSeconds = 0.2;

// Not looked at further when all samples so far are this many times the best of its group.
constexpr double kLosingRatio = 1.2;

// A candidate this many times slower than the best of its group is timed once.
constexpr double kGiveUpRatio = 10;
// But not below this: a first run pays for untouched pages and lazy set-up, which for short work is
// most of it, and measuring short work costs little.
constexpr double kLeastGiveUpNs = 5e6;

// Enough to tell rivals apart; the two that matter meet again in the race.
constexpr double kTargetInterval = 0.05;
// Enough for what hardly matters: an interval of this share of the whole model's time, for all the
// places together where the region occurs.
constexpr double kNegligibleShare = 5e-4;
constexpr int kLeastSamples = 6;  // for an interval of the median

// Work below this, and not this much slower than the best of its group, is measured on one thread
// too: waking another costs some microseconds.
constexpr double kSmallNs = 200e3;
constexpr double kRivalRatio = 1.1;
// By which one thread must be better, since the better of two noisy times flatters.
constexpr double kClearGain = 0.03;

// Looked at again: spread above this share of the time, and not this much slower than the best of
// its group.
constexpr double kWideSpread = 0.05;
constexpr double kCompetitiveRatio = 1.25;

// An engine that takes this many times what others need for the single nodes of a region is not
// asked about its parts: each would have to be compiled, and the whole is where engines gain most.
constexpr double kHopelessRatio = 2;

double best_of(const WorkGroup& group) {
  double best = kInfinity;
  for (const Work& work : group.works) {
    if (work.result.cost) best = std::min(best, work.result.cost->ns);
  }
  return best;
}

// How much slower than the best of each group a plugin was so far in a layout, as a geometric mean;
// the order in which rivals are tried comes from it, because the sooner the best is known, the more
// of the others are timed a few times only.
class Form {
 public:
  void learn(const WorkGroup& group) {
    const double best = best_of(group);
    for (const Work& work : group.works) {
      if (!work.result.cost || best <= 0) continue;
      auto& [sum, count] = logs_[way_of(work)];
      sum += std::log(work.result.cost->ns / best);
      ++count;
    }
  }

  // Works of the group, most promising first. The reference, written to be right, comes last.
  std::vector<Work*> order(WorkGroup& group) const {
    std::vector<Work*> works;
    for (Work& work : group.works) works.push_back(&work);
    std::stable_sort(works.begin(), works.end(), [this](const Work* a, const Work* b) {
      return std::make_tuple(a->plugin == kReferencePlugin, mean(way_of(*a))) <
             std::make_tuple(b->plugin == kReferencePlugin, mean(way_of(*b)));
    });
    return works;
  }

 private:
  using Way = std::pair<std::string, std::string>;  // plugin, layout of the first output

  static Way way_of(const Work& work) {
    const Region& region = work.region;
    const auto output = static_cast<std::size_t>(region.outputs.front());
    return {work.plugin, region.values[output].layout.text()};
  }

  double mean(const Way& way) const {
    const auto found = logs_.find(way);
    return found == logs_.end() ? 0 : found->second.first / found->second.second;
  }

  std::map<Way, std::pair<double, int>> logs_;  // sum of logarithms, count
};

class Pricer {
 public:
  Pricer(const Graph& graph, const Candidates& candidates, const PriceContext& context)
      : graph_(graph), candidates_(candidates), context_(context), meter_(context) {}

  Priced run() {
    groups_ = group_work(graph_, candidates_, meter_);
    meter_.expect_more(1);  // dispatch
    for (const WorkGroup& group : groups_) meter_.expect_more(static_cast<int>(group.works.size()));
    overhead_ = price_dispatch(meter_);
    wake_ns_ = price_wake(meter_);
    cover_nodes();
    note_covered();
    largest_first();
    for (WorkGroup& group : groups_) price_group(group);
    for (WorkGroup& group : groups_) refine(group);
    for (WorkGroup& group : groups_) try_one_thread(group);

    Priced priced;
    priced.costs.dispatch_ns = overhead_.dispatch_ns;
    priced.costs.wake_ns = wake_ns_;
    priced.costs.candidates = candidate_costs();
    check_nodes(priced.costs.candidates);
    const std::vector<ConversionWork> conversions =
        needed_conversions(graph_, candidates_, priced.costs.candidates);
    meter_.expect_more(static_cast<int>(conversions.size()));
    priced.costs.conversions =
        price_conversions(conversions, kNegligibleShare * covered_ns_, meter_);
    priced.stats = meter_.stats();
    priced.stats.seconds = meter_.seconds();
    return priced;
  }

 private:
  // Whether the budget may leave it out.
  enum class Need { kOptional, kRequired };

  // One way to run each node first of all, whatever the budget, so that there is always a plan.
  void cover_nodes() {
    for (WorkGroup& group : groups_) {
      if (group.nodes != 1) continue;
      for (Work* work : form_.order(group)) {
        price_work(*work, kInfinity, Need::kRequired);
        if (work->result.cost) break;
      }
    }
    cover_left_nodes();
  }

  // A pin to a plugin that takes a node with others only leaves no way to run it alone.
  void cover_left_nodes() {
    std::vector<bool> is_covered(static_cast<std::size_t>(graph_.node_count()));
    const auto cover = [&](const Candidate& c) {
      for (const NodeId node : c.nodes) is_covered[static_cast<std::size_t>(node.index)] = true;
    };
    for (const Candidate& c : candidates_.list) {
      if (c.plugin == kViewPlugin) cover(c);
    }
    const auto cover_with = [&](const Work& work) {
      for (const int id : work.candidates) cover(candidate(id));
    };
    const auto adds_nodes = [&](const Work& work) {
      return std::any_of(work.candidates.begin(), work.candidates.end(), [&](int id) {
        const std::vector<NodeId>& nodes = candidate(id).nodes;
        return std::any_of(nodes.begin(), nodes.end(), [&](NodeId node) {
          return !is_covered[static_cast<std::size_t>(node.index)];
        });
      });
    };
    for (const WorkGroup& group : groups_) {
      for (const Work& work : group.works) {
        if (work.result.cost) cover_with(work);
      }
    }
    for (WorkGroup& group : groups_) {
      for (Work* work : form_.order(group)) {
        if (work->is_done || !adds_nodes(*work)) continue;
        price_work(*work, kInfinity, Need::kRequired);
        if (work->result.cost) cover_with(*work);
      }
    }
  }

  // The time of each node alone, the best way known so far, and so the model's.
  void note_covered() {
    node_ns_.assign(static_cast<std::size_t>(graph_.node_count()), 0);
    for (const WorkGroup& group : groups_) {
      const double best = best_of(group);
      if (group.nodes != 1 || std::isinf(best)) continue;
      for (const Work& work : group.works) {
        for (const int id : work.candidates) {
          node_ns_[static_cast<std::size_t>(candidate(id).nodes.front().index)] = best;
        }
      }
    }
    covered_ns_ = std::accumulate(node_ns_.begin(), node_ns_.end(), 0.0);
  }

  const Candidate& candidate(int id) const {
    return candidates_.list[static_cast<std::size_t>(id)];
  }

  // What a library fuses is what it is good at: should the budget end early, that was tried.
  void largest_first() {
    std::stable_sort(groups_.begin(), groups_.end(),
                     [](const WorkGroup& a, const WorkGroup& b) { return a.nodes > b.nodes; });
  }

  // What covers the whole graph, an engine as a rule, is a rival of every placement: it is measured
  // whatever the budget.
  void price_group(WorkGroup& group) {
    const auto all = static_cast<std::size_t>(graph_.node_count());
    const bool is_whole = group.nodes == all && all > 1;
    for (Work* work : form_.order(group)) {
      if (work->is_done || is_hopeless(*work)) continue;
      price_work(*work, best_of(group), is_whole ? Need::kRequired : Need::kOptional);
      note_engine(*work);
    }
    form_.learn(group);
  }

  // What an engine took for a region, against the nodes alone.
  void note_engine(const Work& work) {
    const std::vector<NodeId>& nodes = candidate(work.candidates.front()).nodes;
    if (candidate(work.candidates.front()).onnx_opset == 0 || !work.result.cost) return;
    double alone_ns = 0;
    for (const NodeId node : nodes) alone_ns += node_ns_[static_cast<std::size_t>(node.index)];
    if (alone_ns <= 0) return;
    const double ratio = kept_ratio(work, work.result.cost->ns / alone_ns);
    for (const int id : work.candidates) {
      tried_engines_.push_back({work.plugin, &candidate(id).nodes, ratio});
    }
  }

  // The ratio of the first time, so that a later placement leaves out the same parts although the
  // times it was made of have been measured better since.
  double kept_ratio(const Work& work, double ratio) {
    MeasurementKey key = work.key;
    key.kind = MeasurementKind::kCheck;
    key.knobs = "against its nodes alone";
    if (const auto known = context_.database.find(key)) return known->cost.ns;
    context_.database.put(key, {.cost = {ratio, ratio, ratio, 1}});
    return ratio;
  }

  // The smallest of the engine's regions around it decides; larger ones come first.
  bool is_hopeless(Work& work) {
    const Candidate& c = candidate(work.candidates.front());
    if (c.onnx_opset == 0 || !work.refused.empty()) return false;
    if (context_.database.find(work.key)) return false;
    const auto around =
        std::find_if(tried_engines_.rbegin(), tried_engines_.rend(), [&](const TriedEngine& tried) {
          return tried.plugin == work.plugin &&
                 std::includes(tried.nodes->begin(), tried.nodes->end(), c.nodes.begin(),
                               c.nodes.end());
        });
    if (around == tried_engines_.rend() || around->ratio < kHopelessRatio) return false;
    work.is_done = true;
    work.result.origin = CostOrigin::kHopeless;
    work.result.reason = fmt::format(
        "not measured: a region of {} nodes around it took {:.1f} times what its nodes take alone",
        around->nodes->size(), around->ratio);
    meter_.advance();
    return true;
  }

  void price_work(Work& work, double best_ns, Need need) {
    meter_.check_cancelled();
    meter_.report(fmt::format("{} on {}", summary(work.region), work.plugin));
    work.is_done = true;
    meter_.advance();
    if (!work.refused.empty()) {
      work.result = {{}, work.refused, CostOrigin::kFailed};
      return;
    }
    if (const std::optional<Measurement> known = meter_.find(work.key)) {
      return take(work, *known, CostOrigin::kDatabase);
    }
    if (std::string why = meter_.standing().why_out(work.plugin); !why.empty()) {
      work.result.reason = std::move(why);
      return;
    }
    if (need == Need::kOptional && meter_.is_budget_spent()) {
      work.result.reason = kBudgetReason;
      return;
    }
    const CheckResult check = check_region(work.region, work.plugin, work.tolerance,
                                           {context_.host, context_.database, context_.worker,
                                            context_.seed, &expected_, context_.start_patience});
    if (!check.is_ok()) return take_failure(work, check);
    measure(work, kFirstSeconds, kLosingRatio * best_ns,
            std::max(kGiveUpRatio * best_ns, kLeastGiveUpNs));
    work.is_new = true;
  }

  void measure(Work& work, double seconds, double rival_ns, double give_up_ns) {
    MeasureRequest request;
    request.seed = context_.seed;
    request.max_values = index_limits(work.region);
    request.options.max_seconds = seconds;
    request.options.min_samples = kLeastSamples;
    request.options.target_relative_ci = kTargetInterval;
    request.options.target_ci_ns = negligible_ns(work);
    request.options.rival_ns = rival_ns;
    request.options.give_up_ns = give_up_ns;
    request.options.elsewhere_bytes = elsewhere_bytes_;
    take(work,
         meter_.measure(work.key, lower_region(work.region, work.plugin, context_.host), request),
         CostOrigin::kMeasured);
  }

  double negligible_ns(const Work& work) const {
    return kNegligibleShare * covered_ns_ / static_cast<double>(work.candidates.size());
  }

  void take(Work& work, const Measurement& m, CostOrigin origin) {
    work.result = {};
    if (m.status == MeasurementStatus::kOk) {
      work.result = {m.cost, "", origin};
      return;
    }
    fail(work, m.status, m.reason);
  }

  void take_failure(Work& work, const CheckResult& check) {
    if (check.from_database) ++meter_.stats().from_database;
    meter_.count(check.status);
    fail(work, check.status, check.reason);
  }

  void fail(Work& work, MeasurementStatus status, const std::string& reason) {
    const bool is_decline = status == MeasurementStatus::kDeclined;
    work.result = {{}, reason, is_decline ? CostOrigin::kDeclined : CostOrigin::kFailed};
    meter_.standing().count(work.plugin, status, summary(work.region), reason);
  }

  // A second, longer look where the first was too vague to choose by.
  void refine(WorkGroup& group) {
    for (Work& work : group.works) {
      if (!work.result.cost || meter_.is_budget_spent()) continue;
      const Cost& cost = *work.result.cost;
      const bool is_vague = work.is_new && cost.high_ns - cost.low_ns >
                                               std::max(kWideSpread * cost.ns, negligible_ns(work));
      const bool is_glimpse = cost.samples == 1;  // given up against a rival that may be gone
      const bool is_competitive = cost.ns <= kCompetitiveRatio * best_of(group);
      if (!is_competitive || (!is_vague && !is_glimpse)) continue;
      meter_.report(fmt::format("again {} on {}", summary(work.region), work.plugin));
      measure(work, kSecondSeconds, kInfinity, kInfinity);
    }
  }

  void try_one_thread(WorkGroup& group) {
    if (context_.host.threads() == 1) return;
    const double limit_ns = std::min(kSmallNs, kRivalRatio * best_of(group));
    for (Work& work : group.works) {
      if (!work.result.cost || work.result.cost->ns > limit_ns) continue;
      const PluginRecord* plugin = context_.host.find(work.plugin);
      if (plugin == nullptr || plugin->manifest.threads == "fixed") continue;
      if (meter_.standing().why_out(work.plugin).empty()) try_one_thread(work);
    }
  }

  // What fails on one thread only is no way to run it, and no fault of the other.
  void try_one_thread(Work& work) {
    Work alone = work;
    alone.region.most_threads = 1;
    alone.key = region_key(MeasurementKind::kMeasure, alone.region, work.plugin, context_.host);
    alone.key.knobs = work.key.knobs;
    alone.is_done = false;
    alone.result = {};
    meter_.expect_more(1);
    price_work(alone, work.result.cost->ns, Need::kOptional);
    if (!alone.result.cost) return;
    if (alone.result.cost->ns > (1 - kClearGain) * work.result.cost->ns) return;
    work.result.cost = alone.result.cost;
    work.result.most_threads = 1;
  }

  // After which the host's threads have to be woken.
  bool has_own_threads(const Work& work) const {
    const PluginRecord* plugin = context_.host.find(work.plugin);
    return plugin != nullptr && plugin->manifest.threads != "host-pool" &&
           work.result.most_threads != 1;
  }

  // Measured alone a region contains what the executor does around one step; the table holds the
  // work itself, and what it leaves to the next.
  Cost in_place(Cost cost, bool has_own_threads) const {
    constexpr double kLeast = 1;  // a region takes some time, whatever the clock's noise says
    for (double* ns : {&cost.ns, &cost.low_ns, &cost.high_ns})
      *ns = std::max(*ns - overhead_.run_ns, kLeast) + (has_own_threads ? wake_ns_ : 0);
    return cost;
  }

  std::vector<CandidateCost> candidate_costs() const {
    std::vector<CandidateCost> costs(candidates_.list.size());
    for (std::size_t id = 0; id < costs.size(); ++id) {
      if (candidates_.list[id].plugin == kViewPlugin) {
        costs[id] = {Cost{0, 0, 0, 1}, "", CostOrigin::kFree};
      }
    }
    for (const WorkGroup& group : groups_) {
      for (const Work& work : group.works) {
        CandidateCost result = work.result;
        if (result.cost) result.cost = in_place(*result.cost, has_own_threads(work));
        for (const int id : work.candidates) costs[static_cast<std::size_t>(id)] = result;
      }
    }
    return costs;
  }

  void check_nodes(const std::vector<CandidateCost>& costs) const {
    for (std::int32_t n = 0; n < graph_.node_count(); ++n) {
      const std::vector<int>& ids = candidates_.by_node[static_cast<std::size_t>(n)];
      const bool is_priced = std::any_of(ids.begin(), ids.end(), [&](int id) {
        return costs[static_cast<std::size_t>(id)].cost.has_value();
      });
      if (is_priced) continue;
      const Node& node = graph_.node({n});
      std::string reasons;
      for (const int id : ids) {
        const Candidate& candidate = candidates_.list[static_cast<std::size_t>(id)];
        reasons += fmt::format("\n  {} ({}): {}", candidate.plugin, candidate.pattern,
                               costs[static_cast<std::size_t>(id)].reason);
      }
      throw Error(Code::kUnsupported,
                  fmt::format("{} '{}': no plugin can be used for it:{}", node.op, node.name,
                              reasons.empty() ? " none declares it" : reasons));
    }
  }

  const Graph& graph_;
  const Candidates& candidates_;
  const PriceContext& context_;
  const std::int64_t elsewhere_bytes_ = bytes_between_runs(graph_);
  Meter meter_;
  ExpectedCache expected_;
  std::vector<WorkGroup> groups_;
  StepOverhead overhead_;
  double wake_ns_ = 0;
  double covered_ns_ = 0;  // 0 until each node has a way to run
  std::vector<double> node_ns_;
  struct TriedEngine {
    std::string plugin;
    const std::vector<NodeId>* nodes;
    double ratio;  // of its time to that of the nodes alone
  };
  std::vector<TriedEngine> tried_engines_;
  Form form_;
};

}  // namespace

Priced price(const Graph& graph, const Candidates& candidates, const PriceContext& context) {
  return Pricer(graph, candidates, context).run();
}

}  // namespace inlay
