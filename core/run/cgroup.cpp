#include "core/run/cgroup.h"

#include <fstream>
#include <string>

namespace inlay {

std::vector<std::filesystem::path> cgroup_folders() {
  std::vector<std::filesystem::path> folders{"/sys/fs/cgroup"};
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (line.rfind("0::/", 0) != 0) continue;
    for (const std::filesystem::path& part : std::filesystem::path(line.substr(4))) {
      folders.push_back(folders.back() / part);
    }
  }
  return folders;
}

}  // namespace inlay
