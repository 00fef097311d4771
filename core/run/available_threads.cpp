#include <sched.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "core/run/cgroup.h"
#include "core/run/thread_pool.h"

namespace inlay {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// Processors that a cgroup's quota amounts to, version 2: "max 100000" or "150000 100000".
double quota_of(const std::filesystem::path& folder) {
  std::ifstream file(folder / "cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return kNoLimit;
  const double microseconds = std::strtod(quota.c_str(), nullptr);
  return microseconds > 0 ? microseconds / period : kNoLimit;
}

// The tightest quota of this process's cgroup and the ones around it; version 1 has one file for
// the former only.
double cgroup_limit() {
  double limit = kNoLimit;
  for (const std::filesystem::path& folder : cgroup_folders()) {
    limit = std::min(limit, quota_of(folder));
  }
  const std::filesystem::path root = cgroup_folders().front();
  double quota = 0;
  double period = 0;
  std::ifstream(root / "cpu/cpu.cfs_quota_us") >> quota;
  std::ifstream(root / "cpu/cpu.cfs_period_us") >> period;
  if (quota > 0 && period > 0) limit = std::min(limit, quota / period);
  return limit;
}

}  // namespace

int available_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int processors = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return std::max(1, static_cast<int>(std::min<double>(processors, std::ceil(cgroup_limit()))));
}

}  // namespace inlay
