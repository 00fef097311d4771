// Decides whether the constraints of a pattern hold for one binding of its variables and nodes.
//
//   const ConstraintFailure failure = check_constraints(graph, pattern.constraints, binding);
//   if (failure.reason.empty()) ...   // all hold; else "k%16==0 fails: k=13"
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graphs/ir/graph.h"
#include "graphs/pattern/pattern_data.h"

namespace inlay {

struct Binding {
  std::map<std::string, ValueId> ports;      // variables and outputs that are there
  std::map<std::string, const Node*> nodes;  // by alias and by the operator it really is
};

// The outputs that a match's last node has become its ports out, out1, …
void bind_outputs(const Node& last, std::map<std::string, ValueId>& ports);

struct ConstraintFailure {
  std::string reason;  // empty: all hold
  int progress = 0;    // how far the check came; of several failed bindings the furthest says most
};

ConstraintFailure check_constraints(
    const Graph& graph, const std::vector<std::shared_ptr<const Constraint>>& constraints,
    const Binding& binding);

}  // namespace inlay
