#include "search/strategies/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.h"

namespace inlay {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr int kMaxLayouts = 24;  // a state keeps a value's layouts in 24 bits

bool is_usable(const Candidate& candidate, const CandidateCost& cost) {
  return candidate.plugin == kViewPlugin || cost.cost.has_value();
}

// Operands before their readers, following one branch to its end before the next: few values stay
// alive.
std::vector<NodeId> depth_first_order(const Graph& graph) {
  std::vector<NodeId> order;
  std::vector<bool> seen(static_cast<std::size_t>(graph.node_count()), false);
  struct Visit {
    NodeId node;
    std::size_t next_input;
  };
  std::vector<Visit> stack;
  const auto push = [&](NodeId id) {
    if (id == kNoNode || seen[static_cast<std::size_t>(id.index)]) return;
    seen[static_cast<std::size_t>(id.index)] = true;
    stack.push_back({id, 0});
  };
  const auto drain = [&] {
    while (!stack.empty()) {
      Visit& top = stack.back();
      const std::vector<ValueId>& inputs = graph.node(top.node).inputs;
      if (top.next_input == inputs.size()) {
        order.push_back(top.node);
        stack.pop_back();
        continue;
      }
      const ValueId input = inputs[top.next_input++];
      if (!input.is_none()) push(graph.value(input).producer);
    }
  };
  for (const ValueId output : graph.outputs()) {
    push(graph.value(output).producer);
    drain();
  }
  for (std::int32_t i = 0; i < graph.node_count(); ++i) {
    push({i});
    drain();
  }
  return order;
}

class ProblemMaker {
 public:
  ProblemMaker(const Graph& graph, const Candidates& candidates, const CostTable& costs,
               const std::vector<bool>& allowed, LayoutUse layouts)
      : graph_(graph),
        candidates_(candidates),
        costs_(costs),
        allowed_(allowed),
        layouts_(layouts) {}

  PlacementProblem make() {
    problem_.node_count = graph_.node_count();
    problem_.values.resize(static_cast<std::size_t>(graph_.value_count()));
    value_layouts_.resize(problem_.values.size());
    collect_layouts();
    choose_order();
    fill_values();
    collect_options();
    fill_demand();
    fill_shares();
    return std::move(problem_);
  }

 private:
  Layout dense(ValueId id) const {
    return Layout::dense(static_cast<int>(graph_.value(id).type.shape.size()));
  }

  int layout_index(ValueId id, const Layout& layout) {
    if (layouts_ == LayoutUse::kIgnored) return 0;
    std::vector<Layout>& known = value_layouts_[static_cast<std::size_t>(id.index)];
    const auto it = std::find(known.begin(), known.end(), layout);
    if (it != known.end()) return static_cast<int>(it - known.begin());
    if (known.size() == kMaxLayouts) {
      throw Error(Code::kUnsupported, fmt::format("value '{}': more than {} layouts",
                                                  graph_.value(id).name, kMaxLayouts));
    }
    known.push_back(layout);
    return static_cast<int>(known.size()) - 1;
  }

  bool is_candidate(std::size_t id) const {
    return allowed_[id] && is_usable(candidates_.list[id], costs_.candidates[id]);
  }

  void collect_layouts() {
    for (std::int32_t v = 0; v < graph_.value_count(); ++v) layout_index({v}, dense({v}));
    for (std::size_t id = 0; id < candidates_.list.size(); ++id) {
      if (!is_candidate(id)) continue;
      const Candidate& c = candidates_.list[id];
      for (std::size_t i = 0; i < c.inputs.size(); ++i)
        layout_index(c.inputs[i], c.input_layouts[i]);
      for (std::size_t i = 0; i < c.outputs.size(); ++i)
        layout_index(c.outputs[i], c.output_layouts[i]);
    }
  }

  // How many states the widest cut of an order may have, as a logarithm.
  double width(const std::vector<NodeId>& order) const {
    std::vector<int> position(order.size());
    for (std::size_t p = 0; p < order.size(); ++p)
      position[static_cast<std::size_t>(order[p].index)] = static_cast<int>(p);
    std::vector<double> change(order.size() + 1, 0);
    for (std::int32_t v = 0; v < graph_.value_count(); ++v) {
      const NodeId producer = graph_.value({v}).producer;
      if (producer == kNoNode || graph_.consumers({v}).empty()) continue;
      int last = 0;
      for (const NodeId reader : graph_.consumers({v}))
        last = std::max(last, position[static_cast<std::size_t>(reader.index)]);
      // A value of one layout adds no states, but may yet hold back a candidate: it counts a
      // little.
      const double choices = std::max<double>(
          1, static_cast<double>(value_layouts_[static_cast<std::size_t>(v)].size()));
      const double weight = std::log2(choices) + 0.1;
      change[static_cast<std::size_t>(position[static_cast<std::size_t>(producer.index)])] +=
          weight;
      change[static_cast<std::size_t>(last)] -= weight;
    }
    double live = 0;
    double widest = 0;
    for (const double step : change) widest = std::max(widest, live += step);
    return widest;
  }

  void choose_order() {
    std::vector<NodeId> given;
    for (std::int32_t i = 0; i < graph_.node_count(); ++i) given.push_back({i});
    std::vector<NodeId> depth_first = depth_first_order(graph_);
    problem_.order = width(depth_first) < width(given) ? std::move(depth_first) : std::move(given);
    position_.resize(problem_.order.size());
    for (std::size_t p = 0; p < problem_.order.size(); ++p) {
      position_[static_cast<std::size_t>(problem_.order[p].index)] = static_cast<int>(p);
    }
  }

  int position(NodeId id) const { return position_[static_cast<std::size_t>(id.index)]; }

  void fill_values() {
    for (std::int32_t v = 0; v < graph_.value_count(); ++v) {
      ProblemValue& value = problem_.values[static_cast<std::size_t>(v)];
      const NodeId producer = graph_.value({v}).producer;
      value.producer = producer == kNoNode ? -1 : position(producer);
      value.is_output = graph_.is_output({v});
      const std::vector<Layout>& layouts = value_layouts_[static_cast<std::size_t>(v)];
      value.layout_count = std::max<int>(1, static_cast<int>(layouts.size()));
      value.conversion.assign(static_cast<std::size_t>(value.layout_count * value.layout_count), 0);
      if (graph_.is_constant({v})) continue;
      for (const NodeId reader : graph_.consumers({v})) value.positions.push_back(position(reader));
      std::sort(value.positions.begin(), value.positions.end());
      value.last_use = value.positions.empty() ? -1 : value.positions.back();
      if (layouts.size() > 1) fill_conversions({v}, layouts, value);
    }
  }

  void fill_conversions(ValueId id, const std::vector<Layout>& layouts, ProblemValue& value) const {
    const std::string type = to_string(graph_.value(id).type);
    for (std::size_t from = 0; from < layouts.size(); ++from) {
      for (std::size_t to = 0; to < layouts.size(); ++to) {
        if (from == to) continue;
        const auto it = costs_.conversions.find({type, layouts[from].text(), layouts[to].text()});
        value.conversion[from * layouts.size() + to] =
            it == costs_.conversions.end() ? kInfinite : it->second.cost.ns;
      }
    }
  }

  PlacementOption make_option(std::size_t id) {
    const Candidate& c = candidates_.list[id];
    PlacementOption option;
    option.candidate = static_cast<int>(id);
    const bool is_view = c.plugin == kViewPlugin;
    option.cost = is_view ? 0 : costs_.candidates[id].cost->ns + costs_.dispatch_ns;
    std::vector<int> positions;
    for (const NodeId node : c.nodes) positions.push_back(position(node));
    option.first = *std::min_element(positions.begin(), positions.end());
    for (const int p : positions) {
      const auto bit = static_cast<std::size_t>(p - option.first);
      if (option.cover.size() <= bit / 64) option.cover.resize(bit / 64 + 1, 0);
      option.cover[bit / 64] |= std::uint64_t{1} << (bit % 64);
    }
    for (std::size_t i = 0; i < c.inputs.size(); ++i) {
      option.inputs.push_back({c.inputs[i].index, layout_index(c.inputs[i], c.input_layouts[i])});
    }
    option.output_cost = 0;
    for (std::size_t i = 0; i < c.outputs.size(); ++i) {
      const LayoutPort port{c.outputs[i].index, layout_index(c.outputs[i], c.output_layouts[i])};
      option.outputs.push_back(port);
      const ProblemValue& value = problem_.values[static_cast<std::size_t>(port.value)];
      if (value.is_output) option.output_cost += value.convert(port.layout, value.dense);
    }
    const auto by_value = [](const LayoutPort& a, const LayoutPort& b) {
      return a.value < b.value;
    };
    std::sort(option.inputs.begin(), option.inputs.end(), by_value);
    std::sort(option.outputs.begin(), option.outputs.end(), by_value);
    return option;
  }

  void collect_options() {
    std::vector<std::vector<PlacementOption>> by_first(
        static_cast<std::size_t>(graph_.node_count()));
    for (std::size_t id = 0; id < candidates_.list.size(); ++id) {
      if (!is_candidate(id)) continue;
      PlacementOption option = make_option(id);
      if (option.output_cost == kInfinite) continue;
      auto& same_first = by_first[static_cast<std::size_t>(option.first)];
      const auto it = std::find_if(
          same_first.begin(), same_first.end(), [&option](const PlacementOption& other) {
            return other.cover == option.cover && other.inputs == option.inputs &&
                   other.outputs == option.outputs;
          });
      if (it == same_first.end()) {
        same_first.push_back(std::move(option));
      } else if (option.cost < it->cost) {
        *it = std::move(option);
      }
    }
    for (auto& group : by_first) {
      problem_.option_begin.push_back(static_cast<int>(problem_.options.size()));
      std::move(group.begin(), group.end(), std::back_inserter(problem_.options));
    }
    problem_.option_begin.push_back(static_cast<int>(problem_.options.size()));
  }

  template <typename Visit>
  static void for_each_position(const PlacementOption& option, const Visit& visit) {
    for (std::size_t word = 0; word < option.cover.size(); ++word) {
      for (std::uint64_t bits = option.cover[word]; bits != 0; bits &= bits - 1) {
        visit(option.first + static_cast<int>(word) * 64 + __builtin_ctzll(bits));
      }
    }
  }

  void fill_demand() {
    for (ProblemValue& value : problem_.values) value.demand_from.assign(value.positions.size(), 0);
    for (const PlacementOption& option : problem_.options) {
      for (const LayoutPort& input : option.inputs) {
        ProblemValue& value = problem_.values[static_cast<std::size_t>(input.value)];
        // Up to the last of the value's readers inside the option.
        const auto begin =
            std::lower_bound(value.positions.begin(), value.positions.end(), option.first);
        auto last = begin;
        for (auto it = begin; it != value.positions.end(); ++it) {
          const auto offset = static_cast<std::size_t>(*it - option.first);
          if (offset / 64 >= option.cover.size()) break;
          if ((option.cover[offset / 64] >> (offset % 64) & 1U) != 0) last = it;
        }
        value.demand_from[static_cast<std::size_t>(last - value.positions.begin())] |=
            std::uint32_t{1} << input.layout;
      }
    }
    for (ProblemValue& value : problem_.values) {
      for (std::size_t i = value.demand_from.size(); i-- > 1;)
        value.demand_from[i - 1] |= value.demand_from[i];
    }
  }

  void fill_shares() {
    const auto count = static_cast<std::size_t>(graph_.node_count());
    problem_.share.assign(count, kInfinite);
    for (const PlacementOption& option : problem_.options) {
      int covered = 0;
      for (const std::uint64_t word : option.cover) covered += __builtin_popcountll(word);
      const double share = (option.cost + option.output_cost) / covered;
      for_each_position(option, [&](int p) {
        double& least = problem_.share[static_cast<std::size_t>(p)];
        least = std::min(least, share);
      });
    }
    problem_.share_from.assign(count + 1, 0);
    for (std::size_t p = count; p-- > 0;) {
      if (problem_.share[p] == kInfinite) {
        const Node& node = graph_.node(problem_.order[p]);
        throw Error(Code::kUnsupported,
                    fmt::format("{} '{}': no candidate has a cost", node.op, node.name));
      }
      problem_.share_from[p] = problem_.share_from[p + 1] + problem_.share[p];
    }
  }

  const Graph& graph_;
  const Candidates& candidates_;
  const CostTable& costs_;
  const std::vector<bool>& allowed_;
  LayoutUse layouts_;
  PlacementProblem problem_;
  std::vector<std::vector<Layout>> value_layouts_;
  std::vector<int> position_;
};

}  // namespace

std::uint32_t ProblemValue::demand_at(int position) const {
  const auto it = std::lower_bound(positions.begin(), positions.end(), position);
  return it == positions.end() ? 0 : demand_from[static_cast<std::size_t>(it - positions.begin())];
}

PlacementProblem make_problem(const Graph& graph, const Candidates& candidates,
                              const CostTable& costs, const std::vector<bool>& allowed,
                              LayoutUse layouts) {
  return ProblemMaker(graph, candidates, costs, allowed, layouts).make();
}

}  // namespace inlay
