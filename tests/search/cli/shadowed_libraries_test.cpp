#include "search/cli/shadowed_libraries.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "core/base/file.h"
#include "tests/core/base/scratch_folder.h"

namespace inlay::cli {
namespace {

namespace fs = std::filesystem;

// The plugin needs the library of C++, which this program has loaded too.
class ShadowedLibraries : public testing::Test {
 protected:
  ShadowedLibraries() {
    fs::copy_file(INLAY_PLUGIN_DIR "/reference.so", plugin_);
    const std::string maps = read_maps();
    const std::size_t end = maps.find('\n', maps.find("/libstdc++.so.6"));
    const std::size_t begin = maps.rfind(' ', end) + 1;
    cpp_library_ = maps.substr(begin, end - begin);
  }

  static std::string read_maps() {
    std::string text;
    FILE* file = std::fopen("/proc/self/maps", "r");
    for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
    std::fclose(file);
    return text;
  }

  // A process that has these files mapped, each twice, as libraries are.
  std::vector<LibraryDiagnosis> find(const std::vector<fs::path>& files) const {
    std::string maps = "55d0c0de0000-55d0c0de1000 rw-p 00000000 00:00 0          [heap]\n";
    for (const fs::path& file : files) {
      for (const char* mode : {"r--p", "r-xp"}) {
        maps += std::string("7f0000000000-7f0000001000 ") + mode + " 00000000 08:01 42     " +
                file.string() + "\n";
      }
    }
    write_file(scratch_.path() / "maps", maps);
    return find_shadowed(scratch_.path() / "maps");
  }

  ScratchFolder scratch_;
  fs::path plugin_ = scratch_.path() / "reference.so";
  fs::path cpp_library_;
};

TEST_F(ShadowedLibraries, NothingIsToldWhereEachIsThereOnce) {
  ASSERT_TRUE(fs::exists(cpp_library_)) << cpp_library_;
  EXPECT_TRUE(find({plugin_, cpp_library_}).empty());
}

TEST_F(ShadowedLibraries, ACopyBesideItsUserThatIsNotUsedIsTold) {
  const fs::path own = scratch_.path() / "libstdc++.so.6";
  fs::copy_file(cpp_library_, own);
  const std::vector<LibraryDiagnosis> told = find({plugin_, cpp_library_});
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].soname, "libstdc++.so.6");
  EXPECT_EQ(told[0].loaded, cpp_library_);
  EXPECT_EQ(told[0].passed_by, std::vector<fs::path>{own});
  EXPECT_NE(std::count(told[0].needed_by.begin(), told[0].needed_by.end(), "reference.so"), 0);
  // The same file under another name is no other copy.
  fs::remove(own);
  fs::create_symlink(cpp_library_, own);
  EXPECT_TRUE(find({plugin_, cpp_library_}).empty());
}

TEST_F(ShadowedLibraries, TwoOfOneNameAreTold) {
  fs::create_directory(scratch_.path() / "other");
  const fs::path second = scratch_.path() / "other" / "libstdc++.so.6";
  fs::copy_file(cpp_library_, second);
  const std::vector<LibraryDiagnosis> told = find({plugin_, cpp_library_, second});
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].also.size(), 1u);
}

TEST_F(ShadowedLibraries, WhatIsNoLibraryIsPassedOver) {
  write_file(scratch_.path() / "cache.so.bin", "not a library");
  EXPECT_TRUE(find({scratch_.path() / "cache.so.bin", plugin_}).empty());
  EXPECT_TRUE(find_shadowed(scratch_.path() / "nothing").empty());
}

}  // namespace
}  // namespace inlay::cli
