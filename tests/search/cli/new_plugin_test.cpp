#include "search/cli/new_plugin.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "core/base/error.h"
#include "core/base/file.h"
#include "tests/core/base/scratch_folder.h"

namespace inlay::cli {
namespace {

namespace fs = std::filesystem;

std::string refusal_of(const std::string& name) {
  try {
    check_plugin_name(name, {"onednn"});
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    return error.what();
  }
  return "";
}

std::string text_of(const std::vector<NewFile>& files, const fs::path& path) {
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const NewFile& file) { return file.path == path; });
  return found == files.end() ? "" : found->text;
}

TEST(NewPlugin, NameIsAnIdentifierThatNobodyHas) {
  for (const char* name : {"acme", "A1", "my_blas", "template1"}) EXPECT_EQ(refusal_of(name), "");
  for (const char* name : {"", "1a", "_a", "a-b", "a.b", "a b", "a/b", "\xc3\xa4"}) {
    EXPECT_NE(refusal_of(name).find("a letter and then"), std::string::npos) << name;
  }
  EXPECT_NE(refusal_of(std::string(65, 'a')).find("up to 64"), std::string::npos);
  for (const char* name : {"class", "template", "int", "restrict"}) {
    EXPECT_NE(refusal_of(name).find("no word of C or C++"), std::string::npos) << name;
  }
  for (const char* name : {"onednn", "reference", "host"}) {
    EXPECT_NE(refusal_of(name).find("no plugin has"), std::string::npos) << name;
  }
}

TEST(NewPlugin, IsTheTemplateUnderAnotherName) {
  const auto files = new_plugin_files({.name = "acme", .prefix = "/opt/in\"lay"});
  std::string expected = read_text(fs::path(INLAY_SOURCE_DIR) / "plugins/template/template.cpp");
  const std::string name = ".name = \"template\"";
  ASSERT_NE(expected.find(name), std::string::npos);
  expected.replace(expected.find(name), name.size(), ".name = \"acme\"");
  EXPECT_EQ(text_of(files, "acme.cpp"), expected);
  int lines = 0;
  std::istringstream text(expected);
  for (std::string line; std::getline(text, line);) lines += !line.empty();
  EXPECT_LE(lines, 60);
  EXPECT_NE(text_of(files, "CMakeLists.txt").find(R"(HINTS "/opt/in\"lay")"), std::string::npos);
  EXPECT_FALSE(text_of(files, "README.md").empty());
  EXPECT_FALSE(text_of(files, ".gitignore").empty());
  EXPECT_FALSE(text_of(files, ".github/workflows/ci.yml").empty());
  for (const NewFile& file : files) {
    for (const char* left : {"@NAME@", "@PREFIX@", "@VERSION@"}) {
      EXPECT_EQ(file.text.find(left), std::string::npos) << file.path;
    }
  }
}

TEST(NewPlugin, FolderIsNewOrEmptyOrLeftAlone) {
  const ScratchFolder scratch;
  const std::vector<NewFile> files = {{"a.cpp", "a"}, {"b/c.txt", "c"}};
  write_new_folder(scratch.path() / "x/y", files);
  EXPECT_EQ(read_text(scratch.path() / "x/y/b/c.txt"), "c");
  EXPECT_THROW(write_new_folder(scratch.path() / "x/y", files), Error);
  EXPECT_THROW(write_new_folder(scratch.path() / "x/y/a.cpp", files), Error);
  fs::create_directory(scratch.path() / "empty");
  write_new_folder(scratch.path() / "empty", files);
  EXPECT_EQ(read_text(scratch.path() / "empty/a.cpp"), "a");
}

TEST(NewPlugin, WhatCannotBeWrittenLeavesNothingBehind) {
  const ScratchFolder scratch;
  // The second file wants a folder where the first is.
  const std::vector<NewFile> files = {{"a", "a"}, {"a/b", "b"}};
  EXPECT_THROW(write_new_folder(scratch.path() / "x/y", files), Error);
  EXPECT_FALSE(fs::exists(scratch.path() / "x"));
}

}  // namespace
}  // namespace inlay::cli
