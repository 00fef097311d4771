// A plan: all that is needed to run a placed model, given its weights file and the plugins. Text on
// disk (plan_text.h), reproducible: it holds no times.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/plan/region.h"

namespace inlay {

// What a plan was made for; running elsewhere is refused with the difference named.
struct PlanPlugin {
  std::string name;
  std::string version;
  std::string build_id;     // of the shared library
  std::string device;       // "cpu"
  std::string fingerprint;  // of the device
  bool operator==(const PlanPlugin&) const = default;
};

enum class Storage {
  kInput,      // the caller's memory
  kOutput,     // the caller's memory
  kTemporary,  // arena, at offset_bytes
  kConstant,   // weights file
  kView,       // the bytes of value `view_of` under another shape
};

struct PlanValue {
  std::string name;
  TensorType type;
  Layout layout;
  std::string space = "host";
  Storage storage = Storage::kTemporary;
  std::uint64_t offset_bytes = 0;  // kTemporary: into the arena
  int view_of = -1;                // kView: an earlier value, itself not a view
  int constant = -1;               // kConstant: index into Plan::constants
  // kTemporary: the earlier temporaries that lie in it one after another and fill it, so that no
  // step writes it; empty for any other value.
  std::vector<int> parts;
  bool operator==(const PlanValue&) const = default;
};

// Dense bytes in the weights file. `hash` is checked when the file is opened.
struct PlanConstant {
  std::string name;
  TensorType type;
  Hash hash;
  std::uint64_t offset_bytes = 0;
  std::uint64_t size_bytes = 0;
  bool operator==(const PlanConstant&) const = default;
};

enum class StepKind {
  kRun,      // a plugin's program
  kConvert,  // the host's own layout conversion, one input, one output
  kCopy,     // dense bytes from one value to another: an output that is also an input, constant or
             // another output
};

struct PlanStep {
  StepKind kind = StepKind::kRun;
  int plugin = -1;           // kRun: index into Plan::plugins
  int region = -1;           // kRun: index into Plan::regions; equal regions are stored once
  std::vector<int> inputs;   // values, in the region's order
  std::vector<int> outputs;  // values; kOutput or kTemporary
  // kRun: for each constant value of the region that carries no bytes, in order, the index into
  // Plan::constants.
  std::vector<int> constants;
  std::vector<std::string> nodes;  // names of the model's nodes it covers, for reports
  bool operator==(const PlanStep&) const = default;
};

struct Plan {
  std::string model;       // graph name
  std::string model_hash;  // of graph and constants, hex
  int threads = 1;
  std::vector<PlanPlugin> plugins;
  std::vector<PlanConstant> constants;
  std::vector<Region> regions;  // only inline constants carry bytes
  std::vector<PlanValue> values;
  std::vector<PlanStep> steps;
  std::vector<int> inputs;   // values
  std::vector<int> outputs;  // values
  std::uint64_t arena_bytes = 0;
  std::uint64_t arena_lower_bound_bytes = 0;  // the most bytes live at once
  bool operator==(const Plan&) const = default;
};

}  // namespace inlay
