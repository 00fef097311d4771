#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "core/base/error.h"
#include "graphs/ir/extract.h"
#include "graphs/ir/op_table.h"
#include "graphs/pattern/pattern.h"
#include "search/candidates/candidates.h"
#include "search/candidates/find_engines.h"
#include "search/candidates/joint.h"
#include "search/candidates/nearest_names.h"

namespace inlay {
namespace {

constexpr std::size_t kReasonsInError = 5;

// The first CPU feature that a list needs and this machine lacks ("!x" needs x absent); empty if
// none.
class CpuNeeds {
 public:
  std::string missing(const std::vector<std::string>& needs) {
    for (const std::string& need : needs) {
      const bool wants_absent = need.starts_with('!');
      const std::string feature = wants_absent ? need.substr(1) : need;
      auto it = known_.find(feature);
      if (it == known_.end()) it = known_.emplace(feature, has_cpu_feature(feature)).first;
      if (it->second == wants_absent) return need;
    }
    return "";
  }

 private:
  std::unordered_map<std::string, bool> known_;
};

std::string cpu_reason(const std::string& need) {
  return need.starts_with('!') ? fmt::format("only for CPUs without {}", need.substr(1))
                               : fmt::format("this CPU lacks {}", need);
}

Pattern parse(const Manifest& manifest, const ManifestPattern& p) {
  PatternText text;
  text.id = p.id;
  text.match = p.match;
  text.fuse = p.fuse;
  text.ops = p.ops;
  text.where = p.where;
  text.layouts = p.layouts;
  text.alias = p.alias;
  try {
    return parse_pattern(text);
  } catch (const Error& e) {
    throw Error(e.code(), fmt::format("plugin '{}': {}", manifest.name, e.what()));
  }
}

// A candidate with what its place in the list depends on.
struct Ranked {
  Candidate candidate;
  int pattern;
};

class Finder {
 public:
  Finder(const Graph& graph, const CandidateFilter& filter) : graph_(graph), filter_(filter) {}

  void add_plugin(const Manifest& manifest) {
    std::vector<Pattern> patterns;
    std::vector<const ManifestPattern*> declared;  // by pattern
    for (const ManifestPattern& p : manifest.patterns) {
      if (p.any.opset != 0) {
        add_engine(manifest.name, p, static_cast<int>(&p - manifest.patterns.data()));
        continue;
      }
      patterns.push_back(parse(manifest, p));
      declared.push_back(&p);
    }
    const MatchReport report = match_patterns(graph_, patterns);
    for (const Match& match : report.matches) {
      const auto i = static_cast<std::size_t>(match.pattern);
      add_match(manifest.name, *declared[i], patterns[i], match);
    }
    for (const NearMiss& miss : report.near_misses) {
      why_not(miss.root, manifest.name, declared[static_cast<std::size_t>(miss.pattern)]->id,
              miss.reason);
    }
  }

  void add_engine(const std::string& plugin, const ManifestPattern& pattern, int index) {
    if (const std::string need = cpu_.missing(pattern.cpu); !need.empty()) {
      for (std::int32_t n = 0; n < graph_.node_count(); ++n) {
        why_not({n}, plugin, pattern.id, cpu_reason(need));
      }
      return;
    }
    EngineFinds finds = find_engine_regions(graph_, plugin, pattern, filter_);
    for (Candidate& candidate : finds.candidates) add({std::move(candidate), index});
    for (WhyNot& why : finds.why_not) result_.why_not.push_back(std::move(why));
    result_.engines.push_back(std::move(finds.offer));
  }

  void add_views() {
    for (std::int32_t i = 0; i < graph_.node_count(); ++i) {
      const Node& node = graph_.node({i});
      const OpInfo* info = node.domain.empty() ? find_op(node.op) : nullptr;
      if (info == nullptr || !info->is_view || graph_.is_constant(node.inputs[0])) continue;
      Candidate c;
      c.nodes = {{i}};
      c.plugin = kViewPlugin;
      c.pattern = "view";
      c.tolerance = "exact";
      const Boundary boundary = find_boundary(graph_, c.nodes);
      c.inputs = boundary.inputs;
      c.outputs = boundary.outputs;
      c.input_layouts.push_back(dense(c.inputs[0]));
      for (const ValueId output : c.outputs) {
        c.output_layouts.push_back(dense(output));
        c.aliases.emplace_back(0, 0);
      }
      add({std::move(c), 0});
    }
  }

  void add_joints() {
    const std::size_t plugins_end = found_.size();
    for (std::int32_t i = 0; i < graph_.node_count(); ++i) {
      const Node& node = graph_.node({i});
      if (node.op != "Concat") continue;
      for (const Layout& layout : joint_layouts(graph_, {i}, layouts_given(node, plugins_end))) {
        Candidate c;
        c.nodes = {{i}};
        c.plugin = kViewPlugin;
        c.pattern = kJointPattern;
        c.tolerance = "exact";
        const Boundary boundary = find_boundary(graph_, c.nodes);
        c.inputs = boundary.inputs;
        c.outputs = boundary.outputs;
        c.input_layouts.assign(c.inputs.size(), layout);
        c.output_layouts.assign(c.outputs.size(), layout);
        add({std::move(c), 1});
      }
    }
  }

  Candidates finish() {
    // Candidates are large: their places are sorted, and each is moved once.
    std::vector<std::size_t> order(found_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [this](std::size_t i, std::size_t j) {
      const auto key = [](const Ranked& r) {
        return std::make_tuple(r.candidate.nodes.back(), std::string_view(r.candidate.plugin),
                               r.pattern, r.candidate.nodes.size());
      };
      return key(found_[i]) < key(found_[j]);
    });
    result_.by_node.resize(static_cast<std::size_t>(graph_.node_count()));
    result_.list.reserve(found_.size());
    for (const std::size_t place : order) {
      Ranked& ranked = found_[place];
      const int id = static_cast<int>(result_.list.size());
      for (const NodeId node : ranked.candidate.nodes) {
        result_.by_node[static_cast<std::size_t>(node.index)].push_back(id);
      }
      result_.list.push_back(std::move(ranked.candidate));
    }
    std::stable_sort(result_.why_not.begin(), result_.why_not.end(),
                     [](const WhyNot& a, const WhyNot& b) {
                       return std::tie(a.node, a.plugin) < std::tie(b.node, b.plugin);
                     });
    for (std::int32_t i = 0; i < graph_.node_count(); ++i) {
      if (result_.by_node[static_cast<std::size_t>(i)].empty()) fail_unsupported({i});
    }
    return std::move(result_);
  }

 private:
  // In which layouts the candidates of plugins give the node's operands, each once; by text.
  std::vector<Layout> layouts_given(const Node& node, std::size_t plugins_end) {
    if (layouts_of_.empty()) {
      for (std::size_t f = 0; f < plugins_end; ++f) {
        const Candidate& c = found_[f].candidate;
        for (std::size_t o = 0; o < c.outputs.size(); ++o) {
          layouts_of_[c.outputs[o]].emplace(c.output_layouts[o].text(), c.output_layouts[o]);
        }
      }
    }
    std::map<std::string, Layout> given;
    for (const ValueId operand : node.inputs) {
      const auto found = layouts_of_.find(operand);
      if (found != layouts_of_.end()) given.insert(found->second.begin(), found->second.end());
    }
    std::vector<Layout> layouts;
    for (auto& [text, layout] : given) layouts.push_back(layout);
    return layouts;
  }

  Layout dense(ValueId id) const {
    return Layout::dense(static_cast<int>(graph_.value(id).type.shape.size()));
  }

  void why_not(NodeId node, const std::string& plugin, const std::string& pattern,
               std::string reason) {
    result_.why_not.push_back({node, plugin, pattern, std::move(reason)});
  }

  void add_match(const std::string& plugin, const ManifestPattern& declared, const Pattern& pattern,
                 const Match& match) {
    const NodeId root = match.nodes.back();
    if (const std::string need = cpu_.missing(declared.cpu); !need.empty()) {
      why_not(root, plugin, pattern.id, cpu_reason(need));
      return;
    }
    if (const auto escape = find_escape(graph_, match.nodes)) {
      why_not(root, plugin, pattern.id,
              fmt::format("not convex: '{}' lies between", graph_.node(*escape).name));
      return;
    }
    Candidate base;
    base.nodes = match.nodes;
    base.plugin = plugin;
    base.pattern = pattern.id;
    base.tolerance = declared.tolerance;
    const Boundary boundary = find_boundary(graph_, match.nodes);
    base.inputs = boundary.inputs;
    base.outputs = boundary.outputs;
    for (const auto& [port, value] : match.ports) base.ports.emplace(value, port);

    std::string refusal;
    std::vector<std::pair<std::vector<Layout>, std::vector<Layout>>> seen;
    for (const LayoutVariant& variant : pattern.variants) {
      if (const std::string need = cpu_.missing(variant.cpu); !need.empty()) {
        refusal = cpu_reason(need);
        continue;
      }
      Candidate c = base;
      if (!apply_layouts(variant, match, c, refusal)) continue;
      std::pair key(c.input_layouts, c.output_layouts);
      if (std::find(seen.begin(), seen.end(), key) != seen.end()) continue;
      seen.push_back(std::move(key));
      c.aliases = find_aliases(pattern, match, c);
      add({std::move(c), match.pattern});
    }
    if (seen.empty()) why_not(root, plugin, pattern.id, refusal);
  }

  // The variant's layout of a value; nullopt if its rank does not fit or two ports of the value
  // disagree.
  std::optional<Layout> layout_of(const LayoutVariant& variant, const Match& match, ValueId value,
                                  std::string& refusal) const {
    std::optional<Layout> layout;
    for (const auto& [port, bound] : match.ports) {
      if (bound != value) continue;
      const auto it = variant.layouts.find(declared_port(port));
      const bool is_dense = it == variant.layouts.end() || it->second == "dense";
      const Layout wanted = is_dense ? dense(value) : *parse_layout(it->second);
      if (wanted.rank() != static_cast<int>(graph_.value(value).type.shape.size())) {
        refusal = fmt::format("layout {} of {} does not fit {}", wanted.text(), port,
                              to_string(graph_.value(value).type));
        return std::nullopt;
      }
      if (layout && *layout != wanted) {
        refusal = fmt::format("'{}' would need two layouts", graph_.value(value).name);
        return std::nullopt;
      }
      layout = wanted;
    }
    return layout ? *layout : dense(value);
  }

  bool apply_layouts(const LayoutVariant& variant, const Match& match, Candidate& c,
                     std::string& refusal) const {
    for (const ValueId input : c.inputs) {
      const auto layout = layout_of(variant, match, input, refusal);
      if (!layout) return false;
      c.input_layouts.push_back(*layout);
    }
    for (const ValueId output : c.outputs) {
      const auto layout = layout_of(variant, match, output, refusal);
      if (!layout) return false;
      c.output_layouts.push_back(*layout);
    }
    return true;
  }

  // Pairs of equal size: memory can only be shared by what fills the same bytes.
  std::vector<std::pair<int, int>> find_aliases(const Pattern& pattern, const Match& match,
                                                const Candidate& c) const {
    std::vector<std::pair<int, int>> aliases;
    for (const auto& [output_port, input_port] : pattern.aliases) {
      const auto out = match.ports.find(output_port);
      const auto in = match.ports.find(input_port);
      if (out == match.ports.end() || in == match.ports.end()) continue;
      const auto o = std::find(c.outputs.begin(), c.outputs.end(), out->second) - c.outputs.begin();
      const auto i = std::find(c.inputs.begin(), c.inputs.end(), in->second) - c.inputs.begin();
      if (o == std::ssize(c.outputs) || i == std::ssize(c.inputs)) continue;
      const auto bytes_out =
          c.output_layouts[static_cast<std::size_t>(o)].size_bytes(graph_.value(out->second).type);
      const auto bytes_in =
          c.input_layouts[static_cast<std::size_t>(i)].size_bytes(graph_.value(in->second).type);
      if (bytes_out == bytes_in) aliases.emplace_back(static_cast<int>(o), static_cast<int>(i));
    }
    return aliases;
  }

  void add(Ranked ranked) {
    const std::size_t size = ranked.candidate.nodes.size();
    if (!filter_.is_fusing && size > 1) {
      why_not(ranked.candidate.nodes.back(), ranked.candidate.plugin, ranked.candidate.pattern,
              fmt::format("covers {} nodes, and fusing is off", size));
      return;
    }
    for (const NodeId node : ranked.candidate.nodes) {
      if (filter_.pins.empty()) break;
      const auto pin = filter_.pins.find(graph_.node(node).name);
      if (pin == filter_.pins.end() || pin->second == ranked.candidate.plugin) continue;
      why_not(ranked.candidate.nodes.back(), ranked.candidate.plugin, ranked.candidate.pattern,
              fmt::format("'{}' is pinned to {}", pin->first, pin->second));
      return;
    }
    found_.push_back(std::move(ranked));
  }

  [[noreturn]] void fail_unsupported(NodeId id) const {
    const Node& node = graph_.node(id);
    const ValueId output = node.outputs.empty() ? kNoValue : node.outputs[0];
    std::string message =
        fmt::format("{} '{}'{}: no plugin can run it", node.op, node.name,
                    output.is_none() ? "" : " giving " + to_string(graph_.value(output).type));
    std::size_t count = 0;
    for (const WhyNot& why : result_.why_not) {
      if (why.node != id || count++ >= kReasonsInError) continue;
      message += fmt::format("; {} '{}': {}", why.plugin, why.pattern, why.reason);
    }
    if (count > kReasonsInError) message += fmt::format("; and {} more", count - kReasonsInError);
    throw Error(Code::kUnsupported, message);
  }

  const Graph& graph_;
  const CandidateFilter& filter_;
  CpuNeeds cpu_;
  std::vector<Ranked> found_;
  std::map<ValueId, std::map<std::string, Layout>> layouts_of_;  // filled by layouts_given
  Candidates result_;
};

bool is_excluded(const CandidateFilter& filter, const std::string& plugin) {
  return std::find(filter.exclude.begin(), filter.exclude.end(), plugin) != filter.exclude.end();
}

void check_pins(const Graph& graph, const std::vector<Manifest>& manifests,
                const CandidateFilter& filter) {
  for (const auto& [node, plugin] : filter.pins) {
    if (!graph.find_node(node)) {
      std::vector<std::pair<std::string, std::string>> nodes;
      for (const Node& known : graph.nodes()) nodes.emplace_back(known.name, known.op);
      throw Error(Code::kNotFound,
                  fmt::format("pin of '{}' to {}: the graph has no such node; nearest: {}", node,
                              plugin, fmt::join(nearest_names(node, nodes), ", ")));
    }
    const bool is_known = plugin == kViewPlugin ||
                          std::any_of(manifests.begin(), manifests.end(),
                                      [&plugin](const Manifest& m) { return m.name == plugin; });
    if (!is_known || is_excluded(filter, plugin)) {
      std::vector<std::pair<std::string, std::string>> plugins;
      for (const Manifest& m : manifests) {
        if (!is_excluded(filter, m.name)) plugins.emplace_back(m.name, "");
      }
      throw Error(Code::kNotFound,
                  fmt::format("pin of '{}' to {}: {}; nearest: {}", node, plugin,
                              is_excluded(filter, plugin) ? "that plugin is excluded"
                                                          : "there is no such plugin",
                              fmt::join(nearest_names(plugin, plugins), ", ")));
    }
  }
}

}  // namespace

std::string pattern_fault(const Manifest& manifest) {
  try {
    for (const ManifestPattern& p : manifest.patterns) {
      if (!p.match.empty() || !p.ops.empty()) parse(manifest, p);
    }
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

Candidates find_candidates(const Graph& graph, const std::vector<Manifest>& manifests,
                           const CandidateFilter& filter) {
  check_pins(graph, manifests, filter);
  Finder finder(graph, filter);
  for (const Manifest& manifest : manifests) {
    if (!is_excluded(filter, manifest.name)) finder.add_plugin(manifest);
  }
  if (!is_excluded(filter, kViewPlugin)) {
    finder.add_views();
    finder.add_joints();
  }
  return finder.finish();
}

Candidates find_candidates(const Graph& graph, const PluginHost& host,
                           const CandidateFilter& filter) {
  std::vector<Manifest> manifests;
  for (const PluginRecord& record : host.plugins()) {
    if (!record.refused) manifests.push_back(record.manifest);
  }
  return find_candidates(graph, manifests, filter);
}

}  // namespace inlay
