// Allocations that fail on demand, for one thread.
//
//   FailingMemory failing(3);          // the fourth from now on
//   FailingMemory::arm();
//   status = table.compile(...);
//   FailingMemory::disarm();
//   failing.has_failed()               // whether there was a fourth
//
// Works in a program that links allocator.cpp, whose malloc asks should_fail(); libraries loaded
// later get that malloc too.
#pragma once

namespace inlay::check {

class FailingMemory {
 public:
  explicit FailingMemory(int allowed);  // so many succeed first
  ~FailingMemory();
  FailingMemory(const FailingMemory&) = delete;
  FailingMemory& operator=(const FailingMemory&) = delete;
  bool has_failed() const;

  static void arm();
  static void disarm();
  static bool is_available();  // false under a sanitizer, and where allocator.cpp is not linked
  static bool should_fail();   // for the allocator
  static void announce();      // by the allocator: it is there
};

}  // namespace inlay::check
