// What the onnxruntime plugin does without the library that it wants. Each in a process of its own:
// a library once opened serves all who ask for its name.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/host/plugin_host.h"

namespace inlay {
namespace {

namespace fs = std::filesystem;

// A folder with the plugin, which looks for its library in ../lib before anywhere else.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "inlay-onnxruntime-XXXXXX").string();
    path_ = mkdtemp(name.data());
    fs::create_directories(path_ / "plugins");
    fs::create_directories(path_ / "lib");
    fs::copy_file(fs::path(INLAY_PLUGIN_DIR) / "onnxruntime.so", plugin());
  }
  ~Folder() { fs::remove_all(path_); }
  fs::path plugin() const { return path_ / "plugins" / "onnxruntime.so"; }
  fs::path library() const { return path_ / "lib" / "libonnxruntime.so.1"; }

 private:
  fs::path path_;
};

[[noreturn]] void open_and_tell(const Folder& folder) {
  NullLog log;
  PluginHost host(log, HostOptions{.search_path = {folder.plugin()}});
  try {
    host.open_device("onnxruntime");
    std::fputs("opened\n", stderr);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  std::_Exit(0);
}

class OnnxRuntimeLibrary : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(OnnxRuntimeLibrary, OfAnotherVersionIsRefusedNamingBoth) {
  const Folder folder;
  fs::copy_file(INLAY_OLD_ONNXRUNTIME, folder.library());
  EXPECT_EXIT(open_and_tell(folder), testing::ExitedWithCode(0),
              "onnxruntime.*expected version 1.32.0, found 1.9.0");
}

TEST_F(OnnxRuntimeLibrary, ThatCannotBeLoadedIsNamedWithWhatToDo) {
  const Folder folder;
  write_file(folder.library(), std::string("no library"));
  EXPECT_EXIT(open_and_tell(folder), testing::ExitedWithCode(0),
              "ONNX Runtime 1.32.0 cannot be opened.*install-deps");
}

}  // namespace
}  // namespace inlay
