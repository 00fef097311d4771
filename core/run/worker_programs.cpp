#include "core/run/worker_programs.h"

#include <fmt/format.h>

#include <utility>

#include "core/base/error.h"

namespace inlay {

int WorkerPrograms::add(std::unique_ptr<Executor> executor) {
  programs_[next_] = std::move(executor);
  return next_++;
}

int WorkerPrograms::attach(int program, const Descriptor& memory) {
  const auto found = programs_.find(program);
  if (found == programs_.end()) {
    throw Error(Code::kInvalidArgument, fmt::format("worker: no program {}", program));
  }
  Instance instance;
  instance.executor = found->second->twin();
  instance.memory = std::make_unique<SharedMemory>(copy_of(memory));
  const InstanceSlots slots = instance_slots(found->second->plan());
  if (instance.memory->size_bytes() < slots.size_bytes) {
    throw Error(Code::kCorrupt, fmt::format("worker: expected {} bytes of memory, found {}",
                                            slots.size_bytes, instance.memory->size_bytes()));
  }
  for (const std::size_t at : slots.inputs) instance.inputs.push_back(instance.memory->data() + at);
  for (const std::size_t at : slots.outputs) {
    instance.outputs.push_back(instance.memory->data() + at);
  }
  instances_[next_] = std::move(instance);
  return next_++;
}

void WorkerPrograms::run(int instance) {
  const auto found = instances_.find(instance);
  if (found == instances_.end()) {
    throw Error(Code::kInvalidArgument, fmt::format("worker: no instance {}", instance));
  }
  found->second.executor->run_into(found->second.inputs, found->second.outputs);
}

void WorkerPrograms::release(const std::vector<int>& programs, const std::vector<int>& instances) {
  for (const int instance : instances) instances_.erase(instance);
  for (const int program : programs) programs_.erase(program);
}

}  // namespace inlay
