#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

#include "graphs/pattern/chain_match.h"
#include "graphs/pattern/constraint_check.h"
#include "graphs/pattern/form.h"
#include "graphs/pattern/form_matcher.h"
#include "graphs/pattern/pattern.h"

namespace inlay {
namespace {

// Matches of one pattern at one root, and the best reason if there is none.
class RootMatcher {
 public:
  RootMatcher(const Graph& graph, const Pattern& pattern, const std::vector<PatternForm>& links,
              int index, NodeId root)
      : graph_(graph), pattern_(pattern), links_(links), index_(index), root_(root) {}

  void try_form(const PatternForm& form) {
    FormMatcher(graph_, form)
        .match(
            root_, [&](const Partial& partial) { accept(form, partial); },
            [&](const std::string& reason) { note(reason, 0); });
  }

  void try_single() {
    Binding binding;
    const Node& node = graph_.node(root_);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].is_none()) binding.ports[fmt::format("{}", i)] = node.inputs[i];
    }
    binding.nodes[node.op] = &node;
    bind_outputs(node, binding.ports);
    finish({root_}, binding);
  }

  void report(MatchReport& report) {
    std::stable_sort(matches_.begin(), matches_.end(), [](const Match& a, const Match& b) {
      return a.nodes.size() < b.nodes.size();
    });
    if (matches_.empty() && !reason_.empty())
      report.near_misses.push_back({index_, root_, reason_});
    for (Match& match : matches_) report.matches.push_back(std::move(match));
    for (Match& match : chains_.matches) report.matches.push_back(std::move(match));
    for (NearMiss& miss : chains_.near_misses) report.near_misses.push_back(std::move(miss));
  }

 private:
  void accept(const PatternForm& form, const Partial& partial) {
    std::vector<NodeId> nodes;
    Binding binding;
    for (const int i : form.order) {
      const NodeId id = partial.nodes[static_cast<std::size_t>(i)];
      const FormNode& node = form.nodes[static_cast<std::size_t>(i)];
      nodes.push_back(id);
      binding.nodes[graph_.node(id).op] = &graph_.node(id);
      if (!node.alias.empty()) binding.nodes[node.alias] = &graph_.node(id);
      if (node.is_tap && is_read_outside(partial, graph_.node(id).outputs[0])) {
        binding.ports[node.alias] = graph_.node(id).outputs[0];
      }
    }
    for (std::size_t i = 0; i < partial.variables.size(); ++i) {
      if (!partial.variables[i].is_none()) binding.ports[form.variables[i]] = partial.variables[i];
    }
    bind_outputs(graph_.node(root_), binding.ports);
    finish(std::move(nodes), binding);
  }

  void finish(std::vector<NodeId> nodes, const Binding& binding) {
    std::set<NodeId> key(nodes.begin(), nodes.end());
    if (found_.contains(key)) return;
    const ConstraintFailure failure = check_constraints(graph_, pattern_.constraints, binding);
    if (!failure.reason.empty()) {
      note(failure.reason, failure.progress);
      return;
    }
    found_.insert(std::move(key));
    matches_.push_back({index_, std::move(nodes), binding.ports});
    if (links_.empty()) return;
    ChainMatcher chains(graph_, pattern_, links_, index_);
    chains.grow(matches_.back(), binding);
    chains_.matches.insert(chains_.matches.end(), chains.found.matches.begin(),
                           chains.found.matches.end());
    chains_.near_misses.insert(chains_.near_misses.end(), chains.found.near_misses.begin(),
                               chains.found.near_misses.end());
  }

  bool is_read_outside(const Partial& partial, ValueId value) const {
    const auto readers = graph_.consumers(value);
    return graph_.is_output(value) ||
           std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
             return std::find(partial.nodes.begin(), partial.nodes.end(), reader) ==
                    partial.nodes.end();
           });
  }

  void note(const std::string& reason, int progress) {
    if (!reason_.empty() && progress <= progress_) return;
    reason_ = reason;
    progress_ = progress;
  }

  const Graph& graph_;
  const Pattern& pattern_;
  const std::vector<PatternForm>& links_;
  int index_;
  NodeId root_;
  std::vector<Match> matches_;
  MatchReport chains_;
  std::set<std::set<NodeId>> found_;
  std::string reason_;
  int progress_ = -1;
};

// A chain ends elsewhere than its base, and may be found from several bases.
void sort_matches(MatchReport& report) {
  const auto key = [](const Match& m) {
    return std::make_tuple(m.nodes.back(), m.pattern, m.nodes.size());
  };
  std::stable_sort(report.matches.begin(), report.matches.end(),
                   [&](const Match& a, const Match& b) { return key(a) < key(b); });
  std::set<std::pair<int, std::set<NodeId>>> seen;
  std::erase_if(report.matches, [&](const Match& m) {
    return !seen.emplace(m.pattern, std::set<NodeId>(m.nodes.begin(), m.nodes.end())).second;
  });
}

// Which forms can start at an operator, by pattern.
struct RootIndex {
  struct Entry {
    int pattern;
    int form;  // -1: an ops pattern
  };
  std::unordered_map<std::string, std::vector<Entry>> by_op;
};

RootIndex index_roots(const std::vector<Pattern>& patterns,
                      const std::vector<std::vector<PatternForm>>& forms) {
  RootIndex index;
  for (int p = 0; p < static_cast<int>(patterns.size()); ++p) {
    const auto i = static_cast<std::size_t>(p);
    const std::set<std::string> single(patterns[i].ops.begin(), patterns[i].ops.end());
    for (const std::string& op : single) index.by_op[op].push_back({p, -1});
    for (int f = 0; f < static_cast<int>(forms[i].size()); ++f) {
      const PatternForm& form = forms[i][static_cast<std::size_t>(f)];
      std::set<std::string> roots;
      for (const OpName& op : *form.nodes[static_cast<std::size_t>(form.root)].ops) {
        roots.insert(to_string(op));
      }
      for (const std::string& op : roots) index.by_op[op].push_back({p, f});
    }
  }
  return index;
}

}  // namespace

std::string declared_port(const std::string& port) { return port.substr(0, port.find('.')); }

MatchReport match_patterns(const Graph& graph, const std::vector<Pattern>& patterns) {
  std::vector<std::vector<PatternForm>> forms;
  std::vector<std::vector<PatternForm>> links;
  for (const Pattern& pattern : patterns) {
    forms.push_back(pattern.root ? expand_forms(*pattern.root) : std::vector<PatternForm>{});
    links.emplace_back();
    for (const auto& link : pattern.links) {
      for (PatternForm& form : expand_forms(*link)) links.back().push_back(std::move(form));
    }
  }
  const RootIndex index = index_roots(patterns, forms);

  MatchReport report;
  for (std::int32_t i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node({i});
    const auto it = index.by_op.find(to_string(OpName{node.domain, node.op}));
    if (it == index.by_op.end()) continue;
    std::optional<RootMatcher> matcher;
    for (std::size_t e = 0; e < it->second.size(); ++e) {
      const RootIndex::Entry entry = it->second[e];
      const auto p = static_cast<std::size_t>(entry.pattern);
      if (!matcher) matcher.emplace(graph, patterns[p], links[p], entry.pattern, NodeId{i});
      if (entry.form < 0) {
        matcher->try_single();
      } else {
        matcher->try_form(forms[p][static_cast<std::size_t>(entry.form)]);
      }
      const bool is_last = e + 1 == it->second.size() || it->second[e + 1].pattern != entry.pattern;
      if (is_last) {
        matcher->report(report);
        matcher.reset();
      }
    }
  }
  sort_matches(report);
  return report;
}

}  // namespace inlay
