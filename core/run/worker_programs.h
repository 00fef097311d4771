// The plans that a worker keeps, each with its instances: what WorkerClient's load, attach and run
// ask for. Private to core/run.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "core/run/executor.h"
#include "core/run/message.h"
#include "core/run/shared_memory.h"

namespace inlay {

class WorkerPrograms {
 public:
  int add(std::unique_ptr<Executor> executor);

  // throws  Error{kInvalidArgument} for a number that was never given out, Error{kCorrupt} if the
  //         memory is too small for the plan's inputs and outputs
  int attach(int program, const Descriptor& memory);
  void run(int instance);

  // Unknown numbers are passed over.
  void release(const std::vector<int>& programs, const std::vector<int>& instances);

 private:
  struct Instance {
    std::unique_ptr<Executor> executor;
    std::unique_ptr<SharedMemory> memory;
    std::vector<const std::byte*> inputs;
    std::vector<std::byte*> outputs;
  };

  std::map<int, std::unique_ptr<Executor>> programs_;
  std::map<int, Instance> instances_;
  int next_ = 0;
};

}  // namespace inlay
