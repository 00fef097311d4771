#include "core/run/available_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace inlay {
namespace {

TEST(AvailableMemory, IsSomeOfWhatTheMachineHas) {
  const std::uint64_t page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t all = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * page;
  EXPECT_GT(available_memory_bytes(), page);
  EXPECT_LE(available_memory_bytes(), all);
}

}  // namespace
}  // namespace inlay
