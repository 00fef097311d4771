#include "plugins/onednn/primitive_kernel.h"

#include <cstring>
#include <mutex>
#include <utility>

namespace inlay::onednn {

using dnnl::memory;

namespace {

// What one run needs and another run at the same time must not touch.
struct Frame {
  dnnl::stream stream;
  std::vector<memory> memories;
  std::vector<dnnl_exec_arg_t> arguments;
};

class PrimitiveKernel : public sdk::Kernel {
 public:
  PrimitiveKernel(dnnl::engine engine, dnnl::primitive primitive, std::vector<Argument> arguments,
                  const Desc& scratchpad, int copied_input)
      : engine_(std::move(engine)),
        primitive_(std::move(primitive)),
        arguments_(std::move(arguments)),
        scratchpad_(scratchpad),
        copied_input_(copied_input) {
    idle_.push_back(make_frame());
  }

  void run(std::span<const sdk::TensorView> inputs, std::span<const sdk::TensorView> outputs,
           const sdk::RunContext& context) const override {
    if (copied_input_ >= 0 && inputs[copied_input_].data() != outputs[0].data()) {
      std::memcpy(outputs[0].data(), inputs[copied_input_].data(), outputs[0].size_bytes());
    }
    std::unique_ptr<Frame> frame = take_frame();
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      const Argument& argument = arguments_[i];
      if (argument.source == Argument::Source::kConstant) continue;
      const auto& tensors = argument.source == Argument::Source::kInput ? inputs : outputs;
      frame->memories[i].set_data_handle(tensors[argument.position].data());
    }
    if (workspace_bytes() > 0) frame->memories.back().set_data_handle(context.workspace);
    // The C call takes an array; the C++ one would build a vector in every run.
    dnnl::error::wrap_c_api(
        dnnl_primitive_execute(primitive_.get(), frame->stream.get(),
                               static_cast<int>(frame->arguments.size()), frame->arguments.data()),
        "could not execute the primitive");
    frame->stream.wait();
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(frame));
  }

  std::size_t workspace_bytes() const override { return scratchpad_.get_size(); }
  bool retains_constants() const override { return false; }

 private:
  std::unique_ptr<Frame> make_frame() const {
    auto frame = std::make_unique<Frame>();
    frame->stream = dnnl::stream(engine_);
    for (const Argument& argument : arguments_) {
      const bool is_constant = argument.source == Argument::Source::kConstant;
      frame->memories.push_back(is_constant ? argument.memory
                                            : memory(argument.desc, engine_, DNNL_MEMORY_NONE));
      frame->arguments.push_back({argument.id, frame->memories.back().get()});
    }
    if (workspace_bytes() > 0) {
      frame->memories.push_back(memory(scratchpad_, engine_, DNNL_MEMORY_NONE));
      frame->arguments.push_back({DNNL_ARG_SCRATCHPAD, frame->memories.back().get()});
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

  dnnl::engine engine_;
  dnnl::primitive primitive_;
  std::vector<Argument> arguments_;
  Desc scratchpad_;
  int copied_input_;
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

void KernelBuilder::bind(int argument, const sdk::ValueView& value, const Desc& desc) {
  bind_packed(argument, value, desc, desc);
}

void KernelBuilder::bind_packed(int argument, const sdk::ValueView& value, const Desc& desc,
                                const Desc& target) {
  using Source = Argument::Source;
  if (value.is_constant()) return bind_constant(argument, pack(value, desc, target));
  if (desc != target) throw sdk::Decline("oneDNN wants another layout for an input that varies");
  if (const int position = region_.input_position(value.index()); position >= 0) {
    arguments_.push_back({argument, Source::kInput, position, desc, {}});
    return;
  }
  for (int i = 0; i < static_cast<int>(region_.outputs().size()); ++i) {
    if (region_.outputs()[i] != value.index()) continue;
    arguments_.push_back({argument, Source::kOutput, i, desc, {}});
    return;
  }
  throw sdk::Decline("value '" + std::string(value.name()) + "' is inside the region");
}

void KernelBuilder::bind_constant(int argument, dnnl::memory memory) {
  arguments_.push_back({argument, Argument::Source::kConstant, 0, {}, std::move(memory)});
}

memory KernelBuilder::pack(const sdk::ValueView& value, const Desc& desc,
                           const Desc& target) const {
  if (desc.get_size() > value.constant().size_bytes()) {
    throw sdk::Decline("constant '" + std::string(value.name()) + "' is smaller than its use");
  }
  memory packed(target, engine_);
  if (desc == target) {
    std::memcpy(packed.get_data_handle(), value.constant().data(), desc.get_size());
    return packed;
  }
  memory plain(desc, engine_, value.constant().data());
  dnnl::stream stream(engine_);
  dnnl::reorder(plain, packed).execute(stream, plain, packed);
  stream.wait();
  return packed;
}

void KernelBuilder::copy_first(const sdk::ValueView& value) {
  copied_input_ = region_.input_position(value.index());
  if (copied_input_ < 0) throw sdk::Decline("the operand to add is not an input");
}

std::unique_ptr<sdk::Kernel> KernelBuilder::build(const dnnl::primitive& primitive,
                                                  const Desc& scratchpad) {
  return std::make_unique<PrimitiveKernel>(engine_, primitive, std::move(arguments_), scratchpad,
                                           copied_input_);
}

dnnl::primitive_attr make_attributes(const dnnl::post_ops& post_ops) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attributes.set_post_ops(post_ops);
  return attributes;
}

}  // namespace inlay::onednn
