#include "search/cli/run_outputs.h"

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "search/cli/numpy_files.h"
#include "search/report/count.h"
#include "search/report/table.h"

namespace inlay::cli {
namespace {

const PlanValue& output_at(const Plan& plan, int output) {
  return plan.values[static_cast<std::size_t>(output)];
}

double median(const std::vector<double>& sorted) { return sorted[sorted.size() / 2]; }

}  // namespace

void check_output_name(const Plan& plan, const std::string& output) {
  const std::filesystem::path path = output;
  const bool is_array = path.extension() == ".npy" && plan.outputs.size() == 1;
  if (output.empty() || path.extension() == ".npz" || is_array) return;
  throw Error(
      Code::kInvalidArgument,
      fmt::format("--output {}: expected a name ending in .npz (or .npy for a single output)",
                  output));
}

void write_outputs(const std::map<std::string, Tensor>& outputs,
                   const std::filesystem::path& path) {
  if (path.extension() == ".npy") return write_npy(path, outputs.begin()->second);
  write_npz(path, outputs);
}

std::string timing_line(const RunTiming& timing) {
  return fmt::format("{}: {}, median {} of {}, best {}\n", printable_name(timing.model),
                     count_of(timing.threads, "thread"), format_ns(median(timing.ns)),
                     count_of(std::ssize(timing.ns), "run"), format_ns(timing.ns.front()));
}

nlohmann::ordered_json timing_json(const RunTiming& timing) {
  return {{"model", timing.model},        {"threads", timing.threads},
          {"runs", timing.ns.size()},     {"median_ns", median(timing.ns)},
          {"best_ns", timing.ns.front()}, {"worst_ns", timing.ns.back()}};
}

nlohmann::ordered_json outputs_json(const Plan& plan) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const int output : plan.outputs) {
    const PlanValue& value = output_at(plan, output);
    json.push_back({{"name", value.name}, {"type", to_string(value.type)}});
  }
  return json;
}

std::string output_lines(const Plan& plan) {
  std::string text;
  for (const int output : plan.outputs) {
    const PlanValue& value = output_at(plan, output);
    text += fmt::format("  output {}: {}\n", printable_name(value.name), to_string(value.type));
  }
  return text;
}

}  // namespace inlay::cli
