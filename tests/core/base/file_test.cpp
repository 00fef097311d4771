#include "core/base/file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>

#include "core/base/error.h"
#include "tests/core/base/scratch_folder.h"

namespace inlay {
namespace {

namespace fs = std::filesystem;

class FileTest : public testing::Test {
 protected:
  std::size_t file_count() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  ScratchFolder scratch_;
  fs::path folder_ = scratch_.path();
};

Code code_of(const auto& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "no error";
  return Code::kInternal;
}

using File = FileTest;

TEST_F(FileTest, RefusesAPipeWithoutWaitingForItsWriter) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(code_of([&] { map_file(folder_ / "pipe"); }), Code::kIo);
}

TEST_F(File, PartsAreWrittenOneAfterTheOther) {
  const std::string a = "first,";
  const std::string b = "second";
  write_file(folder_ / "f", {std::as_bytes(std::span(a)), {}, std::as_bytes(std::span(b))});
  EXPECT_EQ(read_text(folder_ / "f"), "first,second");
  EXPECT_EQ(file_count(), 1u);
}

TEST_F(File, EmptyFileIsAnEmptyText) {
  write_file(folder_ / "f", "");
  EXPECT_EQ(read_text(folder_ / "f"), "");
  EXPECT_EQ(map_file(folder_ / "f").size_bytes, 0u);
}

TEST_F(File, MappingOutlivesItsReplacement) {
  write_file(folder_ / "f", "old");
  const MappedFile old = map_file(folder_ / "f");
  write_file(folder_ / "f", "new and longer");
  ASSERT_EQ(old.size_bytes, 3u);
  EXPECT_EQ(std::memcmp(old.data.get(), "old", 3), 0);
  EXPECT_EQ(read_text(folder_ / "f"), "new and longer");
}

TEST_F(File, SaysWhatIsWrongWithAPath) {
  EXPECT_EQ(code_of([&] { map_file(folder_ / "missing"); }), Code::kNotFound);
  EXPECT_EQ(code_of([&] { map_file(folder_); }), Code::kIo);
  EXPECT_EQ(code_of([&] { write_file(folder_ / "no" / "such" / "folder", "x"); }), Code::kNotFound);
}

TEST_F(File, RenameThatFailsLeavesNothingBehind) {
  fs::create_directory(folder_ / "f");
  write_file(folder_ / "f" / "inside", "x");
  EXPECT_EQ(code_of([&] { write_file(folder_ / "f", "text"); }), Code::kIo);
  EXPECT_EQ(file_count(), 1u);
  EXPECT_EQ(read_text(folder_ / "f" / "inside"), "x");
}

TEST_F(File, WhatAKilledWriterLeftIsOverwrittenByTheNext) {
  std::ofstream(folder_ / "f.partial") << std::string(100000, 'x');
  write_file(folder_ / "f", "text");
  EXPECT_EQ(read_text(folder_ / "f"), "text");
  EXPECT_EQ(file_count(), 1u);
}

// Links and pipes of that name are somebody's trap or mistake.
TEST_F(File, TheTemporaryIsARegularFileOrNone) {
  write_file(folder_ / "precious", "gold");
  fs::create_symlink(folder_ / "precious", folder_ / "f.partial");
  EXPECT_EQ(code_of([&] { write_file(folder_ / "f", "text"); }), Code::kIo);
  EXPECT_EQ(read_text(folder_ / "precious"), "gold");
  fs::remove(folder_ / "f.partial");
  ASSERT_EQ(::mkfifo((folder_ / "f.partial").c_str(), 0600), 0);
  EXPECT_EQ(code_of([&] { write_file(folder_ / "f", "text"); }), Code::kIo);
}

TEST_F(File, WritersOfOnePathTakeTurns) {
  const auto is_whole = [](const std::string& text) {
    return text.size() == 10000 && text.find_first_not_of(text[0]) == std::string::npos;
  };
  std::vector<std::thread> writers;
  for (const char letter : {'a', 'b', 'c', 'd'}) {
    writers.emplace_back([this, letter, &is_whole] {
      for (int i = 0; i < 20; ++i) {
        write_file(folder_ / "f", std::string(10000, letter));
        EXPECT_TRUE(is_whole(read_text(folder_ / "f")));
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(file_count(), 1u);
}

// In children that are killed at any moment, as far as time brings them.
TEST_F(File, AKilledWriterLeavesTheOldFileOrTheNew) {
  write_file(folder_ / "f", std::string(1 << 20, 'a'));
  for (int i = 0; i < 20; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (;;) write_file(folder_ / "f", std::string(1 << 20, static_cast<char>('a' + i)));
    }
    ::usleep(static_cast<useconds_t>(500 * i));
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    const std::string text = read_text(folder_ / "f");
    EXPECT_EQ(text.size(), std::size_t{1} << 20);
    EXPECT_EQ(text.find_first_not_of(text[0]), std::string::npos);
    EXPECT_LE(file_count(), 2u);
  }
}

// In a child whose files may not grow past a limit, as on a full disk.
TEST_F(File, WriteThatRunsOutOfSpaceKeepsTheOldContent) {
  write_file(folder_ / "f", "old");
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      write_file(folder_ / "f", std::string(100000, 'x'));
    } catch (const Error& error) {
      ::_exit(error.code() == Code::kIo ? 0 : 2);
    }
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(read_text(folder_ / "f"), "old");
  EXPECT_EQ(file_count(), 1u);
}

}  // namespace
}  // namespace inlay
