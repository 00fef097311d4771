// The files that belong to one plan, and which of them may be written.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace inlay::cli {

struct PlanFiles {
  std::filesystem::path plan;     // NAME.plan
  std::filesystem::path weights;  // NAME.weights
  std::filesystem::path report;   // NAME.report.json
};

// From NAME.plan, or any other name, to which the endings are added.
PlanFiles plan_files(const std::filesystem::path& plan);

// A file that is read or written besides, and what to call it: "the model", "an input".
using OtherFile = std::pair<std::filesystem::path, std::string>;

// throws  Error{kInvalidArgument} "--output m.onnx: is the model itself" if `written` is one of the
//         others, by whatever name
void refuse_same_file(std::string_view flag, const std::filesystem::path& written,
                      const std::vector<OtherFile>& others);

// A check of CLI11's for the name of a file to write: '' would be taken for none.
std::string check_file_name(const std::string& name);

}  // namespace inlay::cli
