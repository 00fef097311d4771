// The two functions of Intel's compiler runtime that oneDNN calls; see CMakeLists.txt.
#include <stddef.h>
#include <string.h>

void* _intel_fast_memcpy(void* target, const void* source, size_t size) {
  return memcpy(target, source, size);
}

void* _intel_fast_memset(void* target, int value, size_t size) {
  return memset(target, value, size);
}
