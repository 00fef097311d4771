// One graph drawn for one pattern: its operators, with operands that its constraints may allow.
//
//   const std::optional<Graph> graph = draw_graph(pattern, {.root = "Conv", .links = 1}, draw);
//
// Whether the pattern matches it says the matcher; about one in ten does.
#pragma once

#include <optional>
#include <string>

#include "graphs/ir/graph.h"
#include "graphs/pattern/pattern.h"
#include "search/check/operand_types.h"

namespace inlay::check {

struct DrawnForm {
  std::string root;  // which of the alternatives of the last operator (of `match`); empty: any
  int links = 0;     // of the fuse rule
};

// nullopt if the draw came to nothing, as where operands did not fit.
std::optional<Graph> draw_graph(const Pattern& pattern, const DrawnForm& form, Draw& draw);

// Graphs for an engine's rule: a node of the operator, and what feeds it.
std::optional<Graph> draw_node_graph(const std::string& op, Draw& draw);

}  // namespace inlay::check
