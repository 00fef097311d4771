// The C API as a careless C program uses it, and what libinlay.so exports.
#include "core/session/inlay.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/plan/plan_text.h"
#include "tests/core/base/scratch_folder.h"
#include "tests/core/run/plan_builder.h"

extern "C" const char* version_seen_from_c(void);

namespace inlay {
namespace {

namespace fs = std::filesystem;

class CSession : public testing::Test {
 protected:
  void SetUp() override {
    NullLog log;
    PluginHost host(log, {.search_path = runner_path()});
    PlanBuilder builder(host);
    const int x = builder.input("x", {2, 3});
    const int y = builder.output("y", {2, 3});
    builder.run("Increment", {x}, y);
    write_weights(folder_ / "m.weights", builder.plan().constants, builder.weights());
    write_file(folder_ / "m.plan", to_text(builder.plan()));

    const std::string plugins = runner_path().front().string();
    const inlay_runtime_options options{sizeof options, 1, plugins.c_str()};
    ASSERT_EQ(inlay_runtime_create(&options, &runtime_, &failure_), INLAY_CODE_OK) << failure_.text;
    ASSERT_EQ(inlay_session_open(runtime_, path().c_str(), nullptr, &session_, &failure_),
              INLAY_CODE_OK)
        << failure_.text;
  }
  void TearDown() override {
    inlay_runtime_destroy(runtime_);
    inlay_session_close(session_);
  }

  std::string path() const { return (folder_ / "m.plan").string(); }

  inlay_code run(const inlay_memory* in, const inlay_memory* out) {
    return inlay_session_run(session_, 1, &in, 1, &out, &failure_);
  }

  void expect_invalid(inlay_code code, const char* fragment) {
    EXPECT_EQ(code, INLAY_CODE_INVALID_ARGUMENT);
    EXPECT_EQ(failure_.code, code);
    EXPECT_NE(std::strstr(failure_.text, fragment), nullptr) << failure_.text;
  }

  ScratchFolder scratch_;
  fs::path folder_ = scratch_.path();
  inlay_runtime* runtime_ = nullptr;
  inlay_session* session_ = nullptr;
  inlay_failure failure_{sizeof(inlay_failure), 0, ""};
  std::array<float, 6> x_{1, 2, 3, 4, 5, 6};
  std::array<float, 6> y_{};
  std::array<std::int64_t, 2> dims_{2, 3};
  inlay_memory in_{sizeof in_, INLAY_TYPE_F32, "x", 2, dims_.data(), x_.data(), sizeof x_};
  inlay_memory out_{sizeof out_, INLAY_TYPE_F32, "y", -1, nullptr, y_.data(), sizeof y_};
};

TEST_F(CSession, RunsOnTheCallersMemory) {
  ASSERT_EQ(run(&in_, &out_), INLAY_CODE_OK) << failure_.text;
  EXPECT_EQ(y_, (std::array<float, 6>{2, 3, 4, 5, 6, 7}));
  EXPECT_STREQ(version_seen_from_c(), inlay_version());
}

TEST_F(CSession, DescribesItsTensors) {
  EXPECT_EQ(inlay_session_input_count(session_), 1);
  EXPECT_EQ(inlay_session_output_count(session_), 1);
  inlay_tensor_info info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(inlay_session_input_info(session_, 0, &info, &failure_), INLAY_CODE_OK);
  EXPECT_STREQ(info.name, "x");
  EXPECT_EQ(info.type, INLAY_TYPE_F32);
  ASSERT_EQ(info.rank, 2);
  EXPECT_EQ(info.dims[1], 3);
  EXPECT_EQ(info.size_bytes, 24u);
  expect_invalid(inlay_session_output_info(session_, 1, &info, &failure_), "below 1");
  expect_invalid(inlay_session_output_info(session_, -1, &info, &failure_), "found -1");
}

TEST_F(CSession, NullIsAnErrorAndNeverACrash) {
  inlay_tensor_info info{};
  info.struct_size = sizeof info;
  expect_invalid(inlay_runtime_create(nullptr, nullptr, &failure_), "out is null");
  expect_invalid(inlay_session_open(nullptr, "m", nullptr, &session_, &failure_),
                 "runtime is null");
  expect_invalid(inlay_session_open(runtime_, nullptr, nullptr, &session_, &failure_),
                 "plan is null");
  expect_invalid(inlay_session_open(runtime_, "m", nullptr, nullptr, &failure_), "out is null");
  expect_invalid(inlay_session_input_info(nullptr, 0, &info, &failure_), "session is null");
  expect_invalid(inlay_session_input_info(session_, 0, nullptr, &failure_), "out is null");
  expect_invalid(inlay_session_run(nullptr, 0, nullptr, 0, nullptr, &failure_), "session is null");
  expect_invalid(inlay_session_run(session_, 1, nullptr, 0, nullptr, &failure_), "inputs is null");
  expect_invalid(run(nullptr, &out_), "inputs[0] is null");
  expect_invalid(run(&in_, nullptr), "outputs[0] is null");
  in_.name = nullptr;
  expect_invalid(run(&in_, &out_), "inputs[0].name is null");
  in_.name = "x";
  in_.dims = nullptr;
  expect_invalid(run(&in_, &out_), "inputs[0].dims is null");
  in_.rank = -1;
  in_.data = nullptr;
  expect_invalid(run(&in_, &out_), "null pointer");
  EXPECT_EQ(inlay_session_input_count(nullptr), 0);
  EXPECT_EQ(inlay_session_run(session_, -1, nullptr, 0, nullptr, nullptr),
            INLAY_CODE_INVALID_ARGUMENT);
  inlay_runtime_destroy(nullptr);
  inlay_session_close(nullptr);
}

TEST_F(CSession, SmallStructsAreRefusedAndLargeOnesTaken) {
  in_.struct_size = 4;
  expect_invalid(run(&in_, &out_), "inputs[0].struct_size: expected at least");
  in_.struct_size = sizeof in_ + 64;  // from a newer header
  EXPECT_EQ(run(&in_, &out_), INLAY_CODE_OK);
  inlay_tensor_info info{};
  info.struct_size = 8;
  expect_invalid(inlay_session_input_info(session_, 0, &info, &failure_), "out.struct_size");
  EXPECT_EQ(info.name, nullptr);
  const inlay_session_options options{2, 1};
  inlay_session* session = nullptr;
  expect_invalid(inlay_session_open(runtime_, path().c_str(), &options, &session, &failure_),
                 "options.struct_size");
  EXPECT_EQ(session, nullptr);
}

TEST_F(CSession, AFailureIsWrittenNoFurtherThanItReaches) {
  struct {
    inlay_failure failure;
  } small{};
  std::memset(&small, 0x55, sizeof small);
  small.failure.struct_size = offsetof(inlay_failure, text) + 5;
  EXPECT_EQ(inlay_session_open(runtime_, "/no/such.plan", nullptr, &session_, &small.failure),
            INLAY_CODE_NOT_FOUND);
  EXPECT_EQ(std::strlen(small.failure.text), 4u);
  EXPECT_EQ(small.failure.text[5], 0x55);
}

TEST_F(CSession, ErrorsKeepTheirCodes) {
  in_.type = INLAY_TYPE_F64;
  EXPECT_EQ(run(&in_, &out_), INLAY_CODE_SHAPE_MISMATCH);
  EXPECT_NE(std::strstr(failure_.text, "expected f32[2x3]"), nullptr) << failure_.text;
  write_file(folder_ / "bad.plan", "no plan");
  inlay_session* session = nullptr;
  EXPECT_EQ(
      inlay_session_open(runtime_, (folder_ / "bad.plan").c_str(), nullptr, &session, nullptr),
      INLAY_CODE_CORRUPT);
}

TEST(CLibrary, ExportsTheCApiAndNothingElse) {
  const std::string command = "nm -D --defined-only '" INLAY_LIBRARY "'";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  ASSERT_NE(pipe, nullptr);
  int count = 0;
  char line[512];
  while (std::fgets(line, sizeof line, pipe.get()) != nullptr) {
    const std::string name = std::strrchr(line, ' ') + 1;
    const bool is_api = name.rfind("inlay_version", 0) == 0 ||
                        name.rfind("inlay_runtime_", 0) == 0 ||
                        name.rfind("inlay_session_", 0) == 0;
    EXPECT_TRUE(is_api) << name;
    ++count;
  }
  EXPECT_EQ(count, 10);
}

}  // namespace
}  // namespace inlay
