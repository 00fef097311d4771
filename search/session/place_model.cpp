#include "search/session/place_model.h"

#include "core/host/evaluate.h"
#include "core/run/worker_client.h"
#include "graphs/pattern/recognize.h"
#include "search/cost/database.h"

namespace inlay {

Imported import_model(const std::filesystem::path& model,
                      const std::map<std::string, Shape>& shapes, PluginHost& host,
                      const std::map<std::string, double>& values) {
  ImportOptions options;
  options.shapes = shapes;
  options.numbers = values;
  const std::shared_ptr<Device> reference = host.open_device("reference");
  options.evaluate = [reference](const Region& region) { return evaluate(region, {}, *reference); };
  Imported imported = import_onnx(model, options);
  Recognized recognized = recognize_operators(imported.graph);
  imported.graph = std::move(recognized.graph);
  for (Recognition& change : recognized.changes) {
    imported.rewrites.push_back({std::move(change.kind), std::move(change.nodes), true});
  }
  return imported;
}

PlacedModel place_model(const std::filesystem::path& model, const ModelOptions& options,
                        PluginHost& host, const HostOptions& host_options, Log& log) {
  Imported imported = import_model(model, options.shapes, host, options.values);
  CostDatabase database(options.database.empty() ? default_database_path() : options.database,
                        {.is_remeasuring = options.is_remeasuring});
  WorkerClient worker({.search_path = host_options.search_path,
                       .exclude = host_options.exclude,
                       .threads = host_options.threads,
                       .isolate = host_options.isolate,
                       .executable = options.worker,
                       .cancelled = options.cancelled});
  const PriceContext context{.host = host,
                             .database = database,
                             .worker = worker,
                             .log = log,
                             .progress = options.progress,
                             .budget = options.budget,
                             .cancelled = options.cancelled,
                             .seed = options.seed};
  PlaceOptions place_options;
  place_options.strategy = options.strategy;
  place_options.filter = {
      .exclude = host_options.exclude, .pins = options.pins, .is_fusing = options.is_fusing};
  place_options.limits.cancelled = options.cancelled;
  Placed placed = place(imported.graph, context, place_options);
  return {std::move(imported), std::move(placed)};
}

}  // namespace inlay
