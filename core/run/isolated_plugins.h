// Plugins that run in processes of their own, in use as in trials: what crashes or hangs there ends
// one run with one error, and the next run starts the process again.
//
//   IsolatedPlugins isolated;
//   HostOptions options{.isolate = {"acme"}, .open_isolated = isolated.opener({.threads = 2})};
//
// The devices, programs and instances that such a host gives out are as any others. Each plugin has
// one process (inlay-worker, worker_client.h) with as many threads as the host, started when its
// device is opened; runs of one plugin take turns. Inputs are copied into memory that both
// processes have, and outputs out of it; a run costs that and a round trip of some 20 us. Constants
// are in shared memory for as long as their program lives. A run allocates.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>

#include "core/host/plugin_host.h"
#include "core/run/worker_client.h"

namespace inlay {

struct IsolateOptions {
  int threads = 1;
  std::filesystem::path executable;  // of the worker; empty: find_worker()
  // What takes longer, a compilation or a run, counts as hung.
  std::chrono::milliseconds patience{60000};
};

class IsolatedPlugins {
 public:
  // The function, and what it opens, may outlive this object.
  OpenIsolated opener(const IsolateOptions& options);

  // How the latest of the processes that a plugin ended ended, since forget_death().
  struct Death {
    std::variant<Crashed, Hung> how;
    std::string plugin;
    std::string build_id;
    std::string region;  // hash without constants, of what was compiled or run; empty: neither
    std::string what;    // a summary of it
  };
  void forget_death();
  std::optional<Death> last_death() const;

  struct Deaths {
    std::mutex mutex;
    std::optional<Death> latest;
  };

 private:
  std::shared_ptr<Deaths> deaths_ = std::make_shared<Deaths>();
};

}  // namespace inlay
