// Plugins that crash, hang, decline or answer wrongly while they are priced.
#include <gtest/gtest.h>

#include <cstdlib>

#include "search/cost/price.h"
#include "search/cost/quarantine.h"
#include "tests/search/cost/price_fixture.h"

namespace inlay {
namespace {

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

}  // namespace
}  // namespace inlay
