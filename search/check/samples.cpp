#include "search/check/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "core/base/error.h"
#include "graphs/ir/op_table.h"
#include "graphs/pattern/pattern.h"
#include "graphs/pattern/pattern_data.h"
#include "search/candidates/candidates.h"
#include "search/check/sample_graph.h"

namespace inlay::check {
namespace {

constexpr int kMostDraws = 600;       // for one sample; matching one tiny graph takes microseconds
constexpr int kMostEngineNodes = 24;  // operators of an engine that get a sample each

bool is_usable(const ManifestPattern& pattern) {
  return std::all_of(pattern.cpu.begin(), pattern.cpu.end(), [](const std::string& need) {
    return need.starts_with('!') ? !has_cpu_feature(need.substr(1)) : has_cpu_feature(need);
  });
}

PatternText text_of(const ManifestPattern& p) {
  return {p.id, p.match, p.fuse, p.ops, p.where, p.layouts, p.alias};
}

Manifest manifest_of(const Manifest& manifest, const ManifestPattern& pattern) {
  Manifest single = manifest;
  single.patterns = {pattern};
  return single;
}

bool has_empty_value(const Region& region) {
  return std::any_of(region.values.begin(), region.values.end(),
                     [](const RegionValue& value) { return element_count(value.type.shape) == 0; });
}

Sample sample_of(const Graph& graph, const Candidate& candidate) {
  return {candidate.pattern, candidate.tolerance, make_region(graph, candidate), candidate.aliases,
          ""};
}

// The plugin's candidates that cover the whole graph, one for each layout variant.
std::vector<Candidate> whole_candidates(const Graph& graph, const Manifest& manifest) {
  std::vector<Candidate> whole;
  try {
    for (Candidate& candidate : find_candidates(graph, std::vector<Manifest>{manifest}).list) {
      const bool is_whole = static_cast<int>(candidate.nodes.size()) == graph.node_count();
      if (candidate.plugin == manifest.name && is_whole && !candidate.inputs.empty()) {
        whole.push_back(std::move(candidate));
      }
    }
  } catch (const Error&) {  // a node that the pattern does not take
  }
  return whole;
}

std::vector<std::string> root_ops(const Pattern& pattern) {
  std::vector<std::string> ops;
  const PatternNode* node = pattern.root.get();
  while (node != nullptr) {
    for (const OpName& op : node->ops) {
      if (op.domain.empty()) ops.push_back(op.name);
    }
    node = node->is_optional ? node->operands[0].node.get() : nullptr;
  }
  return ops;
}

class SampleMaker {
 public:
  SampleMaker(const Manifest& manifest, const SampleOptions& options)
      : manifest_(manifest), options_(options) {}

  SampleSet make() {
    for (const ManifestPattern& pattern : manifest_.patterns) {
      if (!is_usable(pattern)) continue;
      // Of each pattern the same samples, whatever the others are.
      rng_ = Rng(options_.seed);
      pattern.any.opset != 0 ? add_engine(pattern) : add_pattern(pattern);
    }
    return std::move(set_);
  }

 private:
  void add_pattern(const ManifestPattern& declared) {
    const Pattern pattern = parse_pattern(text_of(declared));
    const Manifest single = manifest_of(manifest_, declared);
    const bool is_list = pattern.root == nullptr;
    const std::vector<std::string> ops = is_list ? pattern.ops : root_ops(pattern);
    // A pattern of one operator gets several samples, for its layouts and for more than one shape.
    const auto wanted = static_cast<int>(std::clamp<std::size_t>(
        std::max(pattern.variants.size(), 3 / std::max<std::size_t>(ops.size(), 1)), 1, 4));
    int made = 0;
    for (const std::string& op : ops) {
      if (!is_list && made >= options_.most_per_pattern) break;
      for (int i = 0; i < (is_list ? 1 : wanted); ++i) {
        const int added = add_sample(pattern, single, {.root = op},
                                     fmt::format("pattern '{}': {}", pattern.id, op));
        made += added;
        if (added == 0) break;
      }
    }
    if (pattern.links.empty()) return;
    for (int links = 1; links <= std::min(pattern.most_links, 3); ++links) {
      add_sample(pattern, single, {.links = links},
                 fmt::format("pattern '{}': {} links of its fuse rule", pattern.id, links));
    }
  }

  // Returns how many were added.
  int add_sample(const Pattern& pattern, const Manifest& single, const DrawnForm& form,
                 const std::string& what) {
    Draw draw{*rng_, options_.kind};
    for (int i = 0; i < kMostDraws; ++i) {
      const std::optional<Graph> graph = draw_graph(pattern, form, draw);
      if (!graph || has_no_nodes(*graph)) continue;
      const std::vector<Candidate> found = whole_candidates(*graph, single);
      if (found.empty()) continue;
      // The variants in turn, so that several samples of a pattern see them all.
      const Candidate& candidate = found[variant_++ % found.size()];
      Sample sample = sample_of(*graph, candidate);
      if (options_.kind == SampleKind::kEmpty && !has_empty_value(sample.region)) continue;
      set_.list.push_back(std::move(sample));
      return 1;
    }
    set_.missing.push_back(what);
    return 0;
  }

  static bool has_no_nodes(const Graph& graph) { return graph.node_count() == 0; }

  void add_engine(const ManifestPattern& pattern) {
    const Manifest single = manifest_of(manifest_, pattern);
    int left = kMostEngineNodes;
    for (const OpInfo& op : all_ops()) {
      const auto has = [&](const std::vector<std::string>& list) {
        return std::find(list.begin(), list.end(), op.name) != list.end();
      };
      if (has(pattern.any.deny) || (!pattern.any.allow.empty() && !has(pattern.any.allow)))
        continue;
      if (left == 0) break;
      Draw draw{*rng_, options_.kind};
      bool is_made = false;
      for (int i = 0; i < kMostDraws / 10 && !is_made; ++i) {
        const std::optional<Graph> graph = draw_node_graph(std::string(op.name), draw);
        if (!graph) continue;
        const std::vector<Candidate> found = whole_candidates(*graph, single);
        if (found.empty()) continue;
        Sample sample = sample_of(*graph, found.front());
        if (options_.kind == SampleKind::kEmpty && !has_empty_value(sample.region)) continue;
        set_.list.push_back(std::move(sample));
        is_made = true;
        --left;
      }
      if (!is_made) set_.missing.push_back(fmt::format("pattern '{}': {}", pattern.id, op.name));
    }
  }

  const Manifest& manifest_;
  const SampleOptions& options_;
  std::optional<Rng> rng_;
  SampleSet set_;
  std::size_t variant_ = 0;
};

// ---- Near misses

std::string opposite(const std::string& comparison) {
  if (comparison == "==") return "!=";
  if (comparison == "!=") return "==";
  if (comparison == "<") return ">=";
  if (comparison == "<=") return ">";
  if (comparison == ">") return "<=";
  return "<";
}

// A type that the clause does not name; kNone if it names none, and anything goes.
DType other_dtype(const std::vector<DType>& named) {
  for (const DType other : {DType::kF64, DType::kI32, DType::kF32, DType::kU8, DType::kI64}) {
    if (std::find(named.begin(), named.end(), other) == named.end()) return other;
  }
  return DType::kNone;
}

struct Breach {
  Constraint broken;
  std::string clause;
};

std::vector<Breach> breaches_of(const Constraint& constraint) {
  std::vector<Breach> breaches;
  const auto add = [&](Constraint broken) {
    breaches.push_back({std::move(broken), to_string(constraint)});
  };
  if (constraint.ports.empty()) {
    Constraint turned = constraint;
    if (turned.comparison.empty()) return breaches;
    turned.comparison = opposite(turned.comparison);
    add(std::move(turned));
    return breaches;
  }
  if (!constraint.dtypes.empty()) {
    Constraint other = constraint;
    other.dtypes = {other_dtype(constraint.dtypes)};
    if (other.dtypes[0] != DType::kNone) add(std::move(other));
  }
  const bool has_rest =
      std::any_of(constraint.dims.begin(), constraint.dims.end(),
                  [](const DimPattern& dim) { return dim.kind == DimPattern::Kind::kRest; });
  if (constraint.has_dims && !has_rest) {
    Constraint longer = constraint;
    longer.dims.assign(constraint.dims.size() + 1, DimPattern{});
    add(std::move(longer));
  }
  if (constraint.constness != Constness::kEither) {
    Constraint changed = constraint;
    changed.constness =
        constraint.constness == Constness::kConst ? Constness::kDynamic : Constness::kConst;
    add(std::move(changed));
  }
  return breaches;
}

// A sample of the broken pattern that the original does not take.
std::optional<Sample> near_miss(const Manifest& manifest, const ManifestPattern& declared,
                                const Pattern& original, const Pattern& broken, Rng& rng) {
  ManifestPattern text = declared;
  text.where = print_pattern(broken).where;
  text.layouts.clear();
  const Manifest original_manifest = manifest_of(manifest, declared);
  const Manifest broken_manifest = manifest_of(manifest, text);
  Draw draw{rng, SampleKind::kPlain};
  for (int i = 0; i < kMostDraws; ++i) {
    const std::optional<Graph> graph = draw_graph(broken, {}, draw);
    if (!graph || graph->node_count() == 0) continue;
    const std::vector<Candidate> found = whole_candidates(*graph, broken_manifest);
    if (found.empty() || !match_patterns(*graph, {original}).matches.empty()) continue;
    return sample_of(*graph, found.front());
  }
  return std::nullopt;
}

}  // namespace

std::string describe(const Sample& sample) {
  return fmt::format("pattern '{}': {}", sample.pattern, summary(sample.region));
}

SampleSet make_samples(const Manifest& manifest, const SampleOptions& options) {
  return SampleMaker(manifest, options).make();
}

SampleSet make_near_misses(const Manifest& manifest, std::uint64_t seed) {
  SampleSet set;
  for (const ManifestPattern& declared : manifest.patterns) {
    if (declared.any.opset != 0 || !is_usable(declared)) continue;
    const Pattern original = parse_pattern(text_of(declared));
    Rng rng(seed);
    for (std::size_t c = 0; c < original.constraints.size(); ++c) {
      for (Breach& breach : breaches_of(*original.constraints[c])) {
        Pattern broken = original;
        broken.constraints[c] = std::make_shared<const Constraint>(std::move(breach.broken));
        std::optional<Sample> sample = near_miss(manifest, declared, original, broken, rng);
        if (!sample) {
          set.missing.push_back(fmt::format("pattern '{}': {}", declared.id, breach.clause));
          continue;
        }
        sample->broken = breach.clause;
        set.list.push_back(std::move(*sample));
      }
    }
  }
  return set;
}

}  // namespace inlay::check
