// The files that belong to one plan.
#pragma once

#include <filesystem>

namespace inlay::cli {

struct PlanFiles {
  std::filesystem::path plan;     // NAME.plan
  std::filesystem::path weights;  // NAME.weights
  std::filesystem::path report;   // NAME.report.json
};

// From NAME.plan, or any other name, to which the endings are added.
inline PlanFiles plan_files(const std::filesystem::path& plan) {
  std::filesystem::path stem = plan;
  if (stem.extension() == ".plan") stem.replace_extension();
  const auto with = [&stem](const char* ending) {
    return std::filesystem::path(stem.string() + ending);
  };
  return {plan, with(".weights"), with(".report.json")};
}

}  // namespace inlay::cli
