#include "search/check/declared_failures.h"

#include <fmt/format.h>

#include "search/check/check.h"

namespace inlay::check {

std::map<int, std::string> declared_failures(const nlohmann::json& manifest) {
  std::map<int, std::string> expected;
  const auto found = manifest.find("xfail");
  if (found == manifest.end() || !found->is_object()) return expected;
  for (const auto& [key, reason] : found->items()) {
    const Check* check = find_check(key);
    if (check != nullptr && reason.is_string()) expected[check->id] = reason.get<std::string>();
  }
  return expected;
}

std::string fault_of_declared_failures(const nlohmann::json& manifest) {
  const auto found = manifest.find("xfail");
  if (found == manifest.end()) return "";
  if (!found->is_object()) {
    return fmt::format("xfail: expected an object of check numbers and reasons, found {}",
                       found->type_name());
  }
  for (const auto& [key, reason] : found->items()) {
    if (find_check(key) == nullptr) {
      return fmt::format("xfail: expected the number of a check, found '{}'", key);
    }
    if (!reason.is_string() || reason.get<std::string>().empty()) {
      return fmt::format("xfail: '{}': expected a reason, found {}", key, reason.dump());
    }
  }
  return "";
}

}  // namespace inlay::check
