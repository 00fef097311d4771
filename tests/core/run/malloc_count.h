// Counts every allocation of the process by whatever door, so that a test can claim there was none.
//
//   const long before = malloc_count();
//   executor.run_into(inputs, outputs);
//   EXPECT_EQ(malloc_count() - before, 0);
#pragma once

namespace inlay {

// Under a sanitizer, which has an allocator of its own, operator new alone is counted.
long malloc_count();

}  // namespace inlay
