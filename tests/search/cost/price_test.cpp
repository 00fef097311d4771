#include "search/cost/price.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "core/base/error.h"
#include "search/cost/quarantine.h"
#include "search/cost/race.h"
#include "tests/search/cost/rivals/rival_test.h"

namespace inlay {
namespace {

TensorType f32(Shape shape) { return {DType::kF32, std::move(shape)}; }

// Three equal Relus in a row.
Graph relus(std::int64_t width = 64) {
  GraphBuilder b("relus");
  const ValueId x = b.input("x", f32({width, width}));
  const ValueId second = b.node("r2", "Relu", {b.node("r1", "Relu", {x})});
  b.output(b.node("r3", "Relu", {second}));
  return b.build();
}

// Relus of as many different sizes, each a region of its own.
Graph sizes(int count) {
  GraphBuilder b("sizes");
  for (int i = 1; i <= count; ++i) {
    b.output(
        b.node("r" + std::to_string(i), "Relu", {b.input("x" + std::to_string(i), f32({8, i}))}));
  }
  return b.build();
}

class PriceTest : public RivalTest {
 protected:
  // Id of the first candidate of this plugin.
  static std::size_t candidate_of(const Candidates& candidates, const std::string& plugin) {
    const auto found = std::find_if(candidates.list.begin(), candidates.list.end(),
                                    [&](const Candidate& c) { return c.plugin == plugin; });
    EXPECT_NE(found, candidates.list.end()) << plugin;
    return static_cast<std::size_t>(found - candidates.list.begin());
  }

  const Graph graph_ = relus();
};

TEST_F(PriceTest, MeasuresEqualRegionsOnce) {
  use({"good"});
  const Candidates candidates = find_candidates(graph_, *host_);
  const Priced priced = price(graph_, candidates, context());
  ASSERT_EQ(priced.costs.candidates.size(), candidates.list.size());
  for (const CandidateCost& cost : priced.costs.candidates) {
    ASSERT_TRUE(cost.cost) << cost.reason;
    EXPECT_GT(cost.cost->ns, 0);
    EXPECT_LE(cost.cost->low_ns, cost.cost->ns);
    EXPECT_GE(cost.cost->high_ns, cost.cost->ns);
  }
  int rows = 0;
  database_->for_each([&rows](const MeasurementKey& key, const Measurement&) {
    rows += key.kind == MeasurementKind::kMeasure;
  });
  EXPECT_EQ(rows, 2);  // one on each plugin
}

TEST_F(PriceTest, TakesOneThreadWhereThatIsFaster) {
  use({"crowded"}, 2);
  const Graph small = sizes(1);  // short under a sanitizer too
  const Candidates candidates =
      find_candidates(small, *host_, {.exclude = {"reference"}, .pins = {}});
  const Priced first = price(small, candidates, context());
  const Priced second = price(small, candidates, context());
  EXPECT_EQ(second.stats.measured, 0);
  for (const Priced& priced : {first, second}) {
    const CandidateCost& cost = priced.costs.candidates[candidate_of(candidates, "crowded")];
    ASSERT_TRUE(cost.cost) << cost.reason;
    EXPECT_EQ(cost.most_threads, 1);
  }
}

TEST_F(PriceTest, SecondRunMeasuresNothing) {
  use({"good", "wrong", "decliner"});
  const Candidates candidates = find_candidates(graph_, *host_);
  const Priced first = price(graph_, candidates, context());
  EXPECT_GT(first.stats.measured, 0);
  EXPECT_EQ(first.stats.from_database, 0);
  const int starts = worker_->starts();
  const Priced second = price(graph_, candidates, context());
  EXPECT_EQ(second.stats.measured, 0);
  EXPECT_GT(second.stats.from_database, 0);
  EXPECT_EQ(worker_->starts(), starts);
  for (std::size_t i = 0; i < candidates.list.size(); ++i) {
    EXPECT_EQ(second.costs.candidates[i].cost.has_value(),
              first.costs.candidates[i].cost.has_value());
    if (second.costs.candidates[i].cost) {
      EXPECT_EQ(second.costs.candidates[i].cost->ns, first.costs.candidates[i].cost->ns);
    }
    EXPECT_EQ(second.costs.candidates[i].reason, first.costs.candidates[i].reason);
  }
}

TEST_F(PriceTest, PartsOfARegionOnWhichAnEngineIsHopelessAreNotMeasured) {
  use({"engine", "slow_engine"});
  const Graph wide = relus(512);  // whose parts are worth a call
  const Candidates candidates = find_candidates(wide, *host_);
  const Priced priced = price(wide, candidates, context());
  int parts = 0;
  for (std::size_t id = 0; id < candidates.list.size(); ++id) {
    const Candidate& c = candidates.list[id];
    const CandidateCost& cost = priced.costs.candidates[id];
    const bool is_part = c.plugin == "slow_engine" && c.nodes.size() < 3;
    parts += is_part ? 1 : 0;
    EXPECT_EQ(cost.cost.has_value(), !is_part) << c.plugin << ": " << cost.reason;
    if (!is_part) continue;
    EXPECT_EQ(cost.reason.find("not measured: a region of 3 nodes around it took "), 0u)
        << cost.reason;
    EXPECT_EQ(cost.origin, CostOrigin::kHopeless);
  }
  EXPECT_GT(parts, 0);
}

// Such a library must never be loaded into this process.
TEST_F(PriceTest, LeavesAPluginOutThatCrashesWhenLoaded) {
  use({"stillborn", "good"});
  const Candidates candidates = find_candidates(graph_, *host_);
  const Priced priced = price(graph_, candidates, context());
  const CandidateCost& cost = priced.costs.candidates[candidate_of(candidates, "stillborn")];
  EXPECT_FALSE(cost.cost);
  EXPECT_NE(cost.reason.find("cannot be opened: crashed"), std::string::npos) << cost.reason;
  EXPECT_TRUE(priced.costs.candidates[candidate_of(candidates, "good")].cost);
  // Once for all its candidates.
  EXPECT_EQ(log_.lines.size(), 1u);
}

TEST_F(PriceTest, LeavesAPluginOutThatEndsTheProcess) {
  use({"quitter"});
  const Candidates candidates = find_candidates(graph_, *host_);
  const Priced priced = price(graph_, candidates, context());
  const CandidateCost& cost = priced.costs.candidates[candidate_of(candidates, "quitter")];
  EXPECT_FALSE(cost.cost);
  EXPECT_EQ(cost.reason, "crashed: exit status 0, running Relu(x) -> f32[64x64]");
}

// What the machine did to a plugin is no verdict on it.
TEST_F(PriceTest, TriesAgainNextTimeWhatFailedForTheMachinesSake) {
  const std::pair<const char*, const char*> moods[] = {
      {"out of memory", "failed: "},
      {"killed", "crashed: signal 9"},
      {"terminated", "crashed: signal 15"},
      {"stopped", "hung: no answer in "},
  };
  for (const auto& [mood, reason] : moods) {
    SCOPED_TRACE(mood);
    ASSERT_EQ(::setenv("INLAY_TEST_MOOD", mood, 1), 0);
    use({"moody"});
    const Candidates candidates = find_candidates(graph_, *host_);
    PriceContext impatient = context();
    // Enough to load a library of this size on a busy machine.
    impatient.start_patience = std::chrono::milliseconds(2000);
    const Priced first = price(graph_, candidates, impatient);
    const CandidateCost& failed = first.costs.candidates[candidate_of(candidates, "moody")];
    EXPECT_FALSE(failed.cost);
    EXPECT_TRUE(failed.reason.starts_with(reason)) << failed.reason;
    EXPECT_TRUE(failed.reason.ends_with("(not kept: the next placement tries again)"))
        << failed.reason;
    EXPECT_EQ(log_.lines.size(), 1u);
    log_.lines.clear();

    ASSERT_EQ(::unsetenv("INLAY_TEST_MOOD"), 0);
    use({"moody"});
    const Priced second = price(graph_, candidates, context());
    const CandidateCost& cost = second.costs.candidates[candidate_of(candidates, "moody")];
    EXPECT_TRUE(cost.cost) << cost.reason;
    database_->clear("moody");
  }
}

TEST_F(PriceTest, TriesAPluginThatCrashesThreeTimesAndNoMore) {
  const Graph graph = sizes(6);
  use({"crasher"});
  const Candidates candidates = find_candidates(graph, *host_);
  for (int run = 0; run < 2; ++run) {  // the second has the crashes from the database
    log_.lines.clear();
    const int starts = worker_->starts();
    const Priced priced = price(graph, candidates, context());
    int crashed = 0;
    int left_out = 0;
    for (std::size_t i = 0; i < candidates.list.size(); ++i) {
      if (candidates.list[i].plugin != "crasher") continue;
      const std::string& reason = priced.costs.candidates[i].reason;
      crashed += reason.starts_with(run == 0 ? "crashed: " : "in quarantine ");
      left_out += reason == "not tried: the plugin crashed 3 times before";
    }
    EXPECT_EQ(crashed, 3);
    EXPECT_EQ(left_out, 3);
    ASSERT_EQ(log_.lines.size(), 3u);
    EXPECT_TRUE(
        log_.lines.back().starts_with("plugin left out of the rest: it crashed or hung too often "
                                      "plugin=crasher crashes=3 hangs=0"))
        << log_.lines.back();
    if (run == 1) {
      EXPECT_EQ(worker_->starts(), starts);
    }
  }
}

TEST_F(PriceTest, WarnsOfAWrongPluginAFewTimesOnly) {
  const Graph graph = sizes(8);
  use({"wrong"});
  price(graph, find_candidates(graph, *host_), context());
  ASSERT_EQ(log_.lines.size(), 4u);
  EXPECT_EQ(log_.lines.back(),
            "more candidates left out; the report has every reason plugin=wrong");
}

TEST_F(PriceTest, TriesAPluginThatHangsTwiceAndNoMore) {
  const Graph graph = sizes(4);
  use({"sleeper"});
  PriceContext impatient = context();
  // Enough to load a library of this size on a busy machine.
  impatient.start_patience = std::chrono::milliseconds(2000);
  const Candidates candidates = find_candidates(graph, *host_);
  for (int run = 0; run < 2; ++run) {  // the second has the hangs from the database
    const int starts = worker_->starts();
    const Priced priced = price(graph, candidates, impatient);
    int hung = 0;
    int left_out = 0;
    for (std::size_t i = 0; i < candidates.list.size(); ++i) {
      if (candidates.list[i].plugin != "sleeper") continue;
      const std::string& reason = priced.costs.candidates[i].reason;
      hung += reason.find("hung: no answer in ") != std::string::npos;
      left_out += reason == "not tried: the plugin hung twice before";
    }
    EXPECT_EQ(hung, 2);
    EXPECT_EQ(left_out, 2);
    if (run == 1) {
      EXPECT_EQ(worker_->starts(), starts);
    }
  }
}

TEST_F(PriceTest, LeavesAWrongPluginOutWithTheReason) {
  use({"wrong"});
  const Candidates candidates = find_candidates(graph_, *host_);
  const Priced priced = price(graph_, candidates, context());
  const CandidateCost& cost = priced.costs.candidates[candidate_of(candidates, "wrong")];
  EXPECT_FALSE(cost.cost);
  EXPECT_NE(cost.reason.find("out of bounds"), std::string::npos) << cost.reason;
  EXPECT_EQ(priced.stats.failed, 1);
  ASSERT_FALSE(log_.lines.empty());
  EXPECT_NE(log_.lines.front().find("plugin=wrong"), std::string::npos) << log_.lines.front();
}

TEST_F(PriceTest, KeepsADeclineAsANormalAnswer) {
  use({"decliner"});
  const Candidates candidates = find_candidates(graph_, *host_);
  const Priced priced = price(graph_, candidates, context());
  const CandidateCost& cost = priced.costs.candidates[candidate_of(candidates, "decliner")];
  EXPECT_FALSE(cost.cost);
  EXPECT_NE(cost.reason.find("not today"), std::string::npos) << cost.reason;
  EXPECT_EQ(priced.stats.declined, 1);
  EXPECT_EQ(priced.stats.failed, 0);
  EXPECT_TRUE(log_.lines.empty());
}

TEST_F(PriceTest, SurvivesACrashAndDoesNotTryAgain) {
  use({"crasher", "good"});
  const Candidates candidates = find_candidates(graph_, *host_);
  for (int round = 0; round < 2; ++round) {
    const Priced priced = price(graph_, candidates, context());
    const CandidateCost& cost = priced.costs.candidates[candidate_of(candidates, "crasher")];
    EXPECT_FALSE(cost.cost);
    EXPECT_NE(cost.reason.find("crashed"), std::string::npos) << cost.reason;
    EXPECT_TRUE(priced.costs.candidates[candidate_of(candidates, "good")].cost);
    EXPECT_EQ(priced.stats.measured > 0, round == 0);
  }
  EXPECT_EQ(worker_->starts(), 2);  // the first, and the one after the crash
}

// Said by numbers, before the system ends a process for it.
TEST_F(PriceTest, WhatCrashedStaysInQuarantineOnAnyNumberOfThreadsUntilItIsLifted) {
  const Graph one = sizes(1);
  use({"crasher"}, 1);
  const Candidates candidates = find_candidates(one, *host_);
  const auto reason = [&] {
    return price(one, candidates, context())
        .costs.candidates[candidate_of(candidates, "crasher")]
        .reason;
  };
  EXPECT_TRUE(reason().starts_with("crashed: ")) << reason();
  use({"crasher"}, 2);
  EXPECT_TRUE(reason().starts_with("in quarantine ")) << reason();
  EXPECT_EQ(worker_->starts(), 1);  // nothing crashed
  EXPECT_GT(database_->clear_quarantine(), 0);
  EXPECT_TRUE(reason().starts_with("crashed: ")) << reason();

  // Of another build, or the same region of another plugin's, nothing is known.
  const Quarantine quarantine(*database_);
  const std::string build = host_->find("crasher")->build_id;
  const std::vector<const Quarantine::Entry*> entries = quarantine.of_build(build);
  ASSERT_EQ(entries.size(), 1u);
  const std::string region = entries[0]->key.subject;
  EXPECT_TRUE(quarantine.find(build, region).has_value());
  EXPECT_FALSE(quarantine.find(host_->find("reference")->build_id, region).has_value());
  EXPECT_FALSE(quarantine.find(build, "another region").has_value());
  EXPECT_TRUE(quarantine.of_build("another build").empty());
}

TEST_F(PriceTest, RefusesWhatTheMemoryCannotHold) {
  GraphBuilder b("vast");
  b.output(b.node("r", "Relu", {b.input("x", f32({1 << 20, 1 << 20, 64}))}));
  const Graph graph = b.build();
  use({"good"});
  try {
    price(graph, find_candidates(graph, *host_), context());
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnsupported);
    const std::string text = error.what();
    EXPECT_NE(text.find("running it takes at least 562950.0 GB of memory"), std::string::npos)
        << text;
    EXPECT_NE(text.find("cannot be checked: checking it takes at least"), std::string::npos)
        << text;
  }
  int kept = 0;
  database_->for_each([&kept](const MeasurementKey& key, const Measurement&) {
    kept += key.kind == MeasurementKind::kMeasure;
  });
  EXPECT_EQ(kept, 0);
}

TEST_F(PriceTest, StopsWhenCancelledAndKeepsWhatItHad) {
  use({"good"});
  const Candidates candidates = find_candidates(graph_, *host_);
  std::atomic<bool> cancelled{false};
  PriceContext cancelling{
      .host = *host_,
      .database = *database_,
      .worker = *worker_,
      .log = log_,
      .progress = [&cancelled](int done, int, const std::string&) { cancelled = done >= 2; },
      .cancelled = &cancelled};
  try {
    price(graph_, candidates, cancelling);
    FAIL() << "expected cancellation";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kCancelled);
  }
  const std::int64_t rows = database_->stats().rows;
  EXPECT_GT(rows, 0);
  const Priced resumed = price(graph_, candidates, context());
  EXPECT_GT(resumed.stats.from_database, 0);
}

TEST_F(PriceTest, SpentBudgetLeavesEveryNodeOneWayToRunAndTheRestWithThatReason) {
  use({"good"});
  const Candidates candidates = find_candidates(graph_, *host_);
  PriceContext hurried = context();
  hurried.budget = std::chrono::milliseconds(1);
  const Priced priced = price(graph_, candidates, hurried);
  std::set<NodeId> runnable;
  int left_out = 0;
  for (std::size_t i = 0; i < candidates.list.size(); ++i) {
    const CandidateCost& cost = priced.costs.candidates[i];
    if (cost.cost) {
      runnable.insert(candidates.list[i].nodes.begin(), candidates.list[i].nodes.end());
    } else {
      EXPECT_NE(cost.reason.find("budget"), std::string::npos) << cost.reason;
      ++left_out;
    }
  }
  EXPECT_EQ(runnable.size(), graph_.nodes().size());
  EXPECT_GT(left_out, 0);

  price(graph_, candidates, context());
  // All in the database: no time needed.
  EXPECT_EQ(price(graph_, candidates, hurried).stats.measured, 0);
}

TEST_F(PriceTest, SpentBudgetLeavesEnginesTheWholeGraph) {
  use({"engine"});
  const Graph wide = relus(512);
  const Candidates candidates = find_candidates(wide, *host_);
  PriceContext hurried = context();
  hurried.budget = std::chrono::milliseconds(1);
  const Priced priced = price(wide, candidates, hurried);
  for (std::size_t id = 0; id < candidates.list.size(); ++id) {
    const Candidate& c = candidates.list[id];
    const CandidateCost& cost = priced.costs.candidates[id];
    // One alone may be the way to run its node.
    if (c.nodes.size() > 1) {
      EXPECT_EQ(cost.cost.has_value(), c.nodes.size() == 3) << cost.reason;
    }
  }
}

TEST_F(PriceTest, SpentBudgetLeavesAWayToRunANodeThatIsPinnedToAPluginThatTakesItWithOthersOnly) {
  use({"fuser"});
  Candidates candidates = find_candidates(graph_, *host_);
  // As after a pin of all nodes to a plugin with patterns of several nodes.
  std::erase_if(candidates.list, [](const Candidate& c) { return c.nodes.size() == 1; });
  ASSERT_FALSE(candidates.list.empty());
  candidates.by_node.assign(graph_.nodes().size(), {});
  for (std::size_t id = 0; id < candidates.list.size(); ++id) {
    for (const NodeId node : candidates.list[id].nodes) {
      candidates.by_node[static_cast<std::size_t>(node.index)].push_back(static_cast<int>(id));
    }
  }
  PriceContext hurried = context();
  hurried.budget = std::chrono::milliseconds(1);
  const Priced priced = price(graph_, candidates, hurried);
  std::set<NodeId> runnable;
  for (std::size_t id = 0; id < candidates.list.size(); ++id) {
    if (!priced.costs.candidates[id].cost) continue;
    runnable.insert(candidates.list[id].nodes.begin(), candidates.list[id].nodes.end());
  }
  EXPECT_EQ(runnable.size(), graph_.nodes().size());
}

TEST_F(PriceTest, APluginWithThreadsOfItsOwnPaysForWakingTheHosts) {
  use({"foreigner"}, 2);
  const Graph small = sizes(1);
  const Candidates candidates =
      find_candidates(small, *host_, {.exclude = {"reference"}, .pins = {}});
  const Priced priced = price(small, candidates, context());
  double run_ns = -1;
  std::vector<double> alone_ns;  // with both threads, and with one
  double wake_ns = -1;
  database_->for_each([&](const MeasurementKey& key, const Measurement& m) {
    if (key.subject == "1 steps") run_ns = m.cost.ns;
    if (key.subject == "waking threads") wake_ns = std::max(0.0, m.cost.ns);
    if (key.plugin == "foreigner" && key.kind == MeasurementKind::kMeasure)
      alone_ns.push_back(m.cost.ns);
  });
  EXPECT_EQ(priced.costs.wake_ns, wake_ns);
  const CandidateCost& cost = priced.costs.candidates[candidate_of(candidates, "foreigner")];
  ASSERT_TRUE(cost.cost) << cost.reason;
  // Should noise let one thread look better, nobody sleeps.
  const double wake = cost.most_threads == 0 ? wake_ns : 0;
  EXPECT_TRUE(std::any_of(alone_ns.begin(), alone_ns.end(), [&](double ns) {
    return std::abs(cost.cost->ns - (ns - run_ns + wake)) < 1e-3;
  })) << cost.cost->ns << " from " << run_ns << " and " << wake;
}

TEST_F(PriceTest, NothingHasToWakeOnOneThread) {
  use({"foreigner"}, 1);
  const Candidates candidates = find_candidates(graph_, *host_);
  EXPECT_EQ(price(graph_, candidates, context()).costs.wake_ns, 0);
}

// Each node one way first; then what a library fuses, before other ways to run single nodes.
TEST_F(PriceTest, TriesLargeRegionsSoonAfterEachNodeHasAWayToRun) {
  use({"fuser"});
  const Candidates candidates = find_candidates(graph_, *host_);
  std::vector<std::string> tried;
  PriceContext watched = context();
  watched.progress = [&tried](int, int, const std::string& what) { tried.push_back(what); };
  price(graph_, candidates, watched);
  ASSERT_GE(tried.size(), 4);
  EXPECT_EQ(tried[0], "dispatch");
  EXPECT_EQ(tried[1], "Relu(x) -> f32[64x64] on fuser");
  EXPECT_EQ(tried[2], "Relu(Relu(x)) -> f32[64x64] on fuser");
  EXPECT_EQ(tried[3], "Relu(x) -> f32[64x64] on reference");
}

TEST_F(PriceTest, ReportsProgressThatEndsWhereItSaid) {
  use({"good"});
  const Candidates candidates = find_candidates(graph_, *host_);
  PriceContext watched = context();
  int last_done = -1;
  int last_total = 0;
  watched.progress = [&](int done, int total, const std::string& what) {
    EXPECT_GE(done, last_done);
    EXPECT_LE(done, total);
    EXPECT_FALSE(what.empty());
    last_done = done;
    last_total = total;
  };
  price(graph_, candidates, watched);
  EXPECT_EQ(last_total, 3);  // dispatch, and Relu on two plugins
}

TEST_F(PriceTest, RaceIsKeptAndReadsBackwardsToo) {
  use({"good"});
  const Candidates candidates = find_candidates(graph_, *host_);
  const auto plan_on = [&](const std::string& plugin) {
    return lower_region(make_region(graph_, candidates.list[candidate_of(candidates, plugin)]),
                        plugin, *host_);
  };
  const Lowered first = plan_on("good");
  const Lowered second = plan_on("reference");
  const RaceResult made = race(first, second, context());
  EXPECT_FALSE(made.from_database);
  EXPECT_GE(made.pairs, 2);
  EXPECT_GT(made.first.ns, 0);
  EXPECT_LE(made.log_ratio_low, made.log_ratio);
  EXPECT_GE(made.log_ratio_high, made.log_ratio);
  const RaceResult again = race(first, second, context());
  EXPECT_TRUE(again.from_database);
  EXPECT_EQ(again.log_ratio, made.log_ratio);
  const RaceResult backwards = race(second, first, context());
  EXPECT_TRUE(backwards.from_database);
  EXPECT_EQ(backwards.log_ratio, -made.log_ratio);
  EXPECT_EQ(backwards.log_ratio_low, -made.log_ratio_high);
  EXPECT_EQ(backwards.first.ns, made.second.ns);
}

}  // namespace
}  // namespace inlay
