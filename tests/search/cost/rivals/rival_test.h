// A test with a cost database, a worker and the rivals it asks for (see rival.cpp).
//
//   TEST_F(RivalTest, …) { use({"good", "crasher"}); price(graph, candidates, context()); }
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/run/thread_pool.h"
#include "core/run/worker_client.h"
#include "search/cost/database.h"
#include "search/cost/price.h"
#include "tests/core/base/scratch_folder.h"

namespace inlay {

// Keeps the warnings, for tests that want one.
class WarningLog : public Log {
 public:
  void write(LogLevel level, std::string_view event, const std::vector<LogField>& fields) override {
    if (level != LogLevel::kWarning) return;
    std::string line(event);
    for (const auto& [key, value] : fields) line += " " + std::string(key) + "=" + value;
    lines.push_back(std::move(line));
  }
  std::vector<std::string> lines;
};

class RivalTest : public ::testing::Test {
 protected:
  void SetUp() override { database_.emplace(folder_ / "costs.sqlite"); }
  void TearDown() override { database_.reset(); }

  // The reference, and the rivals of these names.
  void use(const std::vector<std::string>& rivals, int threads = 1) {
    const std::filesystem::path binaries = INLAY_BINARY_DIR;
    std::vector<std::filesystem::path> path{std::filesystem::path(INLAY_PLUGIN_DIR) /
                                            "reference.so"};
    for (const std::string& name : rivals) {
      path.push_back(binaries / "tests" / "rivals" / (name + ".so"));
    }
    host_.emplace(log_, HostOptions{.search_path = path,
                                    .exclude = {},
                                    .threads = threads,
                                    .parallel_for = pool_.parallel_for()});
    worker_.emplace(WorkerOptions{.search_path = path,
                                  .exclude = {},
                                  .threads = threads,
                                  .executable = binaries / "bin" / "inlay-worker"});
  }

  PriceContext context() {
    return {
        .host = *host_, .database = *database_, .worker = *worker_, .log = log_, .progress = {}};
  }

  ScratchFolder scratch_;
  std::filesystem::path folder_ = scratch_.path();
  WarningLog log_;
  ThreadPool pool_{1};
  std::optional<CostDatabase> database_;
  std::optional<PluginHost> host_;
  std::optional<WorkerClient> worker_;
};

}  // namespace inlay
