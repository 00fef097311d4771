#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "graphs/onnx/export.h"
#include "graphs/zoo/zoo.h"
#include "search/cli/command.h"
#include "search/cli/printable.h"
#include "search/cli/seed.h"
#include "search/report/count.h"
#include "search/report/table.h"

namespace inlay::cli {
namespace {

struct ExportFlags {
  std::string model;
  std::string output;
  // The newest in which every exporter wrote GELU and layer normalization out, so that a network
  // of the zoo is what users' files are.
  std::int64_t opset = 16;
  ZooOptions options;
};

int list_models(const Common& common) {
  if (common.json) {
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const ZooModel& m : zoo_models()) {
      json.push_back({{"name", m.name},
                      {"description", m.description},
                      {"source", m.source},
                      {"parameters", m.parameters},
                      {"flops", m.flops}});
    }
    fmt::print("{}\n", json_text(json));
    return 0;
  }
  Table table({{"model"}, {"parameters", Align::kRight}, {"GFLOPs", Align::kRight}, {"what"}});
  for (const ZooModel& m : zoo_models()) {
    table.add({std::string(m.name), fmt::format("{:.2f} M", m.parameters / 1e6),
               fmt::format("{:.2f}", m.flops / 1e9), std::string(m.description)});
  }
  fmt::print("{}", table.text());
  return 0;
}

int export_model(const Common& common, const ExportFlags& flags) {
  const Graph graph = build_zoo_model(flags.model, flags.options);
  export_onnx(graph, flags.output, flags.opset);
  const nlohmann::ordered_json json{{"file", flags.output},
                                    {"nodes", graph.node_count()},
                                    {"parameters", count_parameters(graph)},
                                    {"flops", count_flops(graph)}};
  if (common.json) {
    fmt::print("{}\n", json_text(json));
  } else {
    fmt::print(
        "{}: {}, {:.2f} M parameters, {}\n", flags.output, count_of(graph.node_count(), "node"),
        static_cast<double>(count_parameters(graph)) / 1e6, format_flops(count_flops(graph)));
  }
  return 0;
}

}  // namespace

void add_zoo(CLI::App& app, Common& common) {
  CLI::App* command =
      app.add_subcommand("zoo", "Well-known networks built in code; each command takes --json");
  command->require_subcommand(1);

  CLI::App* list =
      command->add_subcommand("list", "List the networks (--json gives their sources too)");
  add_json_flag(*list, common);
  list->callback([&common] { common.run = [&common] { return list_models(common); }; });

  CLI::App* exporter = command->add_subcommand("export", "Write a network as an ONNX file");
  auto flags = std::make_shared<ExportFlags>();
  exporter->add_option("model", flags->model, "Name, from inlay zoo list")
      ->required()
      ->type_name("NAME");
  exporter->add_option("-o,--output", flags->output, "File to write")
      ->required()
      ->type_name("FILE");
  exporter
      ->add_option("--opset", flags->opset,
                   fmt::format("ONNX opset, {} to {}; what it lacks is written out as simpler "
                               "operators (default: {})",
                               kOldestExportOpset, kNewestExportOpset, flags->opset))
      ->type_name("N")
      ->check(CLI::Range(kOldestExportOpset, kNewestExportOpset).description(""));
  exporter
      ->add_option("--batch", flags->options.batch,
                   fmt::format("Batch size (default: {})", flags->options.batch))
      ->type_name("N")
      ->check(CLI::Validator(CLI::PositiveNumber).description(""));
  exporter
      ->add_option("--image-size", flags->options.image_size,
                   "Pixels of a side, square (default: as published)")
      ->type_name("N")
      ->check(CLI::Validator(CLI::PositiveNumber).description(""));
  exporter
      ->add_option("--sequence-length", flags->options.sequence_length,
                   "Tokens or steps (default: the model's)")
      ->type_name("N")
      ->check(CLI::Validator(CLI::PositiveNumber).description(""));
  exporter
      ->add_option("--nodes", flags->options.nodes, "Nodes of the graph (default: as published)")
      ->type_name("N")
      ->check(CLI::Validator(CLI::PositiveNumber).description(""));
  exporter
      ->add_option("--seed", flags->options.seed,
                   fmt::format("Seed of the weights (default: {})", flags->options.seed))
      ->type_name("N")
      ->check(CLI::Validator(check_seed, ""));
  add_json_flag(*exporter, common);
  exporter->callback(
      [&common, flags] { common.run = [&common, flags] { return export_model(common, *flags); }; });
}

}  // namespace inlay::cli
