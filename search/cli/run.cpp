#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "core/base/file.h"
#include "core/plan/plan_text.h"
#include "core/run/compare.h"
#include "core/run/executor.h"
#include "core/run/random_inputs.h"
#include "search/cli/command.h"
#include "search/cli/files.h"
#include "search/cli/printable.h"
#include "search/cli/session.h"
#include "search/cli/tensor_files.h"
#include "search/lower/lower.h"
#include "search/lower/raise.h"
#include "search/report/table.h"
#include "search/strategies/strategy.h"

namespace inlay::cli {
namespace {

using Json = nlohmann::ordered_json;

struct RunFlags {
  std::string plan;
  std::vector<std::string> inputs;
  std::string output;
  std::string check_against;
  double tolerance = 1e-3;
  std::uint64_t seed = 1;
  int repeat = 1;
  bool profile = false;
};

const PlanValue& value_at(const Plan& plan, int index) {
  return plan.values[static_cast<std::size_t>(index)];
}

// "FILE" holds inputs by name, or, one file an input, is matched by position; "NAME=FILE" names the
// input.
std::map<std::string, Tensor> read_given(const Plan& plan, const std::vector<std::string>& texts) {
  std::map<std::string, Tensor> given;
  std::size_t position = 0;
  for (const std::string& text : texts) {
    const std::size_t equals = text.rfind('=');
    const std::string file = equals == std::string::npos ? text : text.substr(equals + 1);
    std::map<std::string, Tensor> tensors = read_tensors(file);
    if (equals != std::string::npos) {
      if (tensors.size() != 1)
        throw Error(Code::kInvalidArgument,
                    fmt::format("--input {}: expected one tensor, found {}", text, tensors.size()));
      given[text.substr(0, equals)] = tensors.begin()->second;
      continue;
    }
    for (auto& [name, tensor] : tensors) {
      const bool is_known =
          std::any_of(plan.inputs.begin(), plan.inputs.end(),
                      [&, &key = name](int i) { return value_at(plan, i).name == key; });
      if (is_known || position >= plan.inputs.size() || tensors.size() > plan.inputs.size()) {
        given[name] = std::move(tensor);
      } else {
        given[value_at(plan, plan.inputs[position]).name] = std::move(tensor);
      }
      ++position;
    }
  }
  return given;
}

void check_names(const Plan& plan, const std::map<std::string, Tensor>& given) {
  for (const auto& [name, tensor] : given) {
    std::string known;
    for (const int input : plan.inputs) {
      if (value_at(plan, input).name == name) return;
      known += fmt::format(" '{}'", value_at(plan, input).name);
    }
    throw Error(Code::kInvalidArgument,
                fmt::format("--input: the plan has no input '{}'; it has{}", name, known));
  }
}

std::vector<Tensor> make_inputs(const Plan& plan, const RunFlags& flags) {
  std::map<std::string, Tensor> given = read_given(plan, flags.inputs);
  check_names(plan, given);
  std::vector<Tensor> inputs = random_inputs(plan, flags.seed);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = value_at(plan, plan.inputs[i]).name;
    if (const auto found = given.find(name); found != given.end()) {
      inputs[i] = std::move(found->second);
    } else if (!given.empty()) {
      throw Error(Code::kInvalidArgument,
                  fmt::format("--input: nothing given for input '{}'", name));
    }
  }
  return inputs;
}

void write_outputs(const Plan& plan, const std::vector<Tensor>& outputs,
                   const std::filesystem::path& path) {
  std::map<std::string, Tensor> named;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    named[value_at(plan, plan.outputs[i]).name] = outputs[i];
  if (path.extension() == ".npz") {
    write_npz(path, named);
  } else if (path.extension() == ".npy" && named.size() == 1) {
    write_npy(path, named.begin()->second);
  } else {
    throw Error(
        Code::kInvalidArgument,
        fmt::format("--output {}: expected a name ending in .npz (or .npy for a single output)",
                    path.string()));
  }
}

struct Timing {
  std::vector<double> ns;  // sorted
  double median() const { return ns[ns.size() / 2]; }
};

Timing time_runs(Executor& executor, const std::vector<Tensor>& inputs, int repeat) {
  std::vector<const std::byte*> sources;
  for (const Tensor& input : inputs) sources.push_back(input.data());
  std::vector<Tensor> outputs;
  std::vector<std::byte*> targets;
  for (const int output : executor.plan().outputs) {
    outputs.push_back(Tensor::zeros(value_at(executor.plan(), output).type));
    targets.push_back(outputs.back().mutable_bytes().data());
  }
  Timing timing;
  for (int i = 0; i < repeat; ++i) {
    const auto start = std::chrono::steady_clock::now();
    executor.run_into(sources, targets);
    timing.ns.push_back(
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(timing.ns.begin(), timing.ns.end());
  return timing;
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
                    {"nodes", step.nodes},
                    {"ns", time.end_ns - time.begin_ns}});
  }
  return json;
}

void print_profile(const Json& profile) {
  Table table({{"step", Align::kRight}, {"plugin"}, {"nodes"}, {"time", Align::kRight}});
  for (const Json& row : profile) {
    std::string nodes;
    for (const Json& node : row["nodes"])
      nodes += (nodes.empty() ? "" : " + ") + node.get<std::string>();
    table.add({fmt::format("{}", row["step"].get<int>()), row["plugin"],
               nodes.empty() ? "layout conversion or copy" : nodes, format_ns(row["ns"])});
  }
  fmt::print("{}", table.text());
}

int run_plan(const Common& common, const RunFlags& flags) {
  const PlanFiles files = plan_files(flags.plan);
  const Plan plan = parse_plan(read_text(files.plan), files.plan.string());
  Common with_threads = common;
  if (with_threads.threads == 0) with_threads.threads = plan.threads;
  Session session(with_threads);
  if (!flags.check_against.empty()) session.host.open_device(flags.check_against);  // is it there?
  const Weights weights = open_weights(files.weights, plan.constants);
  const std::vector<Tensor> inputs = make_inputs(plan, flags);

  Executor executor(plan, weights, session.host);
  executor.set_tracing(flags.profile);
  const std::vector<Tensor> outputs = executor.run(inputs);
  if (!flags.output.empty()) write_outputs(plan, outputs, flags.output);
  const Timing timing = time_runs(executor, inputs, flags.repeat);
  std::vector<OutputCheck> checks;
  if (!flags.check_against.empty())
    checks = check(plan, weights, inputs, outputs, flags, session.host);

  Json json{{"plan", files.plan.string()},       {"model", plan.model},
            {"threads", session.pool.threads()}, {"runs", flags.repeat},
            {"median_ns", timing.median()},      {"best_ns", timing.ns.front()},
            {"worst_ns", timing.ns.back()},      {"memory_bytes", executor.memory_bytes()}};
  json["outputs"] = Json::array();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    json["outputs"].push_back(
        {{"name", value_at(plan, plan.outputs[i]).name}, {"type", to_string(outputs[i].type())}});
  }
  bool is_right = true;
  if (!checks.empty()) json["checked_against"] = flags.check_against;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const Comparison& comparison = checks[i].comparison;
    is_right = is_right && comparison.is_equal();
    json["outputs"][i]["right"] = comparison.is_equal();
    json["outputs"][i]["worst"] = {{"index", comparison.worst.index},
                                   {"got", comparison.worst.got},
                                   {"want", comparison.worst.want},
                                   {"bound", comparison.worst.bound}};
  }
  if (flags.profile) json["profile"] = profile_json(executor);

  if (common.json) {
    fmt::print("{}\n", json_text(json));
  } else {
    fmt::print("{}: {} threads, median {} of {} runs, best {}\n", plan.model,
               session.pool.threads(), format_ns(timing.median()), flags.repeat,
               format_ns(timing.ns.front()));
    for (const Json& output : json["outputs"]) {
      fmt::print("  output {}: {}\n", output["name"].get<std::string>(),
                 output["type"].get<std::string>());
    }
    for (const OutputCheck& c : checks) {
      fmt::print("  {} against {}: {}\n", c.name, flags.check_against,
                 c.comparison.is_equal() ? "equal within " + fmt::format("{:g}", flags.tolerance) +
                                               " of the largest value; " + describe(c.comparison)
                                         : describe(c.comparison));
    }
    if (flags.profile) print_profile(json["profile"]);
  }
  return is_right ? 0 : 1;
}

}  // namespace

void add_run(CLI::App& app, Common& common) {
  CLI::App* command = app.add_subcommand("run", "Run a plan on given or random inputs");
  auto flags = std::make_shared<RunFlags>();
  command->add_option("plan", flags->plan, "Plan written by place")->required()->type_name("PLAN");
  command
      ->add_option(
          "-i,--input", flags->inputs,
          "Inputs: FILE.npz, or FILE.npy or FILE.pb in order, or NAME=FILE (default: random)")
      ->type_name("[NAME=]FILE")
      ->allow_extra_args(false);
  command
      ->add_option("-o,--output", flags->output, "Write the outputs: FILE.npz, or FILE.npy for one")
      ->type_name("FILE");
  command->add_option("--seed", flags->seed, "Seed of random inputs");
  command->add_option("--repeat", flags->repeat, "Timed runs after the first")
      ->check(CLI::Range(1, 1000000));
  command
      ->add_option("--check-against", flags->check_against,
                   "Run again on this plugin and compare; exit status 1 if they differ")
      ->type_name("PLUGIN");
  command
      ->add_option("--tolerance", flags->tolerance,
                   "Largest difference, relative to each output's maximum")
      ->check(CLI::Validator(check_positive, "NUMBER > 0"));
  command->add_flag("--profile", flags->profile, "Time of each step");
  add_plugin_flags(*command, common);
  add_json_flag(*command, common);
  command->callback(
      [&common, flags] { common.run = [&common, flags] { return run_plan(common, *flags); }; });
}

}  // namespace inlay::cli
