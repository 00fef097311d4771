#include "search/cost/price.h"

#include <gtest/gtest.h>

#include <set>

#include "core/base/error.h"
#include "tests/search/cost/price_fixture.h"

namespace inlay {
namespace {

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
  EXPECT_TRUE(
      std::any_of(alone_ns.begin(), alone_ns.end(),
                  [&](double ns) { return std::abs(cost.cost->ns - (ns - run_ns + wake)) < 1e-3; }))
      << cost.cost->ns << " from " << run_ns << " and " << wake;
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

}  // namespace
}  // namespace inlay
