#include <cstdlib>
#include <cstring>

#include "tests/conformance/sample_plugin.h"

namespace sample {
namespace {

inlay_status alloc(inlay_device*, const char*, std::uint64_t size_bytes,
                   std::uint64_t alignment_bytes, inlay_error* error, inlay_buffer** out) {
  const std::uint64_t unit = is_broken(45) ? 64 : alignment_bytes < 64 ? 64 : alignment_bytes;
  const std::uint64_t size = (size_bytes + unit - 1) / unit * unit;
  auto* memory = static_cast<char*>(std::aligned_alloc(unit, size == 0 ? unit : size));
  if (memory == nullptr) return fail(error, INLAY_NO_MEMORY, "out of memory");
  *out = new inlay_buffer{memory, size_bytes};
  return INLAY_OK;
}

void free_buffer(inlay_device*, inlay_buffer* buffer) {
  if (buffer == nullptr) return;
  std::free(buffer->memory);
  delete buffer;
}

inlay_status map(inlay_device*, inlay_buffer* buffer, std::uint64_t offset_bytes, std::uint64_t,
                 std::uint32_t, inlay_error*, void** out) {
  *out = buffer->memory + offset_bytes;
  return INLAY_OK;
}

inlay_status unmap(inlay_device*, inlay_buffer*, void*, inlay_error*) { return INLAY_OK; }

char* address_of(const inlay_tensor& tensor, bool counts_offset) {
  if (tensor.buffer == nullptr) return static_cast<char*>(tensor.data);
  return tensor.buffer->memory + (counts_offset ? tensor.offset_bytes : 0);
}

inlay_status copy(inlay_device*, const inlay_tensor* source, const inlay_tensor* target,
                  inlay_stream*, inlay_error*) {
  std::memmove(address_of(*target, true), address_of(*source, !is_broken(46)), target->size_bytes);
  return INLAY_OK;
}

}  // namespace

const inlay_memory_table kMemory = {
    sizeof(inlay_memory_table), alloc, free_buffer, nullptr, map, unmap, copy};

}  // namespace sample
