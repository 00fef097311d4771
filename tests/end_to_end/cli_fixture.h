// The inlay program as a user starts it: a folder, a database and a small model for each test.
//
//   TEST_F(Cli, ListsPlugins) { EXPECT_EQ(inlay("plugins").status, 0); }
#pragma once

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/base/file.h"
#include "core/base/rng.h"
#include "graphs/ir/graph.h"
#include "graphs/onnx/export.h"
#include "tests/core/base/scratch_folder.h"

extern char** environ;

namespace inlay {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct Outcome {
  int status;  // exit status, or minus the signal
  std::string out;
  std::string err;
};

inline std::string slurp(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Goes with the program.
inline const ScratchFolder& shared_folder() {
  static const ScratchFolder folder;
  return folder;
}

class Cli : public ::testing::Test {
 protected:
  void SetUp() override { database_ = folder_ / "costs.sqlite"; }
  // From here on the database is one for all tests of the program that ask for it: only the first
  // of them measures.
  void reuse_measurements() { database_ = shared_folder().path() / "costs.sqlite"; }

  fs::path path(const std::string& name) const { return folder_ / name; }

  // Starts `inlay ARGUMENTS` through the shell, which also redirects.
  pid_t start(const std::string& arguments) const {
    const std::string command = "INLAY_DB='" + database_.string() +
                                "' exec '" INLAY_BINARY_DIR "/bin/inlay' " + arguments + " >'" +
                                path("out").string() + "' 2>'" + path("err").string() + "'";
    const char* argv[] = {"sh", "-c", command.c_str(), nullptr};
    pid_t pid = -1;
    EXPECT_EQ(::posix_spawn(&pid, "/bin/sh", nullptr, nullptr, const_cast<char**>(argv), environ),
              0);
    return pid;
  }

  Outcome finish(pid_t pid) const {
    int status = 0;
    ::waitpid(pid, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), slurp(path("out")),
            slurp(path("err"))};
  }

  Outcome inlay(const std::string& arguments) const { return finish(start(arguments)); }

  // A small convolutional net with a residual, a pool and a classifier: every stage of placing has
  // something to do.
  fs::path small_model(const std::string& name = "small.onnx") const {
    GraphBuilder b("small");
    Rng rng(7);
    const auto weight = [&](const std::string& n, Shape shape) {
      Tensor t = Tensor::zeros({DType::kF32, shape});
      auto* data = reinterpret_cast<float*>(t.mutable_bytes().data());
      for (std::int64_t i = 0; i < element_count(shape); ++i)
        data[i] = static_cast<float>(0.2 * rng.normal());
      return b.constant(n, t);
    };
    using Ints = std::vector<std::int64_t>;
    const Attributes conv{{"kernel_shape", Ints{3, 3}},
                          {"strides", Ints{1, 1}},
                          {"pads", Ints{1, 1, 1, 1}},
                          {"dilations", Ints{1, 1}},
                          {"group", std::int64_t{1}}};
    const ValueId x = b.input("x", {DType::kF32, {1, 16, 12, 12}});
    const ValueId c1 =
        b.node("conv1", "Conv", {x, weight("w1", {16, 16, 3, 3}), weight("b1", {16})}, conv);
    const ValueId r1 = b.node("relu1", "Relu", {c1});
    const ValueId c2 =
        b.node("conv2", "Conv", {r1, weight("w2", {16, 16, 3, 3}), weight("b2", {16})}, conv);
    const ValueId sum = b.node("sum", "Add", {c2, r1});
    const ValueId r2 = b.node("relu2", "Relu", {sum});
    const ValueId pool = b.node("pool", "GlobalAveragePool", {r2});
    const ValueId flat = b.reshape("flat", pool, {1, 16});
    const ValueId fc = b.node("fc", "MatMul", {flat, weight("w3", {16, 10})});
    b.output(fc);
    const fs::path file = path(name);
    export_onnx(b.build(), file);
    return file;
  }

  ScratchFolder scratch_;
  fs::path folder_ = scratch_.path();
  fs::path database_;  // the test's own, unless it reuses measurements
};

inline void expect_one_clear_error(const Outcome& outcome, const std::string& fragment) {
  EXPECT_GT(outcome.status, 0) << "killed by a signal, or no failure: " << outcome.status
                               << outcome.out;
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("inlay: error: "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find(fragment), std::string::npos) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

}  // namespace inlay
