// Random placement problems: graphs, candidates that overlap, have several outputs or wait for each
// other, layouts and prices. Prices are small integers, so that sums are exact in any order and
// costs compare with ==.
#pragma once

#include <string>

#include "core/base/rng.h"
#include "search/candidates/candidates.h"
#include "search/cost/cost_table.h"

namespace inlay {

struct RandomProblem {
  Graph graph;
  Candidates candidates;
  CostTable costs;
};

struct RandomProblemSize {
  int max_nodes = 9;
  int max_regions = 14;  // candidates of several nodes, besides the single ones
  int max_region = 4;    // nodes
  int locality = 4;      // operands come from this many values back, mostly
};

RandomProblem random_problem(Rng& rng, const RandomProblemSize& size = {});

// Adds a candidate with a price; updates by_node.
void add_candidate(RandomProblem& problem, std::vector<NodeId> nodes, const std::string& plugin,
                   const Layout& layout_in, const Layout& layout_out, double price);

// Prices every conversion among `layouts` of f32[4x4] by a function of (from, to).
void price_conversions(RandomProblem& problem, const std::vector<Layout>& layouts, double price);

}  // namespace inlay
