// What a C++ backend implements: compile a region into a Kernel, run the Kernel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "core/abi/inlay_plugin.h"
#include "core/sdk/region.h"

namespace inlay::sdk {

// The host's services, for compile and run alike. Copyable; valid while the plugin is initialised.
class Host {
 public:
  explicit Host(const inlay_host* host) : host_(host) {}

  // Calls body(begin, end) over disjoint ranges that cover [0, count), each at least `grain` long
  // except the last, on the process's pool; returns when all are done. Runs inline when there is
  // too little work or one thread. `body` must not throw.
  template <typename Body>
  void parallel_for(std::int64_t count, std::int64_t grain, const Body& body) const {
    const std::int64_t chunks_wanted = std::int64_t{4} * std::max(thread_cap(), 1);
    const std::int64_t chunk = std::max<std::int64_t>(std::max<std::int64_t>(grain, 1),
                                                      (count + chunks_wanted - 1) / chunks_wanted);
    const std::int64_t chunks = count > 0 ? (count + chunk - 1) / chunk : 0;
    if (chunks <= 1 || thread_cap() == 1) {
      if (count > 0) body(std::int64_t{0}, count);
      return;
    }
    struct Job {
      const Body* body;
      std::int64_t chunk, count;
    } job{&body, chunk, count};
    host_->parallel_for(
        host_->context, chunks,
        [](void* argument, std::int64_t i) {
          const Job& j = *static_cast<const Job*>(argument);
          (*j.body)(i * j.chunk, std::min(j.count, (i + 1) * j.chunk));
        },
        &job);
  }

  int thread_cap() const { return host_->thread_cap(host_->context); }
  std::int64_t now_ns() const { return host_->now_ns(host_->context); }
  void log(std::int32_t level, const char* text) const { host_->log(host_->context, level, text); }
  const inlay_host* table() const { return host_; }

 private:
  const inlay_host* host_;
};

// What each instance has of its own beside the workspace, such as an engine's request.
class KernelState {
 public:
  virtual ~KernelState() = default;
};

struct RunContext {
  Host host;
  void* workspace;               // workspace_bytes() bytes, 64-byte aligned; null if that is 0
  KernelState* state = nullptr;  // the instance's; null if make_state gave none
};

// A compiled region. Immutable once made: run may be called from several threads at once, each with
// its own workspace and state.
class Kernel {
 public:
  virtual ~Kernel() = default;

  // Tensors in the region's order of inputs and outputs. Outputs are written whole. Throwing is an
  // internal error.
  virtual void run(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                   const RunContext& context) const = 0;

  virtual std::size_t workspace_bytes() const { return 0; }

  // Called once for each instance; it goes before the kernel.
  virtual std::unique_ptr<KernelState> make_state() const { return nullptr; }

  // True if run reads constants where compile found them; false if the kernel keeps copies of its
  // own.
  virtual bool retains_constants() const { return true; }
};

struct CompileContext {
  Host host;
  int thread_cap;
  // Of an engine's pattern: the region as an ONNX model without its constants; see onnx_model.h.
  std::string_view onnx = {};
};

// A plugin's one function: makes a kernel, or throws Decline with the reason.
using CompileFunction = std::unique_ptr<Kernel> (*)(const RegionView& region,
                                                    const CompileContext& context);

}  // namespace inlay::sdk
