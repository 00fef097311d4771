// One oneDNN primitive as an Inlay kernel: what each of its arguments is bound to, and the memory
// objects to run it with.
//
//   KernelBuilder builder(region);
//   builder.bind(DNNL_ARG_SRC, x, source);
//   builder.bind_packed(DNNL_ARG_WEIGHTS, w, plain, descriptor.weights_desc());   // reordered
//   here, once builder.bind(DNNL_ARG_DST, y, target); return
//   builder.build(dnnl::matmul(descriptor), descriptor.scratchpad_desc());
//
// The kernel keeps copies of all constants. The scratchpad is the run's workspace.
#pragma once

#include <memory>
#include <vector>

#include "core/sdk/kernel.h"
#include "dnnl.hpp"
#include "plugins/onednn/layout.h"

namespace inlay::onednn {

// Where an argument's memory comes from.
struct Argument {
  enum class Source { kInput, kOutput, kConstant };
  int id;  // DNNL_ARG_*
  Source source;
  int position;  // among the run's inputs or outputs
  Desc desc;
  dnnl::memory memory;  // kConstant only
};

class KernelBuilder {
 public:
  explicit KernelBuilder(const sdk::RegionView& region);

  const dnnl::engine& engine() const { return engine_; }

  // The value must be an input, an output or a constant of the region; `desc` describes its bytes
  // as they lie there.
  void bind(int argument, const sdk::ValueView& value, const Desc& desc);

  // As bind, but a constant is reordered to `target`. Anything else must lie there as it is.
  void bind_packed(int argument, const sdk::ValueView& value, const Desc& desc, const Desc& target);

  void bind_constant(int argument, dnnl::memory memory);

  // A constant's bytes in memory of our own, reordered to `target`.
  dnnl::memory pack(const sdk::ValueView& value, const Desc& desc, const Desc& target) const;

  // Has each run copy this input to the first output before the primitive starts, unless they share
  // memory.
  void copy_first(const sdk::ValueView& value);

  std::unique_ptr<sdk::Kernel> build(const dnnl::primitive& primitive, const Desc& scratchpad);

 private:
  const sdk::RegionView region_;
  dnnl::engine engine_;
  std::vector<Argument> arguments_;
  int copied_input_ = -1;
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
