#include "core/sdk/host_table.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/sdk/kernel.h"

namespace inlay::sdk {
namespace {

// A host of an older minor, whose struct ends before the entries a plugin of today wants.
inlay_host old_host(std::uint32_t size) {
  inlay_host host{};
  host.struct_size = size;
  host.abi_major = INLAY_ABI_MAJOR;
  // Not part of the struct as the old host knows it: must not be read.
  host.thread_cap = [](void*) -> std::int32_t { return 99; };
  host.parallel_for = [](void*, std::int64_t, void (*)(void*, std::int64_t), void*) { FAIL(); };
  return host;
}

TEST(CompleteHost, FillsInWhatAnOlderHostLacks) {
  const inlay_host old = old_host(offsetof(inlay_host, parallel_for));
  const inlay_host full = complete_host(&old);
  const Host host(&full);
  EXPECT_EQ(host.thread_cap(), 1);
  EXPECT_GT(host.now_ns(), 0);
  EXPECT_EQ(full.get_extension(full.context, "inlay.reference/1"), nullptr);
  host.log(1, "nobody hears");
  std::int64_t sum = 0;
  full.parallel_for(
      full.context, 4,
      [](void* argument, std::int64_t i) { *static_cast<std::int64_t*>(argument) += i; }, &sum);
  EXPECT_EQ(sum, 6);
}

TEST(CompleteHost, KeepsWhatTheHostOffers) {
  inlay_host given{};
  given.struct_size = sizeof(given);
  int context = 5;
  given.context = &context;
  given.thread_cap = [](void* c) -> std::int32_t { return *static_cast<int*>(c); };
  const inlay_host full = complete_host(&given);
  EXPECT_EQ(Host(&full).thread_cap(), 5);
}

TEST(HostParallelFor, CoversTheRangeOnceInDisjointChunks) {
  inlay_host given{};
  given.struct_size = sizeof(given);
  given.thread_cap = [](void*) -> std::int32_t { return 3; };
  const inlay_host full = complete_host(&given);
  for (const std::int64_t count : {0, 1, 2, 7, 100, 1001}) {
    for (const std::int64_t grain : {0, 1, 5, 64, 5000}) {
      std::vector<int> seen(static_cast<std::size_t>(count), 0);
      Host(&full).parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
        EXPECT_LT(begin, end);
        EXPECT_TRUE(end == count || end - begin >= grain) << count << " " << grain;
        for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
      });
      EXPECT_EQ(seen, std::vector<int>(static_cast<std::size_t>(count), 1));
    }
  }
}

}  // namespace
}  // namespace inlay::sdk
