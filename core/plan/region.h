// A convex part of a graph as data: what is compiled, measured, cached and written into a plan. The
// same content as the ABI's inlay_region, owned.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/attribute.h"
#include "core/base/hash.h"
#include "core/base/layout.h"

namespace inlay {

// A constant of up to this many elements is a parameter (an exponent, a threshold) rather than a
// weight: a region always carries its bytes, and they count in every hash.
inline constexpr std::int64_t kMaxInlineElements = 64;

struct RegionValue {
  std::string name;
  std::string port;  // pattern variable bound to it; empty if none
  TensorType type;
  Layout layout;
  bool is_constant = false;
  std::optional<Tensor>
      constant;  // the bytes; absent in a plan, where the step names them (PlanStep::constants)
  bool operator==(const RegionValue&) const = default;
};

struct RegionNode {
  std::string name;
  std::string domain;
  std::string op;
  std::vector<int> inputs;   // value indices, -1 omitted
  std::vector<int> outputs;  // value indices, -1 unread
  Attributes attributes;
  bool operator==(const RegionNode&) const = default;
};

struct Region {
  std::string pattern;  // id of the plugin's pattern
  std::vector<RegionValue> values;
  std::vector<RegionNode> nodes;  // topological order
  std::vector<int> inputs;        // non-constant values read from outside, in order of first use
  std::vector<int> outputs;       // values read outside, in order of production
  // The most threads a run of it may use; 0: the plan's. A small region gains nothing from more
  // than one and pays for waking the others.
  int most_threads = 0;
  bool operator==(const Region&) const = default;
};

// Equal for regions that do the same work: operators, attributes, types, layouts, structure, which
// values are constant, threads; names left out. `with_constants` adds the constants' bytes (an
// artefact's identity); without them it is the key of a measurement, whose time does not depend on
// the values of weights. Inline constants (kMaxInlineElements) count in both.
Hash region_hash(const Region& region, bool with_constants);

// "Relu(Conv(x, w, b))"-like one-liner for messages and reports: operators and the first output's
// type.
std::string summary(const Region& region);

}  // namespace inlay
