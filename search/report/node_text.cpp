// One node, or the list of them, out of a report.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "core/base/error.h"
#include "search/candidates/candidates.h"
#include "search/candidates/nearest_names.h"
#include "search/report/count.h"
#include "search/report/report.h"
#include "search/report/report_text.h"
#include "search/report/table.h"

namespace inlay {
namespace {

const Report& find_node(const Report& report, const std::string& name) {
  std::vector<std::pair<std::string, std::string>> nodes;
  for (const Report& node : report["nodes"]) {
    if (node["name"] == name) return node;
    nodes.emplace_back(node["name"], node["op"]);
  }
  throw Error(Code::kNotFound,
              fmt::format("no node '{}' in the plan; nearest: {} (explain --nodes lists all {})",
                          name, join(nearest_names(name, nodes), ", "), nodes.size()));
}

// How many nodes a candidate covers; the report names the first of many only.
std::size_t node_count(const Report& candidate) {
  return candidate["nodes"].size() + candidate.value("more_nodes", std::size_t{0});
}

// "conv1 + relu1", and of many nodes the first few.
std::string nodes_text(const Report& candidate) {
  constexpr std::size_t kMostShown = 6;
  const std::size_t count = node_count(candidate);
  if (count <= kMostShown) return join(candidate["nodes"], " + ");
  Report shown = Report::array();
  for (std::size_t i = 0; i + 1 < kMostShown; ++i) shown.push_back(candidate["nodes"][i]);
  return fmt::format("{} + {} more", join(shown, " + "), count - shown.size());
}

const Report* find_chosen(const Report& node) {
  for (const Report& c : node["candidates"]) {
    if (c["chosen"].get<bool>()) return &c;
  }
  return nullptr;
}

// The cheapest way to run a set of nodes in pieces smaller than the whole, by dynamic programming
// over the subsets; each piece costs its time and a dispatch.
class Pieces {
 public:
  Pieces(const Report& report, const Report& region)
      : dispatch_ns_(report["boundaries"]["dispatch_ns_per_step"]), region_(region) {
    for (std::size_t i = 0; i < region.size(); ++i) bits_[region[i].get<std::string>()] = i;
    for (const Report& node : report["nodes"]) {
      if (!bits_.contains(node["name"])) continue;
      // Each candidate is listed at every node it covers; here it counts at its first.
      for (const Report& c : node["candidates"]) {
        if (c.contains("cost") && c["nodes"][0] == node["name"]) add(c);
      }
    }
  }

  // The pieces, in the order of the nodes; empty if there are none.
  std::vector<const Report*> cheapest() const {
    const std::size_t all = (std::size_t{1} << region_.size()) - 1;
    std::vector<double> best(all + 1, std::numeric_limits<double>::infinity());
    std::vector<const Piece*> last(all + 1);
    best[0] = 0;
    for (std::size_t done = 0; done < all; ++done) {
      const std::size_t next = ~done & (done + 1);  // the first node that is not covered yet
      for (const Piece& piece : pieces_) {
        if ((piece.mask & next) == 0 || (piece.mask & done) != 0) continue;
        const double ns = best[done] + piece.ns;
        if (ns >= best[done | piece.mask]) continue;
        best[done | piece.mask] = ns;
        last[done | piece.mask] = &piece;
      }
    }
    std::vector<const Report*> way;
    for (std::size_t at = all; at != 0 && last[at] != nullptr; at &= ~last[at]->mask) {
      way.push_back(last[at]->candidate);
    }
    std::reverse(way.begin(), way.end());
    return way;
  }

 private:
  struct Piece {
    std::size_t mask;
    double ns;
    const Report* candidate;
  };

  void add(const Report& candidate) {
    if (node_count(candidate) >= region_.size()) return;
    std::size_t mask = 0;
    for (const Report& node : candidate["nodes"]) {
      const auto bit = bits_.find(node);
      if (bit == bits_.end()) return;
      mask |= std::size_t{1} << bit->second;
    }
    pieces_.push_back({mask, candidate["cost"]["ns"].get<double>() + dispatch_ns_, &candidate});
  }

  double dispatch_ns_;
  const Report& region_;
  std::map<std::string, std::size_t> bits_;
  std::vector<Piece> pieces_;
};

// The chosen region, if of several nodes, beside the cheapest pieces that do the same.
std::optional<Report> compare_region(const Report& report, const Report& node) {
  constexpr std::size_t kMostNodes = 16;  // 2^16 subsets
  const Report* chosen = find_chosen(node);
  if (chosen == nullptr || !chosen->contains("cost")) return std::nullopt;
  const Report& region = (*chosen)["nodes"];
  if (node_count(*chosen) < 2 || node_count(*chosen) > kMostNodes) return std::nullopt;
  const std::vector<const Report*> way = Pieces(report, region).cheapest();
  if (way.empty()) return std::nullopt;
  const double dispatch_ns = report["boundaries"]["dispatch_ns_per_step"];
  double pieces_ns = 0;
  Report pieces = Report::array();
  for (const Report* piece : way) {
    const double ns = (*piece)["cost"]["ns"].get<double>() + dispatch_ns;
    pieces_ns += ns;
    pieces.push_back({{"plugin", (*piece)["plugin"]}, {"nodes", (*piece)["nodes"]}, {"ns", ns}});
  }
  return Report{{"nodes", region},
                {"ns", (*chosen)["cost"]["ns"].get<double>() + dispatch_ns},
                {"in_pieces_ns", pieces_ns},
                {"pieces", std::move(pieces)}};
}

std::string region_text(const Report& region, const std::string& name) {
  Report others = Report::array();
  for (const Report& node : region["nodes"]) {
    if (node != name) others.push_back(node);
  }
  std::string text = fmt::format(
      "\nfused with {}: {} for {}, against {} for the cheapest pieces:\n", join(others, ", "),
      format_ns(region["ns"]), count_of(static_cast<std::int64_t>(region["nodes"].size()), "node"),
      format_ns(region["in_pieces_ns"]));
  for (const Report& piece : region["pieces"]) {
    text += fmt::format("  {} on {}: {}\n", join(piece["nodes"], " + "),
                        piece["plugin"].get<std::string>(), format_ns(piece["ns"]));
  }
  return text +
         "(each with its dispatch; without layout conversions, which the search counts as well)\n";
}

// Candidates that cost something, by the nodes they cover: those that hold the chosen one first,
// then the smaller sets; the cheapest of a set first.
std::vector<const Report*> priced_in_order(const Report& node) {
  const Report* chosen = find_chosen(node);
  std::vector<const Report*> rows;
  for (const Report& c : node["candidates"]) {
    if (c.contains("cost")) rows.push_back(&c);
  }
  const auto key = [&](const Report& c) {
    const bool is_chosen_set = chosen != nullptr && c["nodes"] == (*chosen)["nodes"] &&
                               node_count(c) == node_count(*chosen);
    return std::make_tuple(!is_chosen_set, node_count(c), join(c["nodes"], "+"),
                           !c["chosen"].get<bool>(), c["cost"]["ns"].get<double>());
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const Report* a, const Report* b) { return key(*a) < key(*b); });
  return rows;
}

// How many threads a candidate was measured best with.
std::string most_threads_text(const Report& candidate) {
  const int most = candidate["most_threads"].get<int>();
  return most == 0 ? "all" : fmt::format("{}", most);
}

// Rows under a line for each set of nodes.
std::string candidate_table(const Report& node, std::size_t width) {
  Table table({{""},
               {"time", Align::kRight},
               {"95%", Align::kRight},
               {"threads", Align::kRight},
               {"plugin"},
               {"pattern"},
               {"layouts"}});
  const std::vector<const Report*> rows = priced_in_order(node);
  for (const Report* c : rows) {
    const bool is_view = (*c)["plugin"] == kViewPlugin;
    table.add({(*c)["chosen"].get<bool>() ? "*" : "", time_text((*c)["cost"]["ns"]),
               spread((*c)["cost"]), most_threads_text(*c),
               is_view ? "none" : (*c)["plugin"].get<std::string>(), (*c)["pattern"],
               join((*c)["input_layouts"], ",") + " → " + join((*c)["output_layouts"], ",")});
  }
  const std::string lines = table.text(width);
  std::size_t at = lines.find('\n') + 1;
  std::string text = lines.substr(0, at);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool is_same = i > 0 && (*rows[i])["nodes"] == (*rows[i - 1])["nodes"] &&
                         node_count(*rows[i]) == node_count(*rows[i - 1]);
    if (!is_same) text += nodes_text(*rows[i]) + "\n";
    const std::size_t end = lines.find('\n', at) + 1;
    text += lines.substr(at, end - at);
    at = end;
  }
  return text;
}

// Candidates without a cost; those that differ in their layouts only as one.
std::string refusal_lines(const Report& node) {
  std::map<std::string, int> counts;
  std::vector<std::string> order;
  for (const Report& c : node["candidates"]) {
    if (c.contains("cost")) continue;
    std::string line =
        fmt::format("  {} {} ({}): {}", c["plugin"].get<std::string>(),
                    c["pattern"].get<std::string>(), nodes_text(c), c["reason"].get<std::string>());
    if (++counts[line] == 1) order.push_back(std::move(line));
  }
  std::string text = order.empty() ? "" : "\nout of the question\n";
  for (const std::string& line : order) {
    const int count = counts[line];
    text += count == 1 ? line + "\n" : fmt::format("{} ({} layouts)\n", line, count);
  }
  return text;
}

std::string why_not_lines(const Report& node) {
  std::map<std::string, std::vector<std::string>> others;
  for (const Report& why : node["why_not"]) {
    others[why["plugin"]].push_back(
        fmt::format("{}: {}", why["pattern"].get<std::string>(), why["reason"].get<std::string>()));
  }
  std::string text;
  for (const auto& [plugin, reasons] : others) {
    text += fmt::format("\n{} does not take it as\n", plugin);
    for (const std::string& reason : reasons) text += "  " + reason + "\n";
  }
  return text;
}

}  // namespace

Report explain_node(const Report& report, const std::string& name) {
  Report node = find_node(report, name);
  if (std::optional<Report> region = compare_region(report, node)) node["region"] = *region;
  return node;
}

std::string render_node(const Report& report, const std::string& name, std::size_t width) {
  const Report node = printable_texts(explain_node(report, name));
  const auto shown = printable_texts(name).get<std::string>();
  std::string text = fmt::format("{}: {} → {}\n\n", shown, node["op"].get<std::string>(),
                                 node["output"].get<std::string>());
  text += candidate_table(node, width);
  if (node.contains("region")) text += region_text(node["region"], shown);
  return text + refusal_lines(node) + why_not_lines(node);
}

Report list_nodes(const Report& report) {
  const double total_ns = find_winner(report)["predicted_ns"];
  Report rows = Report::array();
  for (const Report& node : report["nodes"]) {
    const Report* chosen = find_chosen(node);
    Report row{{"name", node["name"]}, {"op", node["op"]}};
    if (chosen != nullptr) {
      row["plugin"] = (*chosen)["plugin"];
      const Report& first = (*chosen)["nodes"][0];
      if (first == node["name"]) {
        row["predicted_ns"] = (*chosen)["cost"]["ns"];
        row["share"] = total_ns > 0 ? row["predicted_ns"].get<double>() / total_ns : 0.0;
      } else {
        row["fused_into"] = first;
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string render_nodes(const Report& report, std::size_t width) {
  Table table({{"predicted", Align::kRight},
               {"share", Align::kRight},
               {"plugin"},
               {"operator"},
               {"node"},
               {"fused into"}});
  for (const Report& row : list_nodes(report)) {
    const std::string plugin = row.value("plugin", "");
    std::string ns;
    std::string share;
    if (row.contains("share")) {
      ns = time_text(row["predicted_ns"]);
      share = share_of(row["share"], 1);
    }
    table.add({ns, share, plugin == kViewPlugin ? "none (a view)" : plugin, row["op"], row["name"],
               row.value("fused_into", "")});
  }
  const Report& boundaries = report["boundaries"];
  const double total_ns = find_winner(report)["predicted_ns"];
  return table.text(width) +
         fmt::format(
             "shares are of the plan's predicted {}, in which layout conversions are {} and "
             "dispatch is {}\n",
             format_ns(total_ns), share_of(boundaries["conversion_ns"], total_ns),
             share_of(boundaries["dispatch_ns"], total_ns));
}

}  // namespace inlay
