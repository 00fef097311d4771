#include "core/run/available_memory.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "core/run/cgroup.h"

namespace inlay {
namespace {

constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

// proc(5), "MemAvailable:   12345678 kB".
std::uint64_t spare_of_machine() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    constexpr std::string_view kKey = "MemAvailable:";
    if (line.rfind(kKey, 0) == 0) {
      return std::strtoull(line.c_str() + kKey.size(), nullptr, 10) * 1024;
    }
  }
  return kUnknown;
}

// "max" is no number, and reads as none.
std::optional<std::uint64_t> number_in(const std::filesystem::path& path) {
  std::uint64_t number = 0;
  std::ifstream file(path);
  if (!(file >> number)) return std::nullopt;
  return number;
}

// What the cgroup of this folder leaves. Its file cache counts as used but gives way.
std::uint64_t spare_of(const std::filesystem::path& folder) {
  const std::optional<std::uint64_t> limit = number_in(folder / "memory.max");
  const std::optional<std::uint64_t> used = number_in(folder / "memory.current");
  if (!limit || !used) return kUnknown;
  std::uint64_t cache = 0;
  std::ifstream stat(folder / "memory.stat");
  std::string key;
  for (std::uint64_t value = 0; stat >> key >> value;) {
    if (key == "inactive_file" || key == "active_file") cache += value;
  }
  const std::uint64_t held = *used - std::min(*used, cache);
  return *limit - std::min(*limit, held);
}

}  // namespace

std::uint64_t available_memory_bytes() {
  std::uint64_t spare = spare_of_machine();
  for (const std::filesystem::path& folder : cgroup_folders()) {
    spare = std::min(spare, spare_of(folder));
  }
  return spare;
}

}  // namespace inlay
