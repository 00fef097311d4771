// Where the limits of this process's cgroups (of version 2) are. Private to core/run.
//
//   for (const std::filesystem::path& folder : cgroup_folders()) read(folder / "memory.max");
//
// source  cgroups(7); the kernel's Documentation/admin-guide/cgroup-v2.rst
#pragma once

#include <filesystem>
#include <vector>

namespace inlay {

// From the root to the process's own; each one's limits hold for it.
std::vector<std::filesystem::path> cgroup_folders();

}  // namespace inlay
