// Counts every allocation of a test program, so that a test can claim there was none.
//
//   const long before = allocation_count();
//   instance->run();
//   EXPECT_EQ(allocation_count() - before, 0);
#pragma once

long allocation_count();
