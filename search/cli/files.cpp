#include "search/cli/files.h"

#include <fmt/format.h>

#include "core/base/error.h"

namespace inlay::cli {
namespace {

namespace fs = std::filesystem;

bool is_same_file(const fs::path& a, const fs::path& b) {
  std::error_code code;
  if (fs::equivalent(a, b, code)) return true;
  const fs::path first = fs::weakly_canonical(fs::absolute(a), code);
  return !code && first == fs::weakly_canonical(fs::absolute(b), code);
}

}  // namespace

PlanFiles plan_files(const fs::path& plan) {
  fs::path stem = plan;
  if (stem.extension() == ".plan") stem.replace_extension();
  const auto with = [&stem](const char* ending) { return fs::path(stem.string() + ending); };
  return {plan, with(".weights"), with(".report.json")};
}

void refuse_same_file(std::string_view flag, const fs::path& written,
                      const std::vector<OtherFile>& others) {
  if (written.empty()) return;
  for (const auto& [other, name] : others) {
    if (other.empty() || !is_same_file(written, other)) continue;
    throw Error(Code::kInvalidArgument,
                fmt::format("{} {}: is {} itself", flag, written.string(), name));
  }
}

std::string check_file_name(const std::string& name) {
  return name.empty() ? "expected a file name, found ''" : "";
}

}  // namespace inlay::cli
