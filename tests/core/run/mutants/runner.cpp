// A plugin whose operators do what a test of the executor or of the worker asks for, the worst
// included.
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include <unistd.h>

#include "core/sdk/plugin.h"

using namespace inlay::sdk;

namespace {

[[noreturn]] void hang() {
  for (;;) ::pause();
}

class Runner : public Kernel {
 public:
  Runner(const RegionView& region, int cap) : op_(region.node(0).op()), cap_(cap) {
    if (op_ == "Scale") weight_ = region.port("W").constant_as<float>().data();
    if (op_ == "ScaleCopy") scale_ = region.port("W").constant_as<float>()[0];
  }

  void run(std::span<const TensorView> in, std::span<const TensorView> out,
           const RunContext& context) const override {
    if (op_ == "Crash") std::raise(SIGSEGV);
    if (op_ == "Exit") std::_Exit(7);
    if (op_ == "Hang") hang();
    if (op_ == "Fail") throw std::runtime_error("the fan stopped");
    if (op_ == "Slow") ::usleep(20000);
    const float* x = in[0].as<float>();
    float* y = out[0].as<float>();
    const bool is_trigger = out[0].count() > 0 && x[0] < 0;
    if (op_ == "CrashBelowZero" && is_trigger) std::raise(SIGSEGV);
    if (op_ == "HangBelowZero" && is_trigger) hang();
    if (op_ == "Same") {
      std::memcpy(y, x, out[0].size_bytes());
    } else if (op_ == "Workspace") {
      auto* scratch = static_cast<float*>(context.workspace);
      std::memcpy(scratch, x, out[0].size_bytes());
      for (std::int64_t i = 0; i < out[0].count(); ++i) y[i] = scratch[i] + 1;
    } else if (op_ == "Add") {
      for (std::int64_t i = 0; i < out[0].count(); ++i) y[i] = x[i] + in[1].as<float>()[i];
    } else if (op_ == "Cap") {
      for (std::int64_t i = 0; i < out[0].count(); ++i) y[i] = static_cast<float>(cap_);
    } else if (op_ == "Pid") {
      for (std::int64_t i = 0; i < out[0].count(); ++i) y[i] = static_cast<float>(::getpid());
    } else if (op_ == "Nth") {
      for (std::int64_t i = 0; i < out[0].count(); ++i) y[i] = static_cast<float>(nth_);
    } else if (op_ == "IsAligned") {
      const bool is_aligned = reinterpret_cast<std::uintptr_t>(x) % sizeof(float) == 0 &&
                              reinterpret_cast<std::uintptr_t>(y) % sizeof(float) == 0;
      std::memcpy(y, x, out[0].size_bytes());
      if (!is_aligned) throw std::runtime_error("misaligned");
    } else {
      context.host.parallel_for(out[0].count(), 16, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) y[i] = value(x[i], i);
      });
    }
  }
  std::size_t workspace_bytes() const override { return op_ == "Workspace" ? 65536 : 0; }
  bool retains_constants() const override { return op_ == "Scale"; }

 private:
  float value(float x, std::int64_t i) const {
    if (op_ == "Scale") return x * weight_[i % 128];
    if (op_ == "ScaleCopy") return x * scale_;
    if (op_ == "Wrong") return x + 1.01f;
    return x + 1;  // Increment, Slow
  }

  static inline std::atomic<int> compiled_{0};

  std::string op_;
  int cap_;
  int nth_ = ++compiled_;
  const float* weight_ = nullptr;
  float scale_ = 1;
};

constexpr Pattern kPatterns[] = {
    {.id = "runner",
     // Plans of these tests put all operators into the domain "test".
     .ops = "test.Nothing Increment Same Scale ScaleCopy Workspace Add Cap IsAligned Wrong Slow "
            "Crash Exit Hang Fail Decline CrashCompile HangCompile CrashBelowZero HangBelowZero "
            "Pid Nth"}};

std::unique_ptr<Kernel> compile(const RegionView& region, const CompileContext& context) {
  const std::string_view op = region.node(0).op();
  if (op == "Decline") throw Decline("rank 7 is too much");
  if (op == "CrashCompile") std::abort();
  if (op == "HangCompile") hang();
  return std::make_unique<Runner>(region, context.thread_cap);
}

}  // namespace

INLAY_PLUGIN((PluginInfo{.name = "runner", .version = "1.0"}), kPatterns, compile);
