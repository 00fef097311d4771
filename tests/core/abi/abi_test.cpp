// Programs built with a released header, or with a later one, against this Inlay: both ways round.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/base/log.h"
#include "core/host/plugin_host.h"

namespace inlay {
namespace {

const std::string kFolder = INLAY_BINARY_DIR "/abi/";

struct PluginFile {
  std::string path;
  std::string pattern;  // one that takes a Relu
};

void PrintTo(const PluginFile& file, std::ostream* out) { *out << file.path; }

// Every plugin with every host of another age than its own.
const PluginFile kPlugins[] = {{kFolder + "v1_0.so", "relu"},
                               {kFolder + "later.so", "relu"},
                               {INLAY_BINARY_DIR "/mutants/plain_c.so", "relu"},
                               {INLAY_BINARY_DIR "/examples/template.so", "relu"},
                               {INLAY_PLUGIN_DIR "/reference.so", "elementwise"}};

class AbiTest : public testing::TestWithParam<PluginFile> {};

// What a program prints, and its exit status.
std::pair<std::string, int> output_of(const std::string& command) {
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {"cannot be started", -1};
  std::string text;
  std::array<char, 256> bytes;
  while (std::fgets(bytes.data(), bytes.size(), pipe) != nullptr) text += bytes.data();
  const int status = ::pclose(pipe);
  return {text, WIFEXITED(status) ? WEXITSTATUS(status) : -1};
}

TEST_P(AbiTest, WorksInAHostOfVersion1_0) {
  const auto [text, status] =
      output_of(kFolder + "host_v1_0 " + GetParam().path + " " + GetParam().pattern);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(text, "ok\n");
}

TEST_P(AbiTest, WorksInALaterHost) {
  const auto [text, status] =
      output_of(kFolder + "host_later " + GetParam().path + " " + GetParam().pattern);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(text, "ok\n");
}

TEST_P(AbiTest, WorksInThisHost) {
  NullLog log;
  PluginHost host(log, {.search_path = {GetParam().path}});
  ASSERT_EQ(host.plugins().size(), 1u);
  ASSERT_FALSE(host.plugins()[0].refused) << *host.plugins()[0].refused;
  const auto device = host.open_device(host.plugins()[0].manifest.name);
  const TensorType type{DType::kF32, {4}};
  Region region;
  region.pattern = GetParam().pattern;
  region.values = {{.name = "x", .port = "X", .type = type, .layout = Layout::dense(1)},
                   {.name = "y", .port = "out", .type = type, .layout = Layout::dense(1)}};
  region.nodes = {{.name = "relu", .domain = "", .op = "Relu", .inputs = {0}, .outputs = {1}}};
  region.inputs = {0};
  region.outputs = {1};
  std::string declined;
  const auto program = device->compile(region, {}, &declined);
  ASSERT_NE(program, nullptr) << declined;
  alignas(64) std::array<std::byte, 4096> workspace;
  ASSERT_LE(program->workspace_bytes(), workspace.size());
  const auto instance =
      program->instantiate(program->workspace_bytes() > 0 ? workspace.data() : nullptr);
  alignas(64) std::array<float, 4> x = {-1, 2, -3, 4};
  alignas(64) std::array<float, 4> y = {};
  const Layout layout = Layout::dense(1);
  const HostTensor in{&type, &layout, reinterpret_cast<std::byte*>(x.data())};
  const HostTensor out{&type, &layout, reinterpret_cast<std::byte*>(y.data())};
  instance->bind({&in, 1}, {&out, 1});
  instance->run();
  EXPECT_EQ(y, (std::array<float, 4>{0, 2, 0, 4}));
}

INSTANTIATE_TEST_SUITE_P(Plugins, AbiTest, testing::ValuesIn(kPlugins), [](const auto& info) {
  return std::filesystem::path(info.param.path).stem().string();
});

// Without this the tests above could all be about one and the same header.
TEST(AbiHeaders, AreOfDifferentMinors) {
  NullLog log;
  const PluginHost host(log, {.search_path = {kFolder + "v1_0.so", kFolder + "later.so"}});
  ASSERT_EQ(host.plugins().size(), 2u);
  EXPECT_EQ(host.plugins()[0].manifest.abi_minor, 0);
  EXPECT_EQ(host.plugins()[1].manifest.abi_minor, 77);
}

}  // namespace
}  // namespace inlay
