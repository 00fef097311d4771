#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <system_error>

#include "core/base/error.h"
#include "core/run/worker_client.h"

namespace inlay {

namespace fs = std::filesystem;

fs::path find_worker() {
  if (const char* path = std::getenv("INLAY_WORKER_PATH")) return path;
  constexpr const char* kName = "inlay-worker";
  std::error_code code;
  std::vector<fs::path> places;
  const fs::path program = fs::read_symlink("/proc/self/exe", code);
  if (!code) places.push_back(program.parent_path() / kName);
  // Inlay may be in a shared library of another program: PREFIX/lib/libinlay.so.
  Dl_info info;
  if (::dladdr(reinterpret_cast<void*>(&find_worker), &info) != 0 &&
      fs::path(info.dli_fname).is_absolute()) {
    const fs::path library = fs::canonical(info.dli_fname, code);
    if (!code && library != program) {
      places.push_back(library.parent_path() / kName);
      places.push_back(library.parent_path().parent_path() / "bin" / kName);
    }
  }
  for (const fs::path& place : places) {
    if (fs::exists(place, code)) return place;
  }
  std::vector<std::string> texts;
  for (const fs::path& place : places) texts.push_back(place.string());
  throw Error(Code::kNotFound, fmt::format("{}: the worker is missing; INLAY_WORKER_PATH names "
                                           "another",
                                           fmt::join(texts, ", ")));
}

}  // namespace inlay
