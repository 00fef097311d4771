// The program that `inlay bundle` puts beside a plan: DIR/run --seed 1, DIR/run -i in.npz -o
// out.npz. It knows the plan, the plugins and core/session, and neither graphs nor search.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "core/base/file.h"
#include "core/plan/plan_text.h"
#include "core/run/random_inputs.h"
#include "core/session/session.h"
#include "search/cli/numpy_files.h"
#include "search/report/count.h"

namespace {

namespace fs = std::filesystem;
using namespace inlay;

struct Flags {
  std::string input;
  std::string output;
  std::uint64_t seed = 1;
  int repeat = 1;
  int threads = 0;
};

// Where this program lies; /proc may be missing where little is installed.
fs::path own_folder(const char* argv0) {
  std::error_code code;
  const fs::path program = fs::read_symlink("/proc/self/exe", code);
  return code ? fs::absolute(argv0).parent_path() : program.parent_path();
}

std::map<std::string, Tensor> read_inputs(const Plan& plan, const std::string& file) {
  std::map<std::string, Tensor> inputs = cli::read_npz(file);
  std::vector<std::string> known;
  for (const int input : plan.inputs) {
    known.push_back(plan.values[static_cast<std::size_t>(input)].name);
  }
  for (const auto& [name, tensor] : inputs) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    throw Error(Code::kInvalidArgument,
                fmt::format("{}: array '{}' is no input of the plan, whose inputs are '{}'", file,
                            name, fmt::join(known, "', '")));
  }
  return inputs;
}

std::map<std::string, Tensor> make_inputs(const Plan& plan, const Flags& flags) {
  if (!flags.input.empty()) return read_inputs(plan, flags.input);
  const std::vector<Tensor> tensors = random_inputs(plan, flags.seed);
  std::map<std::string, Tensor> inputs;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    inputs[plan.values[static_cast<std::size_t>(plan.inputs[i])].name] = tensors[i];
  }
  return inputs;
}

void run(const fs::path& folder, const Flags& flags) {
  const fs::path file = folder / "model.plan";
  const Plan plan = parse_plan(read_text(file), file.string());
  const Runtime runtime({.plugins = {folder / "plugins"},
                         .threads = flags.threads > 0 ? flags.threads : plan.threads});
  const Session session(runtime, file);
  const std::map<std::string, Tensor> inputs = make_inputs(plan, flags);
  std::map<std::string, Tensor> outputs = session.run(inputs);
  std::vector<double> ms;
  for (int i = 0; i < flags.repeat; ++i) {
    const auto start = std::chrono::steady_clock::now();
    outputs = session.run(inputs);
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    ms.push_back(time.count());
  }
  std::sort(ms.begin(), ms.end());
  if (!flags.output.empty()) cli::write_npz(flags.output, outputs);
  fmt::print("{}: {}, median {:.3f} ms of {}, best {:.3f} ms\n", session.model(),
             count_of(runtime.threads(), "thread"), ms[ms.size() / 2],
             count_of(std::ssize(ms), "run"), ms.front());
  for (const auto& [name, tensor] : outputs) {
    fmt::print("  output {}: {}\n", name, to_string(tensor.type()));
  }
  if (!flags.output.empty()) {
    fmt::print("wrote {}: {}\n", flags.output, count_of(std::ssize(outputs), "output"));
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Runs the plan in this folder on given or random inputs.", "run");
  Flags flags;
  app.add_option("-i,--input", flags.input, "Inputs by name (default: random)")
      ->type_name("FILE.npz");
  app.add_option("-o,--output", flags.output, "Write the outputs by name")->type_name("FILE.npz");
  app.add_option("--seed", flags.seed,
                 fmt::format("Seed of random inputs (default: {})", flags.seed))
      ->type_name("N");
  app.add_option("--repeat", flags.repeat,
                 fmt::format("Timed runs after the first (default: {})", flags.repeat))
      ->type_name("N")
      ->check(CLI::Range(1, 1000000).description(""));
  app.add_option("--threads", flags.threads, "Most threads to use (default: the plan's)")
      ->type_name("N")
      ->check(CLI::Range(1, 1024).description(""));
  CLI11_PARSE(app, argc, argv);
  try {
    run(own_folder(argv[0]), flags);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "run: error: {}\n", error.what());
    return 1;
  }
}
