// malloc and its relatives of the worker, which fail when FailingMemory says so: the program's
// definitions stand before the C library's for every library in the process.
#include <cerrno>
#include <cstddef>

#include "search/check/failing_memory.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

extern "C" {

// The C library's own, under the names that it keeps for this.
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

__attribute__((visibility("default"))) void* malloc(std::size_t size) {
  return inlay::check::FailingMemory::should_fail() ? nullptr : __libc_malloc(size);
}

__attribute__((visibility("default"))) void* calloc(std::size_t count, std::size_t size) {
  return inlay::check::FailingMemory::should_fail() ? nullptr : __libc_calloc(count, size);
}

__attribute__((visibility("default"))) void* realloc(void* old, std::size_t size) {
  return inlay::check::FailingMemory::should_fail() ? nullptr : __libc_realloc(old, size);
}

__attribute__((visibility("default"))) void* memalign(std::size_t alignment, std::size_t size) {
  return inlay::check::FailingMemory::should_fail() ? nullptr : __libc_memalign(alignment, size);
}

__attribute__((visibility("default"))) void* aligned_alloc(std::size_t alignment,
                                                           std::size_t size) {
  return inlay::check::FailingMemory::should_fail() ? nullptr : __libc_memalign(alignment, size);
}

__attribute__((visibility("default"))) int posix_memalign(void** out, std::size_t alignment,
                                                          std::size_t size) {
  void* made =
      inlay::check::FailingMemory::should_fail() ? nullptr : __libc_memalign(alignment, size);
  if (made == nullptr) return ENOMEM;
  *out = made;
  return 0;
}

}  // extern "C"

namespace {
const bool is_announced = [] {
  inlay::check::FailingMemory::announce();
  return true;
}();
}  // namespace

#endif
