#include "search/verify/memory_need.h"

#include <fmt/format.h>

#include <cstdint>

#include "core/base/error.h"
#include "core/run/available_memory.h"

namespace inlay {
namespace {

double bytes_of(const TensorType& type) {
  double bytes = static_cast<double>(size_of(type.dtype));
  for (const std::int64_t extent : type.shape) bytes *= static_cast<double>(extent);
  return bytes;
}

}  // namespace

double bytes_of(const Region& region, const std::vector<int>& values) {
  double bytes = 0;
  for (const int value : values) {
    bytes += bytes_of(region.values[static_cast<std::size_t>(value)].type);
  }
  return bytes;
}

double bytes_to_run(const Plan& plan) {
  double bytes = static_cast<double>(plan.arena_bytes);
  for (const PlanConstant& constant : plan.constants) {
    bytes += static_cast<double>(constant.size_bytes);
  }
  for (const std::vector<int>* side : {&plan.inputs, &plan.outputs}) {
    for (const int value : *side) {
      bytes += bytes_of(plan.values[static_cast<std::size_t>(value)].type);
    }
  }
  return bytes;
}

void require_memory(double needed_bytes, std::string_view what) {
  const auto available = static_cast<double>(available_memory_bytes());
  if (needed_bytes <= available) return;
  throw Error(Code::kNoMemory,
              fmt::format("{} takes at least {:.1f} GB of memory, {:.1f} GB are available", what,
                          needed_bytes / 1e9, available / 1e9));
}

}  // namespace inlay
