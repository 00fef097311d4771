#include "search/check/failing_memory.h"

namespace inlay::check {
namespace {

thread_local int allowed_left = 0;
thread_local bool is_armed = false;
thread_local bool was_refused = false;
bool has_allocator = false;

}  // namespace

FailingMemory::FailingMemory(int allowed) {
  allowed_left = allowed;
  was_refused = false;
  is_armed = false;
}

FailingMemory::~FailingMemory() { is_armed = false; }

bool FailingMemory::has_failed() const { return was_refused; }

void FailingMemory::arm() { is_armed = true; }
void FailingMemory::disarm() { is_armed = false; }
bool FailingMemory::is_available() { return has_allocator; }
void FailingMemory::announce() { has_allocator = true; }

bool FailingMemory::should_fail() {
  if (!is_armed || allowed_left-- > 0) return false;
  // Once: what comes after must cope with memory that is there again.
  is_armed = false;
  was_refused = true;
  return true;
}

}  // namespace inlay::check
