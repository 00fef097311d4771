// oneDNN primitives as an Inlay kernel: what each of their arguments is bound to, and the memory
// objects to run them with.
//
//   KernelBuilder builder(region);
//   builder.bind(DNNL_ARG_SRC, x, source);
//   builder.bind_packed(DNNL_ARG_WEIGHTS, w, plain, descriptor.weights_desc());   // reordered here
//   builder.bind(DNNL_ARG_DST, y, target);
//   return builder.build(dnnl::matmul(descriptor), descriptor.scratchpad_desc());
//
//   // Several primitives, one after the other, with a value between them.
//   const Temporary whole = builder.make_temporary(descriptor.dst_desc());
//   builder.bind_temporary(DNNL_ARG_DST, whole);
//   builder.add(dnnl::lstm_forward(descriptor), descriptor.scratchpad_desc());
//   builder.bind_temporary(DNNL_ARG_FROM, whole);
//   builder.bind(DNNL_ARG_TO, y, target);
//   return builder.build(dnnl::reorder(reorder), reorder.scratchpad_desc());
//
// The kernel keeps copies of all constants. Scratchpads and temporaries are the run's workspace.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "core/sdk/kernel.h"
#include "dnnl.hpp"
#include "plugins/onednn/layout.h"

namespace inlay::onednn {

// Where an argument's memory comes from.
struct Argument {
  enum class Source { kInput, kOutput, kConstant, kWorkspace };
  int id;  // DNNL_ARG_*
  Source source;
  int position;  // among the run's inputs or outputs
  Desc desc;
  std::ptrdiff_t offset_bytes;  // from the start of the input, output or workspace
  dnnl::memory memory;          // kConstant only
};

// A primitive and its arguments, a range of the kernel's.
struct PrimitiveStep {
  dnnl::primitive primitive;
  std::size_t first_argument;
  std::size_t argument_count;
};

// A value that only the kernel sees, in the workspace.
struct Temporary {
  Desc desc;
  std::ptrdiff_t offset_bytes;
};

class KernelBuilder {
 public:
  explicit KernelBuilder(const sdk::RegionView& region);

  const dnnl::engine& engine() const { return engine_; }

  // The value must be an input, an output or a constant of the region; `desc` describes its bytes
  // as they lie there, from `offset_bytes` on.
  void bind(int argument, const sdk::ValueView& value, const Desc& desc,
            std::ptrdiff_t offset_bytes = 0);

  // As bind, but a constant is reordered to `target`. Anything else must lie there as it is.
  void bind_packed(int argument, const sdk::ValueView& value, const Desc& desc, const Desc& target);

  void bind_constant(int argument, dnnl::memory memory);

  Temporary make_temporary(const Desc& desc);
  void bind_temporary(int argument, const Temporary& temporary);

  // Binds output `output` of the node or, where nobody reads it, a temporary in its place.
  void bind_result(int argument, const sdk::NodeView& node, int output, const Desc& desc);

  // A constant's bytes in memory of our own, reordered to `target`.
  dnnl::memory pack(const sdk::ValueView& value, const Desc& desc, const Desc& target) const;
  // The same of any bytes.
  dnnl::memory pack(const void* bytes, const Desc& desc, const Desc& target) const;

  // Has each run copy this input to the first output before the first primitive starts, unless they
  // share memory.
  void copy_first(const sdk::ValueView& value);

  // Has each run set all elements of the first output before the first primitive starts.
  void fill_first(float value) { fill_ = value; }

  // Appends a primitive; what was bound since the last one are its arguments.
  void add(const dnnl::primitive& primitive, const Desc& scratchpad);

  std::unique_ptr<sdk::Kernel> build();
  std::unique_ptr<sdk::Kernel> build(const dnnl::primitive& primitive, const Desc& scratchpad) {
    add(primitive, scratchpad);
    return build();
  }

 private:
  std::optional<int> output_position(int value_index) const;

  const sdk::RegionView region_;
  dnnl::engine engine_;
  std::vector<Argument> arguments_;
  std::vector<PrimitiveStep> steps_;
  std::size_t workspace_bytes_ = 0;
  int copied_input_ = -1;
  std::optional<float> fill_;
};

// Attributes with the scratchpad left to us.
dnnl::primitive_attr make_attributes(const dnnl::post_ops& post_ops = {});

// Refuses oneDNN's plain loops: they are there for coverage, hundreds of times slower than the real
// kernels. throws  Decline naming the operator
template <typename Descriptor>
void require_optimised(const Descriptor& descriptor, const char* op) {
  const std::string name = descriptor.impl_info_str();
  if (name.rfind("ref", 0) == 0) {
    throw sdk::Decline(std::string("oneDNN has only its reference code (") + name + ") for this " +
                       op);
  }
}

}  // namespace inlay::onednn
