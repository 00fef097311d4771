#include "core/host/evaluate.h"

#include <cstdlib>
#include <new>

namespace inlay {

std::optional<std::vector<Tensor>> evaluate(const Region& region, std::span<const Tensor> inputs,
                                            Device& device) {
  std::string declined;
  const std::unique_ptr<Program> program = device.compile(region, {}, &declined);
  if (program == nullptr) return std::nullopt;

  constexpr std::size_t kAlignment = 64;
  const std::size_t workspace_bytes =
      (program->workspace_bytes() + kAlignment - 1) / kAlignment * kAlignment;
  const std::unique_ptr<void, decltype(&std::free)> workspace(
      workspace_bytes > 0 ? std::aligned_alloc(kAlignment, workspace_bytes) : nullptr, &std::free);
  if (workspace_bytes > 0 && workspace == nullptr) throw std::bad_alloc();
  const std::unique_ptr<Instance> instance =
      program->instantiate(static_cast<std::byte*>(workspace.get()));

  std::vector<HostTensor> sources;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const RegionValue& value = region.values[static_cast<std::size_t>(region.inputs[i])];
    sources.push_back({&value.type, &value.layout, const_cast<std::byte*>(inputs[i].data())});
  }
  std::vector<Tensor> outputs;
  std::vector<HostTensor> targets;
  for (const int index : region.outputs) {
    const RegionValue& value = region.values[static_cast<std::size_t>(index)];
    outputs.push_back(Tensor::zeros(value.type));
    targets.push_back({&value.type, &value.layout, outputs.back().mutable_bytes().data()});
  }
  instance->bind(sources, targets);
  instance->run();
  return outputs;
}

}  // namespace inlay
