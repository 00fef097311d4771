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
#include "search/cli/session.h"
#include "search/report/report.h"
#include "search/session/place_model.h"

namespace inlay::cli {
namespace {

struct PlaceFlags {
  std::string model;
  std::string output;
  std::string strategy = "dynamic";
  std::vector<std::string> shapes;
  std::vector<std::string> pins;
  double budget_s = 0;
  std::uint64_t seed = 1;
};

std::filesystem::path output_path(const PlaceFlags& flags) {
  if (!flags.output.empty()) return flags.output;
  return std::filesystem::path(flags.model).replace_extension(".plan");
}

// Finds out before the long work whether its result can be written.
void check_writable(const PlanFiles& files) {
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
  check_writable(files);
  watch_interrupts();

  Session session(common);
  ProgressLine progress;
  ModelOptions options;
  options.shapes = parse_shapes(flags.shapes);
  options.strategy = flags.strategy;
  options.pins = parse_pairs("--pin", flags.pins);
  options.budget = std::chrono::milliseconds(static_cast<std::int64_t>(flags.budget_s * 1e3));
  options.seed = flags.seed;
  options.database = common.database;
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
    fmt::print("{}\n", json_text(report));
  } else {
    fmt::print("{}\n{}: plan of {} steps\n", render_summary(report), files.plan.string(),
               placed.lowered.plan.steps.size());
  }
  return 0;
}

}  // namespace

void add_place(CLI::App& app, Common& common) {
  CLI::App* command = app.add_subcommand(
      "place", "Place a model: measure, search, write NAME.plan and NAME.weights");
  auto flags = std::make_shared<PlaceFlags>();
  command->add_option("model", flags->model, "ONNX file")->required()->type_name("FILE");
  command
      ->add_option("-o,--output", flags->output,
                   "Plan to write (default: the model's name with .plan)")
      ->type_name("PLAN");
  command->add_option("--shape", flags->shapes, "Shape of an input: NAME=1x3x48x192")
      ->type_name("NAME=DIMS")
      ->allow_extra_args(false);
  command
      ->add_option("--strategy", flags->strategy,
                   "single: the best one backend; dynamic: the best mix")
      ->check(CLI::IsMember(strategy_names()));
  command->add_option("--pin", flags->pins, "Run this node on this plugin")
      ->type_name("NODE=PLUGIN")
      ->allow_extra_args(false);
  command
      ->add_option("--budget", flags->budget_s, "Seconds to spend on measuring (default: no limit)")
      ->check(CLI::Validator(check_positive, "NUMBER > 0"));
  command->add_option("--seed", flags->seed, "Seed of the inputs used to measure and check");
  add_plugin_flags(*command, common);
  add_database_flag(*command, common);
  add_json_flag(*command, common);
  command->callback(
      [&common, flags] { common.run = [&common, flags] { return run_place(common, *flags); }; });
}

}  // namespace inlay::cli
