// Relu in several ways to go wrong. RIVAL names the plugin; RIVAL_RUN is what run does,
// RIVAL_COMPILE what compile does first, RIVAL_LOAD what happens when the library is loaded.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string_view>

#include "core/sdk/plugin.h"

using namespace inlay::sdk;

namespace {

std::atomic<int> alive{0};  // kernels

// What INLAY_TEST_MOOD says; a machine has such moods too.
[[maybe_unused]] void show_mood() {
  const char* variable = std::getenv("INLAY_TEST_MOOD");
  const std::string_view mood = variable == nullptr ? "" : variable;
  if (mood == "out of memory") throw std::bad_alloc();
  if (mood == "killed") std::raise(SIGKILL);
  if (mood == "terminated") std::raise(SIGTERM);
  if (mood == "stopped") std::raise(SIGSTOP);
}

// Takes the longer the more threads it may use.
[[maybe_unused]] void spin(int threads) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(20 * threads);
  while (std::chrono::steady_clock::now() < end) {
  }
}

struct Relu : Kernel {
  Relu() { ++alive; }
  ~Relu() override { --alive; }
  void run(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
           [[maybe_unused]] const RunContext& context) const override {
    const float* x = inputs[0].as<float>();
    float* y = outputs[0].as<float>();
    for (std::int64_t i = 0; i < inputs[0].count(); ++i) y[i] = std::max(0.0f, x[i]);
    RIVAL_RUN;
  }
};

std::unique_ptr<Kernel> compile(const RegionView&, [[maybe_unused]] const CompileContext& context) {
  RIVAL_COMPILE;
  return std::make_unique<Relu>();
}

// Runs when the library is loaded.
[[maybe_unused]] const bool kIsLoaded = [] {
  RIVAL_LOAD;
  return true;
}();

constexpr Pattern kPatterns[] = {
#ifdef RIVAL_IS_ENGINE  // of Relus in a row
    {.id = "region", .any = {.opset = 20, .allow = "Relu"}, .tolerance = "region"},
#else
    {.id = "relu", .match = "Relu(X)", .where = "X: f32", .tolerance = "exact"},
#ifdef RIVAL_FUSES
    {.id = "relus", .match = "Relu(Relu(X))", .where = "X: f32", .tolerance = "exact"},
#endif
#endif
};

}  // namespace

#ifndef RIVAL_THREADS
#define RIVAL_THREADS "host-pool"
#endif

INLAY_PLUGIN((PluginInfo{.name = RIVAL, .version = "1.0", .threads = RIVAL_THREADS}), kPatterns,
             compile);
