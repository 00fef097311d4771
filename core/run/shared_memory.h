// Memory of two processes: the inputs and outputs of one instance of a plan. Private to core/run.
//
//   SharedMemory memory(instance_slots(plan).size_bytes);       // and memory.file() to the worker
//   SharedMemory same(file);                                    // there
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/plan/plan.h"
#include "core/run/message.h"

namespace inlay {

class SharedMemory {
 public:
  // throws  Error{kIo}; Error{kNoMemory} if there is none
  explicit SharedMemory(std::size_t size_bytes);
  explicit SharedMemory(Descriptor file);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  std::byte* data() const { return data_; }
  std::size_t size_bytes() const { return size_bytes_; }
  const Descriptor& file() const { return file_; }

 private:
  void map();

  Descriptor file_;
  std::size_t size_bytes_ = 0;
  std::byte* data_ = nullptr;
};

// Where a plan's inputs and outputs lie in such memory, each at a multiple of 64 bytes.
struct InstanceSlots {
  std::vector<std::size_t> inputs;  // offsets
  std::vector<std::size_t> outputs;
  std::size_t size_bytes = 0;
};
InstanceSlots instance_slots(const Plan& plan);

// Bytes of a plan's value in its layout.
std::size_t size_of_value(const Plan& plan, int value);

}  // namespace inlay
