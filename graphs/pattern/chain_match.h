// Grows a match by a pattern's fuse rule: link after link, each length a match of its own.
//
//   ChainMatcher chains(graph, pattern, link_forms, index);
//   chains.grow(match, binding);      // chains.found
#pragma once

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "graphs/pattern/constraint_check.h"
#include "graphs/pattern/form_matcher.h"
#include "graphs/pattern/pattern.h"

namespace inlay {

class ChainMatcher {
 public:
  // links  the forms of pattern.links
  // index  the pattern's, for what is found
  ChainMatcher(const Graph& graph, const Pattern& pattern, const std::vector<PatternForm>& links,
               int index)
      : graph_(graph), pattern_(pattern), links_(links), index_(index) {}

  // binding  of the match's own nodes
  void grow(const Match& match, const Binding& binding) { grow(match, binding, 0); }

  MatchReport found;

 private:
  void grow(const Match& match, const Binding& base, int depth);
  void add_link(const Match& match, const Binding& base, const PatternForm& link,
                const Partial& partial, int depth);
  // False if the same nodes were found already, by another way.
  bool is_new(std::vector<NodeId> nodes) {
    std::sort(nodes.begin(), nodes.end());
    return seen_.insert(std::move(nodes)).second;
  }
  bool reads_all(const Partial& partial, ValueId value) const;

  const Graph& graph_;
  const Pattern& pattern_;
  const std::vector<PatternForm>& links_;
  int index_;
  std::set<std::vector<NodeId>> seen_;
};

}  // namespace inlay
