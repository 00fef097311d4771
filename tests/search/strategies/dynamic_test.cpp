#include <gtest/gtest.h>

#include <atomic>
#include <optional>

#include "core/base/error.h"
#include "search/strategies/strategy.h"
#include "tests/search/strategies/random_problem.h"

namespace inlay {
namespace {

const TensorType kType{DType::kF32, {4, 4}};
const Layout kDense = Layout::dense(2);
const Layout kSwapped = *parse_layout("ba");

SearchResult dynamic(const RandomProblem& p, std::size_t max_states = 20000) {
  SearchLimits limits;
  limits.max_states = max_states;
  return search_dynamic(p.graph, p.candidates, p.costs, limits);
}

std::optional<SearchResult> exhaustive(const RandomProblem& p) {
  try {
    return search_exhaustive(p.graph, p.candidates, p.costs);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kUnsupported);
    return std::nullopt;
  }
}

// Every invariant that strategy.h promises.
void expect_valid(const RandomProblem& p, const SearchResult& r) {
  const auto again = make_placement(p.graph, p.candidates, r.placement.candidates);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(total_cost(p.graph, p.candidates, p.costs, r.placement), r.predicted_ns);
  EXPECT_LE(r.bound_ns, r.predicted_ns);
}

Node opaque(std::vector<ValueId> inputs) {
  Node node;
  node.domain = "test";
  node.op = "Opaque";
  node.inputs = std::move(inputs);
  return node;
}

ValueId add_node(GraphBuilder& b, std::vector<ValueId> inputs) {
  return b.node_with_types(opaque(std::move(inputs)), {kType}, {})[0];
}

TEST(DynamicProgramming, MatchesExhaustiveSearchOnRandomProblems) {
  Rng rng(40);
  int solved = 0;
  int several = 0;
  for (int i = 0; i < 6000; ++i) {
    const RandomProblem p = random_problem(rng);
    const auto best = exhaustive(p);
    if (!best) {
      EXPECT_THROW(dynamic(p), Error);
      continue;
    }
    const SearchResult found = dynamic(p);
    ASSERT_EQ(found.predicted_ns, best->predicted_ns) << "problem " << i << "\n"
                                                      << p.graph.to_text();
    EXPECT_EQ(found.stop, StopReason::kOptimal);
    EXPECT_EQ(found.bound_ns, found.predicted_ns);
    expect_valid(p, found);
    ++solved;
    several += best->states > 10 ? 1 : 0;
  }
  // The comparison must mostly be about problems that have an answer, and a choice.
  EXPECT_GT(solved, 3000);
  EXPECT_GT(several, 1500);
}

TEST(DynamicProgramming, MatchesExhaustiveSearchWhereRegionsAreLargeAndFarFlung) {
  Rng rng(41);
  const RandomProblemSize size{.max_nodes = 8, .max_regions = 24, .max_region = 6, .locality = 8};
  for (int i = 0; i < 2000; ++i) {
    const RandomProblem p = random_problem(rng, size);
    const auto best = exhaustive(p);
    if (!best) continue;
    ASSERT_EQ(dynamic(p).predicted_ns, best->predicted_ns) << "problem " << i << "\n"
                                                           << p.graph.to_text();
  }
}

TEST(DynamicProgramming, ANarrowBeamStaysValidAndBoundsTheOptimum) {
  Rng rng(42);
  int narrowed = 0;
  for (int i = 0; i < 3000; ++i) {
    const RandomProblem p = random_problem(rng);
    const auto best = exhaustive(p);
    if (!best) continue;
    SearchResult found;
    try {
      found = dynamic(p, 1 + rng.below(3));
    } catch (const Error&) {
      continue;  // the beam lost every placement, and no single plugin has one
    }
    expect_valid(p, found);
    EXPECT_GE(found.predicted_ns, best->predicted_ns);
    EXPECT_LE(found.bound_ns, best->predicted_ns) << "problem " << i;
    if (found.stop != StopReason::kBeamLimit) {
      EXPECT_EQ(found.predicted_ns, best->predicted_ns);
    }
    narrowed += found.stop == StopReason::kBeamLimit ? 1 : 0;
  }
  EXPECT_GT(narrowed, 500);
}

TEST(DynamicProgramming, EqualInputsGiveEqualPlacements) {
  Rng rng(43);
  for (int i = 0; i < 200; ++i) {
    const RandomProblem p = random_problem(rng, {.max_nodes = 30, .max_regions = 60});
    try {
      EXPECT_EQ(dynamic(p, 50).placement, dynamic(p, 50).placement);
    } catch (const Error&) {
      continue;  // a node that nothing covers
    }
  }
}

TEST(DynamicProgramming, NeverLosesToASinglePlugin) {
  Rng rng(44);
  for (int i = 0; i < 300; ++i) {
    const RandomProblem p = random_problem(rng, {.max_nodes = 40, .max_regions = 80});
    for (const char* plugin : {"alpha", "beta", "reference"}) {
      const auto single = search_single(p.graph, p.candidates, p.costs, plugin, {});
      if (!single) continue;
      expect_valid(p, *single);
      EXPECT_LE(dynamic(p).predicted_ns, single->predicted_ns);
    }
  }
}

TEST(DynamicProgramming, RefusesTheCheapestCoverWhenItIsACycle) {
  // a → b, c → d; {a, d} and {b, c} wait for each other.
  GraphBuilder b("cycle");
  const ValueId x = b.input("x", kType);
  const ValueId a = add_node(b, {x});
  const ValueId c = add_node(b, {x});
  b.output(add_node(b, {a}));
  b.output(add_node(b, {c}));
  RandomProblem p{b.build(), {}, {}};
  for (std::int32_t n = 0; n < 4; ++n) add_candidate(p, {{n}}, "reference", kDense, kDense, 10);
  add_candidate(p, {{0}, {3}}, "alpha", kDense, kDense, 1);
  add_candidate(p, {{1}, {2}}, "alpha", kDense, kDense, 1);
  const SearchResult found = dynamic(p);
  EXPECT_EQ(found.predicted_ns, 21);
  expect_valid(p, found);
}

TEST(DynamicProgramming, SharesAConversionAmongReaders) {
  GraphBuilder b("fan");
  const ValueId x = b.input("x", kType);
  const ValueId a = add_node(b, {x});
  for (int i = 0; i < 3; ++i) b.output(add_node(b, {a}));
  RandomProblem p{b.build(), {}, {}};
  add_candidate(p, {{0}}, "reference", kDense, kDense, 1);
  for (std::int32_t n = 1; n < 4; ++n) {
    add_candidate(p, {{n}}, "reference", kDense, kDense, 10);
    add_candidate(p, {{n}}, "alpha", kSwapped, kDense, 7);
  }
  price_conversions(p, {kDense, kSwapped}, 8);
  // Three times 3 saved for one conversion of 8; for a single reader it would not pay.
  EXPECT_EQ(dynamic(p).predicted_ns, 1 + 8 + 3 * 7);
}

TEST(DynamicProgramming, LongGraphsStaySmall) {
  // A residual chain: x → a → b, add(b, x); three layouts everywhere.
  GraphBuilder b("long");
  ValueId x = b.input("x", kType);
  for (int i = 0; i < 1000; ++i) x = add_node(b, {add_node(b, {add_node(b, {x})}), x});
  b.output(x);
  RandomProblem p{b.build(), {}, {}};
  Rng rng(45);
  for (std::int32_t n = 0; n < p.graph.node_count(); ++n) {
    for (const Layout& layout : {kDense, kSwapped, *parse_layout("aB4b")}) {
      add_candidate(p, {{n}}, "reference", layout, layout, static_cast<double>(1 + rng.below(20)));
    }
    if (n % 3 == 1)
      add_candidate(p, {{n}, {n + 1}}, "alpha", kSwapped, kSwapped,
                    static_cast<double>(1 + rng.below(20)));
  }
  price_conversions(p, {kDense, kSwapped, *parse_layout("aB4b")}, 6);
  const SearchResult found = dynamic(p);
  EXPECT_EQ(found.stop, StopReason::kOptimal);
  // States are what the work is: a few per node, however long the graph.
  EXPECT_LT(found.states, 100U * 3000U);
  expect_valid(p, found);
}

TEST(DynamicProgramming, ACancelledSearchStillGivesAPlacementAndABound) {
  Rng rng(46);
  const std::atomic<bool> cancelled = true;
  SearchLimits limits;
  limits.cancelled = &cancelled;
  int stopped = 0;
  for (int i = 0; i < 300; ++i) {
    const RandomProblem p = random_problem(rng);
    const auto best = exhaustive(p);
    if (!best) continue;
    SearchResult found;
    try {
      found = search_dynamic(p.graph, p.candidates, p.costs, limits);
    } catch (const Error&) {
      continue;
    }
    expect_valid(p, found);
    EXPECT_LE(found.bound_ns, best->predicted_ns);
    stopped += found.stop == StopReason::kCancelled ? 1 : 0;
  }
  EXPECT_GT(stopped, 50);
}

TEST(DynamicProgramming, ANodeWithoutACostIsNamed) {
  GraphBuilder b("g");
  b.output(b.node_with_types(opaque({b.input("x", kType)}), {kType}, {})[0]);
  RandomProblem p{b.build(), {}, {}};
  add_candidate(p, {{0}}, "reference", kDense, kDense, 1);
  p.costs.candidates[0] = {std::nullopt, "declined"};
  try {
    dynamic(p);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kUnsupported);
    EXPECT_NE(std::string(e.what()).find(p.graph.node({0}).name), std::string::npos) << e.what();
  }
}

TEST(ExhaustiveSearch, RefusesGraphsThatWouldTakeForever) {
  GraphBuilder b("g");
  ValueId x = b.input("x", kType);
  for (int i = 0; i < 17; ++i) x = add_node(b, {x});
  b.output(x);
  RandomProblem p{b.build(), {}, {}};
  EXPECT_THROW(search_exhaustive(p.graph, p.candidates, p.costs), Error);
}

}  // namespace
}  // namespace inlay
