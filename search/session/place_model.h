// From an ONNX file to a placed plan in one call: what `inlay place` and open_model share.
//
//   const PlacedModel model = place_model("m.onnx", {.shapes = {{"x", {1, 3, 48, 192}}}}, host,
//                                         host_options, log);
//   write_weights("m.weights", model.placed.lowered.plan.constants, model.placed.lowered.weights);
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "core/host/plugin_host.h"
#include "graphs/onnx/import.h"
#include "search/place.h"

namespace inlay {

struct ModelOptions {
  std::map<std::string, Shape> shapes;      // of inputs, binding symbolic dimensions
  std::map<std::string, double> values;     // of inputs that shall be constants, each element
  std::string strategy = "dynamic";         // one of strategy_names()
  std::map<std::string, std::string> pins;  // node name → plugin
  bool is_fusing = true;                    // false: every node is a region of its own
  std::chrono::milliseconds budget{0};      // for measuring; 0: no limit
  bool is_remeasuring = false;  // measure also what the database holds, and replace it
  std::uint64_t seed = 1;
  std::filesystem::path database;  // of measurements; empty: default_database_path()
  // Empty: INLAY_WORKER_PATH, else inlay-worker beside the running program.
  std::filesystem::path worker;
  PriceProgress progress;
  const std::atomic<bool>* cancelled = nullptr;
};

struct PlacedModel {
  Imported imported;
  Placed placed;
};

// Imports a model, with constants folded by the reference plugin and unrolled operators recognised.
// throws  Error{kNotFound} if there is no reference plugin; all that import_onnx throws
Imported import_model(const std::filesystem::path& model,
                      const std::map<std::string, Shape>& shapes, PluginHost& host,
                      const std::map<std::string, double>& values = {});

// `host_options`: those of `host`; the worker gets the same plugins and threads.
// throws  what import_model and place throw; Error{kIo, kBusy, kCorrupt} from the database
PlacedModel place_model(const std::filesystem::path& model, const ModelOptions& options,
                        PluginHost& host, const HostOptions& host_options, Log& log);

}  // namespace inlay
