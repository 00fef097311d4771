// The program that `inlay bundle` puts beside a plan: DIR/run --seed 1, DIR/run -i in.npz -o
// out.npz. It does what `inlay run` does with a plan, and knows neither graphs nor search.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "core/base/file.h"
#include "core/plan/plan_text.h"
#include "core/session/session.h"
#include "search/cli/error_output.h"
#include "search/cli/files.h"
#include "search/cli/numpy_files.h"
#include "search/cli/printable.h"
#include "search/cli/run_inputs.h"
#include "search/cli/run_outputs.h"
#include "search/cli/seed.h"
#include "search/report/count.h"

namespace {

namespace fs = std::filesystem;
using namespace inlay;
using namespace inlay::cli;

struct Flags {
  std::vector<std::string> inputs;
  std::string output;
  std::uint64_t seed = 1;
  int repeat = 10;
  int threads = 0;
  bool json = false;
};

// Where this program lies; /proc may be missing where little is installed.
fs::path own_folder(const char* argv0) {
  std::error_code code;
  const fs::path program = fs::read_symlink("/proc/self/exe", code);
  return code ? fs::absolute(argv0).parent_path() : program.parent_path();
}

std::map<std::string, Tensor> read_arrays(const fs::path& file) {
  if (file.extension() == ".npz") return read_npz(file);
  if (file.extension() == ".npy") return {{"", read_npy(file)}};
  throw Error(Code::kUnsupported,
              fmt::format("{}: expected a file ending in .npy or .npz", file.string()));
}

// Before the work.
void check_output(const Plan& plan, const PlanFiles& files, const Flags& flags) {
  check_output_name(plan, flags.output);
  std::vector<OtherFile> read{{files.plan, "the plan"}, {files.weights, "the plan's weights"}};
  for (const std::string& input : flags.inputs) read.emplace_back(input, "an input");
  refuse_same_file("--output", flags.output, read);
}

void run(const fs::path& folder, const Flags& flags) {
  const PlanFiles files = plan_files(folder / "model.plan");
  const Plan plan = parse_plan(read_text(files.plan), files.plan.string());
  check_output(plan, files, flags);
  const RunInputs given = read_inputs(plan, flags.inputs, flags.seed, read_arrays);
  const std::map<std::string, Tensor> inputs = by_input_name(plan, given.tensors);
  const Runtime runtime({.plugins = {folder / "plugins"},
                         .threads = flags.threads > 0 ? flags.threads : plan.threads});
  const Session session(runtime, files.plan);
  std::map<std::string, Tensor> outputs = session.run(inputs);
  RunTiming timing{session.model(), runtime.threads(), {}};
  for (int i = 0; i < flags.repeat; ++i) {
    const auto start = std::chrono::steady_clock::now();
    outputs = session.run(inputs);
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    timing.ns.push_back(time.count());
  }
  std::sort(timing.ns.begin(), timing.ns.end());
  if (!flags.output.empty()) write_outputs(outputs, flags.output);
  if (flags.json) {
    nlohmann::ordered_json json{{"plan", files.plan.string()}};
    json.update(timing_json(timing));
    if (!given.notes.empty()) json["notes"] = given.notes;
    json["outputs"] = outputs_json(plan);
    if (!flags.output.empty()) json["output_file"] = flags.output;
    fmt::print("{}\n", json_text(json));
    return;
  }
  for (const std::string& note : given.notes) fmt::print("{}\n", printable(note));
  fmt::print("{}{}", timing_line(timing), output_lines(plan));
  if (!flags.output.empty()) {
    fmt::print("wrote {}: {}\n", flags.output, count_of(std::ssize(outputs), "output"));
  }
}

void add_flags(CLI::App& app, Flags& flags) {
  app.add_option("-i,--input", flags.inputs,
                 "FILE.npz, arrays named as the inputs; or FILE.npy, one for each input in turn;\n"
                 "or NAME=FILE; may be repeated (default: random)")
      ->type_name("[NAME=]FILE")
      ->allow_extra_args(false);
  app.add_option("-o,--output", flags.output, "Write the outputs: FILE.npz, or FILE.npy for one")
      ->type_name("FILE")
      ->check(CLI::Validator(check_file_name, ""));
  app.add_option("--seed", flags.seed,
                 fmt::format("Seed of random inputs (default: {})", flags.seed))
      ->type_name("N")
      ->check(CLI::Validator(check_seed, ""));
  app.add_option("--repeat", flags.repeat,
                 fmt::format("Timed runs after the first (default: {})", flags.repeat))
      ->type_name("N")
      ->check(CLI::Range(1, 1000000).description(""));
  app.add_option("--threads", flags.threads, "Most threads to use (default: the plan's)")
      ->type_name("N")
      ->check(CLI::Range(1, 1024).description(""));
  app.add_flag("--json", flags.json, "Print JSON instead of text");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Runs the plan in this folder on given or random inputs.", "run");
  Flags flags;
  add_flags(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    return report_error("run", kUsageCode,
                        fmt::format("{} (--help lists what there is)", error.what()), kExitUsage,
                        asks_for_json(argc, argv));
  }
  try {
    run(own_folder(argv[0]), flags);
    return 0;
  } catch (const Error& error) {
    return report_error("run", code_name(error.code()), error.what(), kExitError, flags.json);
  } catch (const std::exception& error) {
    return report_error("run", code_name(Code::kInternal), error.what(), kExitError, flags.json);
  }
}
