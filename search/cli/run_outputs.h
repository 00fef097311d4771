// What a run writes and tells, the same from `inlay run` and from a bundle's own program.
//
//   check_output_name(plan, "y.npz");                 // before the work: the ending tells how
//   write_outputs({{"y", tensor}}, "y.npz");
//   fmt::print("{}", timing_line({.model = "m", .threads = 2, .ns = sorted_times}));
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/tensor.h"
#include "core/plan/plan.h"

namespace inlay::cli {

// throws  Error{kInvalidArgument} unless the name ends in .npz, or in .npy for a single output;
//         empty, for none, is right
void check_output_name(const Plan& plan, const std::string& output);

// By name, in the order of the plan's outputs.
void write_outputs(const std::map<std::string, Tensor>& outputs, const std::filesystem::path& path);

struct RunTiming {
  std::string model;
  int threads = 1;
  std::vector<double> ns;  // sorted, at least one
};

// "m: 2 threads, median 1.23 ms of 10 runs, best 1.20 ms\n"
std::string timing_line(const RunTiming& timing);

// "model", "threads", "runs", "median_ns", "best_ns", "worst_ns"
nlohmann::ordered_json timing_json(const RunTiming& timing);

// "outputs": name and type of each, in the plan's order
nlohmann::ordered_json outputs_json(const Plan& plan);
// "  output y: f32[1x10]\n" for each
std::string output_lines(const Plan& plan);

}  // namespace inlay::cli
