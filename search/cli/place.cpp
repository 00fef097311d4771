#include <fmt/format.h>

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "core/base/file.h"
#include "core/plan/plan_text.h"
#include "search/cli/command.h"
#include "search/cli/files.h"
#include "search/cli/printable.h"
#include "search/cli/progress.h"
#include "search/cli/seed.h"
#include "search/cli/session.h"
#include "search/cli/terminal.h"
#include "search/report/count.h"
#include "search/report/report.h"
#include "search/report/table.h"
#include "search/session/place_model.h"

namespace inlay::cli {
namespace {

struct PlaceFlags {
  std::string model;
  std::string output;
  std::string strategy = "dynamic";
  ImportFlags import;
  std::vector<std::string> pins;
  std::string fuse = "on";
  double budget_s = 0;
  bool remeasure = false;
  std::uint64_t seed = 1;
};

std::filesystem::path output_path(const PlaceFlags& flags) {
  if (!flags.output.empty()) return flags.output;
  return std::filesystem::path(flags.model).replace_extension(".plan");
}

// Finds out before the long work whether its result can be written.
void check_writable(const PlanFiles& files, const std::string& model) {
  if (files.plan.extension() != ".plan") {
    throw Error(Code::kInvalidArgument,
                fmt::format("--output {}: expected a name ending in .plan", files.plan.string()));
  }
  for (const std::filesystem::path& file : {files.plan, files.weights, files.report}) {
    refuse_same_file("--output", file, {{model, "the model"}});
  }
  const std::filesystem::path folder =
      files.plan.has_parent_path() ? files.plan.parent_path() : ".";
  if (!std::filesystem::is_directory(folder)) {
    throw Error(Code::kNotFound, fmt::format("--output {}: folder '{}' does not exist",
                                             files.plan.string(), folder.string()));
  }
  if (std::filesystem::is_directory(files.plan)) {
    throw Error(Code::kInvalidArgument,
                fmt::format("--output {}: expected a file, found a folder", files.plan.string()));
  }
  if (::access(folder.c_str(), W_OK) != 0) {
    throw Error(Code::kIo, fmt::format("--output {}: folder '{}' cannot be written to: {}",
                                       files.plan.string(), folder.string(), std::strerror(errno)));
  }
}

// The plan goes last: where it stands, its weights and report stand too.
void write_all(const PlanFiles& files, const Placed& placed, const Report& report) {
  write_weights(files.weights, placed.lowered.plan.constants, placed.lowered.weights);
  write_file(files.report, json_text(report) + "\n");
  write_file(files.plan, to_text(placed.lowered.plan));
}

int run_place(const Common& common, const PlaceFlags& flags) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const PlanFiles files = plan_files(output_path(flags));
  check_writable(files, flags.model);
  watch_interrupts();

  Session session(common);
  ProgressLine progress;
  ModelOptions options;
  options.shapes = parse_shapes(flags.import.shapes);
  options.values = parse_values(flags.import.values);
  options.strategy = flags.strategy;
  options.pins = parse_pairs("--pin", flags.pins);
  options.is_fusing = flags.fuse == "on";
  options.budget = std::chrono::milliseconds(static_cast<std::int64_t>(flags.budget_s * 1e3));
  options.is_remeasuring = flags.remeasure;
  options.seed = flags.seed;
  options.database = database_path(common.database);
  options.progress = [&](int done, int total, const std::string& what) {
    progress.update(done, total, what);
  };
  options.cancelled = &interrupted();
  const auto [imported, placed] =
      place_model(flags.model, options, session.host, session.host_options, *session.log);
  progress.clear();
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const Report report =
      make_report(imported.graph, placed, {.threads = session.pool.threads(), .seconds = seconds});
  write_all(files, placed, report);
  if (common.json) {
    Report json = report;
    json["files"] = {{"plan", files.plan.string()},
                     {"weights", files.weights.string()},
                     {"report", files.report.string()}};
    fmt::print("{}\n", json_text(json));
  } else {
    fmt::print("{}\nwrote {}: a plan of {}\nwrote {}: {}\nwrote {}: what inlay explain reads\n",
               render_summary(report, terminal_width(STDOUT_FILENO)), files.plan.string(),
               count_of(std::ssize(placed.lowered.plan.steps), "step"), files.weights.string(),
               format_bytes(static_cast<double>(std::filesystem::file_size(files.weights))),
               files.report.string());
  }
  return 0;
}

}  // namespace

void add_place(CLI::App& app, Common& common) {
  CLI::App* command =
      app.add_subcommand("place", "Place a model: measure, search, race, write a plan");
  auto flags = std::make_shared<PlaceFlags>();
  command->add_option("model", flags->model, "ONNX file")->required()->type_name("FILE");
  command
      ->add_option("-o,--output", flags->output,
                   "Plan to write; NAME.weights and NAME.report.json go beside NAME.plan\n"
                   "(default: the model's name with .plan)")
      ->type_name("PLAN");
  add_import_flags(*command, flags->import);
  command
      ->add_option("--strategy", flags->strategy,
                   fmt::format("single: the best one backend; dynamic: the best mix (default: {})",
                               flags->strategy))
      ->type_name("NAME")
      ->check(CLI::IsMember(strategy_names()).description(""));
  command->add_option("--pin", flags->pins, "Run this node on this plugin; may be repeated")
      ->type_name("NODE=PLUGIN")
      ->allow_extra_args(false);
  command
      ->add_option(
          "--fuse", flags->fuse,
          fmt::format("off: every node is a region of its own, to look for a wrong fusion\n"
                      "(default: {})",
                      flags->fuse))
      ->type_name("on|off")
      ->check(CLI::IsMember({"on", "off"}).description(""));
  command
      ->add_option("--budget", flags->budget_s, "Seconds to spend on measuring (default: no limit)")
      ->type_name("SECONDS")
      ->check(CLI::Validator(check_positive, ""));
  command->add_flag("--remeasure", flags->remeasure,
                    "Measure anew what the database holds of this model, and replace it");
  command
      ->add_option(
          "--seed", flags->seed,
          fmt::format("Seed of the inputs used to measure and check (default: {})", flags->seed))
      ->type_name("N")
      ->check(CLI::Validator(check_seed, ""));
  add_plugin_flags(*command, common);
  add_isolate_flag(*command, common);
  add_threads_flag(*command, common, "all there are");
  add_database_flag(*command, common);
  add_json_flag(*command, common);
  command->callback(
      [&common, flags] { common.run = [&common, flags] { return run_place(common, *flags); }; });
}

}  // namespace inlay::cli
