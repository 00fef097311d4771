#include "plugins/onednn/primitive_kernel.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

namespace inlay::onednn {

using dnnl::memory;
using Source = Argument::Source;

namespace {

constexpr std::size_t kAlignment = 64;  // of scratchpads and temporaries in the workspace

// What a kernel does, unchanged once built.
struct Program {
  dnnl::engine engine;
  std::vector<Argument> arguments;
  std::vector<PrimitiveStep> steps;
  std::size_t workspace_bytes;
  int copied_input;
  std::optional<float> fill;
};

// What one run needs and another run at the same time must not touch.
struct Frame {
  dnnl::stream stream;
  std::vector<memory> memories;
  std::vector<dnnl_exec_arg_t> arguments;
};

class PrimitiveKernel : public sdk::Kernel {
 public:
  explicit PrimitiveKernel(Program program) : program_(std::move(program)) {
    idle_.push_back(make_frame());
  }

  void run(std::span<const sdk::TensorView> inputs, std::span<const sdk::TensorView> outputs,
           const sdk::RunContext& context) const override {
    prepare_output(inputs, outputs);
    std::unique_ptr<Frame> frame = take_frame();
    for (std::size_t i = 0; i < program_.arguments.size(); ++i) {
      const Argument& argument = program_.arguments[i];
      if (argument.source == Source::kConstant) continue;
      const auto& tensors = argument.source == Source::kInput ? inputs : outputs;
      void* base = argument.source == Source::kWorkspace ? context.workspace
                                                         : tensors[argument.position].data();
      frame->memories[i].set_data_handle(static_cast<std::byte*>(base) + argument.offset_bytes);
    }
    for (const PrimitiveStep& step : program_.steps) {
      // The C call takes an array; the C++ one would build a vector in every run.
      dnnl::error::wrap_c_api(dnnl_primitive_execute(step.primitive.get(), frame->stream.get(),
                                                     static_cast<int>(step.argument_count),
                                                     frame->arguments.data() + step.first_argument),
                              "could not execute the primitive");
    }
    frame->stream.wait();
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(frame));
  }

  std::size_t workspace_bytes() const override { return program_.workspace_bytes; }
  bool retains_constants() const override { return false; }

 private:
  void prepare_output(std::span<const sdk::TensorView> inputs,
                      std::span<const sdk::TensorView> outputs) const {
    const int copied = program_.copied_input;
    if (copied >= 0 && inputs[copied].data() != outputs[0].data()) {
      std::memcpy(outputs[0].data(), inputs[copied].data(), outputs[0].size_bytes());
    }
    if (program_.fill) {
      std::fill_n(outputs[0].as<float>(), outputs[0].size_bytes() / sizeof(float), *program_.fill);
    }
  }

  std::unique_ptr<Frame> make_frame() const {
    auto frame = std::make_unique<Frame>();
    frame->stream = dnnl::stream(program_.engine);
    for (const Argument& argument : program_.arguments) {
      const bool is_constant = argument.source == Source::kConstant;
      frame->memories.push_back(
          is_constant ? argument.memory : memory(argument.desc, program_.engine, DNNL_MEMORY_NONE));
      frame->arguments.push_back({argument.id, frame->memories.back().get()});
    }
    return frame;
  }

  std::unique_ptr<Frame> take_frame() const {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<Frame> frame = std::move(idle_.back());
        idle_.pop_back();
        return frame;
      }
    }
    return make_frame();
  }

  Program program_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Frame>> idle_;
};

}  // namespace

KernelBuilder::KernelBuilder(const sdk::RegionView& region)
    : region_(region), engine_(dnnl::engine::kind::cpu, 0) {
  for (int i = 0; i < region.value_count(); ++i) {
    if (region.value(i).count() == 0) throw sdk::Decline("a tensor without elements");
  }
}

std::optional<int> KernelBuilder::output_position(int value_index) const {
  const auto outputs = region_.outputs();
  const auto it = std::find(outputs.begin(), outputs.end(), value_index);
  if (it == outputs.end()) return std::nullopt;
  return static_cast<int>(it - outputs.begin());
}

void KernelBuilder::bind(int argument, const sdk::ValueView& value, const Desc& desc,
                         std::ptrdiff_t offset_bytes) {
  if (value.is_constant()) {
    if (offset_bytes != 0) throw sdk::Decline("a part of a constant");
    return bind_constant(argument, pack(value, desc, desc));
  }
  if (const int position = region_.input_position(value.index()); position >= 0) {
    arguments_.push_back({argument, Source::kInput, position, desc, offset_bytes, {}});
  } else if (const auto output = output_position(value.index())) {
    arguments_.push_back({argument, Source::kOutput, *output, desc, offset_bytes, {}});
  } else {
    throw sdk::Decline("value '" + std::string(value.name()) + "' is inside the region");
  }
}

void KernelBuilder::bind_packed(int argument, const sdk::ValueView& value, const Desc& desc,
                                const Desc& target) {
  if (value.is_constant()) return bind_constant(argument, pack(value, desc, target));
  if (desc != target) throw sdk::Decline("oneDNN wants another layout for an input that varies");
  bind(argument, value, desc);
}

void KernelBuilder::bind_constant(int argument, memory memory) {
  arguments_.push_back({argument, Source::kConstant, 0, {}, 0, std::move(memory)});
}

Temporary KernelBuilder::make_temporary(const Desc& desc) {
  const Temporary temporary{desc, static_cast<std::ptrdiff_t>(workspace_bytes_)};
  workspace_bytes_ += (desc.get_size() + kAlignment - 1) / kAlignment * kAlignment;
  return temporary;
}

void KernelBuilder::bind_temporary(int argument, const Temporary& temporary) {
  arguments_.push_back(
      {argument, Source::kWorkspace, 0, temporary.desc, temporary.offset_bytes, {}});
}

void KernelBuilder::bind_result(int argument, const sdk::NodeView& node, int output,
                                const Desc& desc) {
  const auto outputs = node.outputs();
  const int index = output < static_cast<int>(outputs.size()) ? outputs[output] : -1;
  if (index >= 0 && output_position(index)) return bind(argument, region_.value(index), desc);
  bind_temporary(argument, make_temporary(desc));
}

memory KernelBuilder::pack(const sdk::ValueView& value, const Desc& desc,
                           const Desc& target) const {
  if (desc.get_size() > value.constant().size_bytes()) {
    throw sdk::Decline("constant '" + std::string(value.name()) + "' is smaller than its use");
  }
  return pack(value.constant().data(), desc, target);
}

memory KernelBuilder::pack(const void* bytes, const Desc& desc, const Desc& target) const {
  memory packed(target, engine_);
  if (desc == target) {
    std::memcpy(packed.get_data_handle(), bytes, desc.get_size());
    return packed;
  }
  // oneDNN only reads from here, though it takes a pointer to write by.
  memory plain(desc, engine_, const_cast<void*>(bytes));
  dnnl::stream stream(engine_);
  dnnl::reorder(plain, packed).execute(stream, plain, packed);
  stream.wait();
  return packed;
}

void KernelBuilder::copy_first(const sdk::ValueView& value) {
  copied_input_ = region_.input_position(value.index());
  if (copied_input_ < 0) throw sdk::Decline("the operand to add is not an input");
}

void KernelBuilder::add(const dnnl::primitive& primitive, const Desc& scratchpad) {
  if (scratchpad.get_size() > 0) bind_temporary(DNNL_ARG_SCRATCHPAD, make_temporary(scratchpad));
  const std::size_t first =
      steps_.empty() ? 0 : steps_.back().first_argument + steps_.back().argument_count;
  steps_.push_back({primitive, first, arguments_.size() - first});
}

std::unique_ptr<sdk::Kernel> KernelBuilder::build() {
  return std::make_unique<PrimitiveKernel>(Program{
      engine_, std::move(arguments_), std::move(steps_), workspace_bytes_, copied_input_, fill_});
}

dnnl::primitive_attr make_attributes(const dnnl::post_ops& post_ops) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attributes.set_post_ops(post_ops);
  return attributes;
}

}  // namespace inlay::onednn
