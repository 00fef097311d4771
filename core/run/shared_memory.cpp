#include "core/run/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/error.h"

namespace inlay {
namespace {

constexpr std::size_t kAlignment = 64;  // what plugins are promised

[[noreturn]] void fail(const char* what) {
  throw Error(errno == ENOMEM || errno == ENOSPC ? Code::kNoMemory : Code::kIo,
              fmt::format("shared memory: {}: {}", what, std::strerror(errno)));
}

}  // namespace

SharedMemory::SharedMemory(std::size_t size_bytes)
    : file_(::memfd_create("inlay-instance", MFD_CLOEXEC | MFD_ALLOW_SEALING)),
      size_bytes_(std::max(size_bytes, kAlignment)) {
  if (!file_.is_open()) fail("memfd_create");
  if (::ftruncate(file_.get(), static_cast<off_t>(size_bytes_)) != 0) fail("ftruncate");
  // A plugin that gets hold of the file cannot shrink it under this process.
  if (::fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    fail("seals");
  }
  map();
}

SharedMemory::SharedMemory(Descriptor file) : file_(std::move(file)) {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) fail("fstat");
  size_bytes_ = static_cast<std::size_t>(status.st_size);
  map();
}

void SharedMemory::map() {
  void* address = ::mmap(nullptr, size_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (address == MAP_FAILED) fail("mmap");
  data_ = static_cast<std::byte*>(address);
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) ::munmap(data_, size_bytes_);
}

std::size_t size_of_value(const Plan& plan, int value) {
  const PlanValue& v = plan.values[static_cast<std::size_t>(value)];
  return v.layout.size_bytes(v.type);
}

InstanceSlots instance_slots(const Plan& plan) {
  InstanceSlots slots;
  const auto place = [&](const std::vector<int>& values, std::vector<std::size_t>* offsets) {
    for (const int value : values) {
      offsets->push_back(slots.size_bytes);
      slots.size_bytes += (size_of_value(plan, value) + kAlignment - 1) / kAlignment * kAlignment;
    }
  };
  place(plan.inputs, &slots.inputs);
  place(plan.outputs, &slots.outputs);
  return slots;
}

}  // namespace inlay
