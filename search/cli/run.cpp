#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "core/base/file.h"
#include "core/plan/plan_text.h"
#include "core/run/compare.h"
#include "core/run/executor.h"
#include "search/cli/command.h"
#include "search/cli/files.h"
#include "search/cli/printable.h"
#include "search/cli/run_inputs.h"
#include "search/cli/run_outputs.h"
#include "search/cli/seed.h"
#include "search/cli/session.h"
#include "search/cli/tensor_files.h"
#include "search/lower/lower.h"
#include "search/lower/raise.h"
#include "search/report/count.h"
#include "search/report/table.h"
#include "search/strategies/strategy.h"

namespace inlay::cli {
namespace {

using Json = nlohmann::ordered_json;

struct RunFlags {
  std::string plan;
  std::vector<std::string> inputs;
  std::string output;
  std::string save_inputs;
  std::string check_against;
  double tolerance = 1e-3;
  std::uint64_t seed = 1;
  int repeat = 10;
  bool profile = false;
};

const PlanValue& value_at(const Plan& plan, int index) {
  return plan.values[static_cast<std::size_t>(index)];
}

// Before the work: the endings tell how to write.
void check_file_names(const Plan& plan, const PlanFiles& files, const RunFlags& flags) {
  check_output_name(plan, flags.output);
  const std::filesystem::path inputs = flags.save_inputs;
  if (!inputs.empty() && inputs.extension() != ".npz") {
    throw Error(Code::kInvalidArgument,
                fmt::format("--save-inputs {}: expected a name ending in .npz", flags.save_inputs));
  }
  std::vector<OtherFile> read{{files.plan, "the plan"}, {files.weights, "the plan's weights"}};
  for (const std::string& input : flags.inputs) read.emplace_back(input, "an input");
  refuse_same_file("--save-inputs", flags.save_inputs, read);
  read.emplace_back(flags.save_inputs, "what --save-inputs writes");
  refuse_same_file("--output", flags.output, read);
}

std::map<std::string, Tensor> by_output_name(const Plan& plan, const std::vector<Tensor>& outputs) {
  std::map<std::string, Tensor> named;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    named[value_at(plan, plan.outputs[i]).name] = outputs[i];
  return named;
}

// Sorted.
std::vector<double> time_runs(Executor& executor, const std::vector<Tensor>& inputs, int repeat) {
  std::vector<const std::byte*> sources;
  for (const Tensor& input : inputs) sources.push_back(input.data());
  std::vector<Tensor> outputs;
  std::vector<std::byte*> targets;
  for (const int output : executor.plan().outputs) {
    outputs.push_back(Tensor::zeros(value_at(executor.plan(), output).type));
    targets.push_back(outputs.back().mutable_bytes().data());
  }
  std::vector<double> ns;
  for (int i = 0; i < repeat; ++i) {
    const auto start = std::chrono::steady_clock::now();
    executor.run_into(sources, targets);
    ns.push_back(
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(ns.begin(), ns.end());
  return ns;
}

// The same graph with every node on `plugin` where it can be, elsewhere on the reference. Costs
// only say which is wanted.
Lowered place_on(const Graph& graph, const std::string& plugin, PluginHost& host) {
  const Candidates candidates = find_candidates(graph, host);
  CostTable costs;
  for (const Candidate& c : candidates.list) {
    const bool is_dense = std::all_of(c.input_layouts.begin(), c.input_layouts.end(),
                                      [](const Layout& l) { return l.is_dense(); }) &&
                          std::all_of(c.output_layouts.begin(), c.output_layouts.end(),
                                      [](const Layout& l) { return l.is_dense(); });
    CandidateCost cost;
    if (is_dense) {
      cost.cost = Cost{.ns = c.plugin == plugin ? 1.0 : 1e3};
    } else {
      cost.reason = "only dense layouts are used to check";
    }
    costs.candidates.push_back(cost);
  }
  const auto result = search_single(graph, candidates, costs, plugin, {});
  if (!result)
    throw Error(Code::kUnsupported,
                fmt::format("--check-against {}: it cannot run this model", plugin));
  return lower(graph, candidates, result->placement, costs, host);
}

struct OutputCheck {
  std::string name;
  Comparison comparison;
};

// "output y: agrees with the whole model run on reference: 10 elements, each within 0.0032, 0.001
// of the largest; furthest off is element 4: found 1.5, expected 1.4"
std::string check_text(const OutputCheck& check, const RunFlags& flags) {
  const Comparison& c = check.comparison;
  const auto element = [](const Deviation& d) {
    return fmt::format("element {}: found {}, expected {}", d.index, d.got, d.want);
  };
  std::string allowed = fmt::format("{:g} of the largest", flags.tolerance);
  if (c.worst.index >= 0) allowed = fmt::format("{:.3g}, {}", c.worst.bound, allowed);
  if (c.is_equal()) {
    std::string text = fmt::format(
        "output {}: agrees with the whole model run on {}: {}, each within {}",
        printable_name(check.name), flags.check_against, count_of(c.count, "element"), allowed);
    if (c.worst.index >= 0) text += "; furthest off is " + element(c.worst);
    return text;
  }
  return fmt::format(
      "output {}: DIFFERS from the whole model run on {}: {} of {} off by more than {}; first is "
      "{}; "
      "furthest off is {}",
      printable_name(check.name), flags.check_against, c.failures, count_of(c.count, "element"),
      allowed, element(c.first), element(c.worst));
}

std::vector<OutputCheck> check(const Plan& plan, const Weights& weights,
                               const std::vector<Tensor>& inputs,
                               const std::vector<Tensor>& outputs, const RunFlags& flags,
                               PluginHost& host) {
  const Lowered other = place_on(raise_to_graph(plan, weights), flags.check_against, host);
  Executor executor(other.plan, other.weights, host);
  const std::vector<Tensor> expected = executor.run(inputs);
  std::vector<OutputCheck> checks;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    checks.push_back(
        {value_at(plan, plan.outputs[i]).name,
         compare(expected[i], outputs[i],
                 {.kind = ToleranceClass::kReduced, .relative_bound = flags.tolerance})});
  }
  return checks;
}

// What a step does that runs no node of the model.
std::string name_of_kind(const PlanStep& step) {
  return step.kind == StepKind::kCopy ? "copy" : "layout conversion";
}

Json profile_json(const Executor& executor) {
  Json json = Json::array();
  const Plan& plan = executor.plan();
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const PlanStep& step = plan.steps[s];
    const StepTime& time = executor.trace()[s];
    json.push_back({{"step", s},
                    {"plugin", step.kind == StepKind::kRun
                                   ? plan.plugins[static_cast<std::size_t>(step.plugin)].name
                                   : "host"},
                    {"kind", step.nodes.empty() ? name_of_kind(step) : "run"},
                    {"nodes", step.nodes},
                    {"ns", time.end_ns - time.begin_ns}});
  }
  return json;
}

void print_profile(const Json& profile) {
  Table table({{"step", Align::kRight}, {"plugin"}, {"what"}, {"time", Align::kRight}});
  for (const Json& row : profile) {
    std::string what;
    for (const Json& node : row["nodes"])
      what += (what.empty() ? "" : " + ") + node.get<std::string>();
    table.add({fmt::format("{}", row["step"].get<int>()), row["plugin"],
               what.empty() ? row["kind"].get<std::string>() : what, format_ns(row["ns"])});
  }
  fmt::print("{}", table.text());
}

Json checks_json(const std::vector<OutputCheck>& checks) {
  Json json = Json::array();
  for (const auto& [name, comparison] : checks) {
    json.push_back({{"right", comparison.is_equal()},
                    {"elements", comparison.count},
                    {"failures", comparison.failures},
                    {"worst",
                     {{"index", comparison.worst.index},
                      {"got", comparison.worst.got},
                      {"want", comparison.worst.want},
                      {"bound", comparison.worst.bound}}}});
  }
  return json;
}

// All that a run has to tell.
struct RunReport {
  const Plan& plan;
  const RunFlags& flags;
  std::size_t memory_bytes;
  std::vector<std::string> notes;
  RunTiming timing;
  std::vector<OutputCheck> checks;
  Json profile;
};

Json to_json(const RunReport& report) {
  Json json{{"plan", report.flags.plan}};
  json.update(timing_json(report.timing));
  json["memory_bytes"] = report.memory_bytes;
  if (!report.notes.empty()) json["notes"] = report.notes;
  json["outputs"] = outputs_json(report.plan);
  if (!report.checks.empty()) json["checked_against"] = report.flags.check_against;
  const Json checks = checks_json(report.checks);
  for (std::size_t i = 0; i < checks.size(); ++i) json["outputs"][i].update(checks[i]);
  if (report.flags.profile) json["profile"] = report.profile;
  if (!report.flags.output.empty()) json["output_file"] = report.flags.output;
  if (!report.flags.save_inputs.empty()) json["input_file"] = report.flags.save_inputs;
  return json;
}

void print_text(const RunReport& report) {
  for (const std::string& note : report.notes) fmt::print("{}\n", printable(note));
  fmt::print("{}{}", timing_line(report.timing), output_lines(report.plan));
  for (const OutputCheck& check : report.checks)
    fmt::print("  {}\n", check_text(check, report.flags));
  if (report.flags.profile) print_profile(report.profile);
  if (!report.flags.save_inputs.empty()) {
    fmt::print("wrote {}: {}\n", report.flags.save_inputs,
               count_of(std::ssize(report.plan.inputs), "input"));
  }
  if (!report.flags.output.empty()) {
    fmt::print("wrote {}: {}\n", report.flags.output,
               count_of(std::ssize(report.plan.outputs), "output"));
  }
}

int run_plan(const Common& common, const RunFlags& flags) {
  const PlanFiles files = plan_files(flags.plan);
  const Plan plan = parse_plan(read_text(files.plan), files.plan.string());
  check_file_names(plan, files, flags);
  Common with_threads = common;
  if (with_threads.threads == 0) with_threads.threads = plan.threads;
  Session session(with_threads);
  const QuarantineInUse quarantine(session, common.database);
  if (!flags.check_against.empty()) session.host.open_device(flags.check_against);  // is it there?
  const Weights weights = open_weights(files.weights, plan.constants);
  const RunInputs inputs = read_inputs(plan, flags.inputs, flags.seed, read_tensors);
  if (!flags.save_inputs.empty()) {
    write_npz(flags.save_inputs, by_input_name(plan, inputs.tensors));
  }

  Executor executor(plan, weights, session.host);
  executor.set_tracing(flags.profile);
  const std::vector<Tensor> outputs = executor.run(inputs.tensors);
  if (!flags.output.empty()) write_outputs(by_output_name(plan, outputs), flags.output);
  RunReport report{.plan = plan,
                   .flags = flags,
                   .memory_bytes = executor.memory_bytes(),
                   .notes = inputs.notes,
                   .timing = {plan.model, session.pool.threads(),
                              time_runs(executor, inputs.tensors, flags.repeat)},
                   .checks = {},
                   .profile = {}};
  if (flags.profile) report.profile = profile_json(executor);
  if (!flags.check_against.empty()) {
    report.checks = check(plan, weights, inputs.tensors, outputs, flags, session.host);
  }
  if (common.json) {
    fmt::print("{}\n", json_text(to_json(report)));
  } else {
    print_text(report);
  }
  const bool is_right = std::all_of(report.checks.begin(), report.checks.end(),
                                    [](const OutputCheck& c) { return c.comparison.is_equal(); });
  return is_right ? 0 : 1;
}

}  // namespace

void add_run(CLI::App& app, Common& common) {
  CLI::App* command = app.add_subcommand("run", "Run a plan on given or random inputs");
  auto flags = std::make_shared<RunFlags>();
  command->add_option("plan", flags->plan, "Plan written by inlay place")
      ->required()
      ->type_name("PLAN");
  command
      ->add_option("-i,--input", flags->inputs,
                   "FILE.npz, arrays named as the inputs; or FILE.npy or FILE.pb, one for each\n"
                   "input in turn; or NAME=FILE; may be repeated (default: random)")
      ->type_name("[NAME=]FILE")
      ->allow_extra_args(false);
  command
      ->add_option("-o,--output", flags->output, "Write the outputs: FILE.npz, or FILE.npy for one")
      ->type_name("FILE")
      ->check(CLI::Validator(check_file_name, ""));
  command
      ->add_option("--seed", flags->seed,
                   fmt::format("Seed of random inputs (default: {})", flags->seed))
      ->type_name("N")
      ->check(CLI::Validator(check_seed, ""));
  command
      ->add_option("--save-inputs", flags->save_inputs,
                   "Write the inputs that were used, to give them again with -i")
      ->type_name("FILE.npz")
      ->check(CLI::Validator(check_file_name, ""));
  command
      ->add_option("--repeat", flags->repeat,
                   fmt::format("Timed runs after the first (default: {})", flags->repeat))
      ->type_name("N")
      ->check(CLI::Range(1, 1000000).description(""));
  command
      ->add_option("--check-against", flags->check_against,
                   "Run the whole model again on this plugin, on the reference where it cannot,\n"
                   "and compare the outputs; exit status 1 if they differ")
      ->type_name("PLUGIN");
  command
      ->add_option("--tolerance", flags->tolerance,
                   fmt::format("Largest difference allowed by --check-against, relative to each\n"
                               "output's maximum (default: {:g})",
                               flags->tolerance))
      ->type_name("X")
      ->check(CLI::Validator(check_positive, ""));
  command->add_flag("--profile", flags->profile, "Time of each step");
  add_plugin_flags(*command, common);
  add_isolate_flag(*command, common);
  add_threads_flag(*command, common, "the plan's");
  add_json_flag(*command, common);
  command->callback(
      [&common, flags] { common.run = [&common, flags] { return run_plan(common, *flags); }; });
}

}  // namespace inlay::cli
