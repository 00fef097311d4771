// The one text form of a plan: JSON with a fixed key order, so that equal plans give equal bytes.
// Doubles as the worker protocol's form and the golden form of tests.
//
//   write_file("m.plan", to_text(plan));   const Plan plan = parse_plan(read_text("m.plan"),
//   "m.plan");
#pragma once

#include <string>
#include <string_view>

#include "core/plan/plan.h"

namespace inlay {

std::string to_text(const Plan& plan);

// Checks everything that running relies on: index ranges, shapes, layouts, storage, offsets inside
// the arena, step order (a value is written before it is read, once), so that a damaged plan is
// refused here and cannot crash the executor. A plan changed since it was written (key
// content_hash) is refused too; one written by hand has no such key.
// throws  Error{kCorrupt} "m.plan: steps[3].inputs[0]: expected a value index below 12, found 99"
Plan parse_plan(std::string_view text, const std::string& source);

// Of all that a plan says, but for the builds and devices it is locked to: those are compared with
// what is there. A plugin relies on what its patterns promised, and no code here can tell whether a
// changed region or step still keeps it.
Hash content_hash(const Plan& plan);

}  // namespace inlay
