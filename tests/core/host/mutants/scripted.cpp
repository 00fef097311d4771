// A good plugin whose patterns do what a test asks for, and that logs what happens to it.
#include <stdexcept>
#include <string>

#include "core/sdk/plugin.h"

using namespace inlay::sdk;

namespace {

// y[0] = first element of x, of the constant "W" if there is one, of the cap, or of the workspace's
// address.
class Scripted : public Kernel {
 public:
  Scripted(const RegionView& region, Host host) : pattern_(region.pattern()), host_(host) {
    if (pattern_ == "constant" || pattern_ == "copied_constant") {
      const ValueView weight = region.port("W");
      weight_ = weight.constant_as<float>().data();
      copy_ = *weight_;
    }
    if (pattern_ == "attribute") copy_ = static_cast<float>(region.node(0).get_int("axis", -1));
  }
  ~Scripted() override { host_.log(0, ("kernel destroyed " + pattern_).c_str()); }

  void run(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
           const RunContext& context) const override {
    float* y = outputs[0].as<float>();
    if (pattern_ == "run_fails") throw std::runtime_error("the fan stopped");
    if (pattern_ == "constant") y[0] = *weight_;
    if (pattern_ == "copied_constant" || pattern_ == "attribute") y[0] = copy_;
    if (pattern_ == "cap") y[0] = static_cast<float>(context.host.thread_cap());
    if (pattern_ == "identity") y[0] = inputs[0].as<float>()[0];
    if (pattern_ == "workspace") {
      y[0] = static_cast<float>(reinterpret_cast<std::uintptr_t>(context.workspace) % 64);
      static_cast<char*>(context.workspace)[workspace_bytes() - 1] = 1;
    }
    if (pattern_ == "parallel") {
      context.host.parallel_for(outputs[0].count(), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          y[i] = static_cast<float>(context.host.thread_cap());  // a pool's thread has the same cap
        }
      });
    }
  }
  std::size_t workspace_bytes() const override { return pattern_ == "workspace" ? 200 : 0; }
  bool retains_constants() const override { return pattern_ == "constant"; }

 private:
  std::string pattern_;
  Host host_;
  const float* weight_ = nullptr;
  float copy_ = 0;
};

std::unique_ptr<Kernel> compile(const RegionView& region, const CompileContext& context) {
  const std::string_view pattern = region.pattern();
  if (pattern == "decline") throw Decline("rank 7 is too much");
  if (pattern == "no_memory") throw std::bad_alloc();
  if (pattern == "fail") throw std::logic_error("table is bent");
  if (pattern == "nothing") return nullptr;
  context.host.log(1, "compiling");
  return std::make_unique<Scripted>(region, context.host);
}

constexpr Pattern kPatterns[] = {{.id = "identity", .ops = "Identity"}};

const inlay_host* host_table = nullptr;

constexpr Hooks kHooks{.init =
                           [](const Host& host) {
                             host_table = host.table();
                             host.log(1, "init");
                           },
                       .deinit = [] { Host(host_table).log(1, "deinit"); },
                       .get_extension = nullptr};

}  // namespace

INLAY_PLUGIN_WITH((PluginInfo{.name = "scripted", .version = "1.0"}), kPatterns, compile, kHooks);
