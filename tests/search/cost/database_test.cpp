#include "search/cost/database.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <thread>

#include "core/base/error.h"
#include "core/base/file.h"
#include "tests/core/base/scratch_folder.h"

namespace inlay {
namespace {

namespace fs = std::filesystem;

// A folder of its own for each test, removed with it.
class CostDatabaseTest : public ::testing::Test {
 protected:
  void SetUp() override { path_ = folder_ / "costs.sqlite"; }

  ScratchFolder scratch_;
  fs::path folder_ = scratch_.path();
  fs::path path_;
};

MeasurementKey key_of(int number, const std::string& plugin = "acme") {
  MeasurementKey key;
  key.kind = MeasurementKind::kMeasure;
  key.subject = "region" + std::to_string(number);
  key.plugin = plugin;
  key.build_id = "b1";
  key.library = "Acme 1.0";
  key.fingerprint = "cpu";
  key.threads = 2;
  return key;
}

Measurement time_of(double ns, std::int64_t when = 1000) {
  Measurement m;
  m.cost = {ns, ns * 0.9, ns * 1.1, 7};
  m.when = when;
  m.version = "0.1.0";
  return m;
}

// Code of the error that `action` ends with, and its message; "" if it ends well.
std::string error_of(const std::function<void()>& action) {
  try {
    action();
    return "";
  } catch (const Error& error) {
    return std::string(code_name(error.code())) + ": " + error.what();
  }
}

// Runs `action` in a process of its own; true if it ended with exit status 0.
bool succeeds_in_child(const std::function<bool()>& action) {
  const pid_t child = fork();
  if (child == 0) {
    bool good = false;
    try {
      good = action();
    } catch (const std::exception&) {
    }
    _exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(CostDatabaseTest, RemeasuringFindsOnlyWhatItPutAndReplacesTheRest) {
  {
    CostDatabase database(path_);
    database.put(key_of(1), time_of(10));
    database.put(key_of(2), time_of(20));
  }
  {
    CostDatabase again(path_, {.is_remeasuring = true});
    EXPECT_FALSE(again.find(key_of(1)));
    again.put(key_of(1), time_of(11));
    ASSERT_TRUE(again.find(key_of(1)));
    EXPECT_EQ(again.find(key_of(1))->cost.ns, 11);
    EXPECT_FALSE(again.find(key_of(2)));
  }
  const CostDatabase database(path_);
  EXPECT_EQ(database.find(key_of(1))->cost.ns, 11);
  EXPECT_EQ(database.find(key_of(2))->cost.ns, 20) << "of another model: left as it was";
}

TEST_F(CostDatabaseTest, GivesBackWhatWasPut) {
  CostDatabase database(path_);
  EXPECT_FALSE(database.find(key_of(1)));
  Measurement m = time_of(1234.5678901234567);
  m.detail = R"({"pairs":3})";
  database.put(key_of(1), m);
  const auto found = database.find(key_of(1));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cost.ns, 1234.5678901234567);
  EXPECT_EQ(found->cost.samples, 7);
  EXPECT_EQ(found->detail, m.detail);
  EXPECT_EQ(found->when, 1000);
}

TEST_F(CostDatabaseTest, EveryPartOfTheKeyCounts) {
  CostDatabase database(path_);
  const MeasurementKey key = key_of(1);
  database.put(key, time_of(1));
  std::vector<MeasurementKey> others(8, key);
  others[0].kind = MeasurementKind::kCheck;
  others[1].subject += "x";
  others[2].plugin += "x";
  others[3].build_id += "x";
  others[4].library += "x";
  others[5].fingerprint += "x";
  others[6].threads = 1;
  others[7].knobs = "tile=4";
  for (const MeasurementKey& other : others) EXPECT_FALSE(database.find(other));
  EXPECT_TRUE(database.find(key));
}

TEST_F(CostDatabaseTest, FillsInTimeAndVersion) {
  CostDatabase database(path_);
  database.put(key_of(1), {.status = MeasurementStatus::kDeclined, .reason = "k is odd"});
  const auto found = database.find(key_of(1));
  ASSERT_TRUE(found);
  EXPECT_GT(found->when, 1577836800);  // 2020
  EXPECT_FALSE(found->version.empty());
  EXPECT_EQ(found->reason, "k is odd");
  EXPECT_EQ(found->status, MeasurementStatus::kDeclined);
}

TEST_F(CostDatabaseTest, OutlivesTheObject) {
  { CostDatabase(path_).put(key_of(1), time_of(5)); }
  EXPECT_EQ(CostDatabase(path_).find(key_of(1))->cost.ns, 5);
}

TEST_F(CostDatabaseTest, MakesTheFoldersAboveIt) {
  const fs::path deep = folder_ / "a" / "b" / "costs.sqlite";
  CostDatabase(deep).put(key_of(1), time_of(5));
  EXPECT_TRUE(fs::exists(deep));
}

TEST_F(CostDatabaseTest, ThreadsWithOneObjectLoseNothing) {
  CostDatabase database(path_);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&database, t] {
      for (int i = 0; i < 50; ++i) {
        database.put(key_of(t * 50 + i), time_of(i));
        database.find(key_of(i));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(database.stats().rows, 200);
}

TEST_F(CostDatabaseTest, ThreadsWithObjectsOfTheirOwnLoseNothing) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      CostDatabase database(path_);  // all four may be the one that creates the file
      for (int i = 0; i < 50; ++i) database.put(key_of(t * 50 + i), time_of(i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(CostDatabase(path_).stats().rows, 200);
}

TEST_F(CostDatabaseTest, ProcessesLoseNothing) {
  std::vector<pid_t> children;
  for (int t = 0; t < 4; ++t) {
    const pid_t child = fork();
    if (child == 0) {
      int result = 1;
      try {
        CostDatabase database(path_);
        for (int i = 0; i < 50; ++i) database.put(key_of(t * 50 + i), time_of(i));
        result = 0;
      } catch (const std::exception&) {
      }
      _exit(result);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  CostDatabase database(path_);
  EXPECT_EQ(database.stats().rows, 200);
  database.verify();
}

// The child tells through a pipe each row that put() returned for; all of those must be there after
// SIGKILL.
TEST_F(CostDatabaseTest, KilledProcessKeepsEveryRowItHadPut) {
  for (int round = 0; round < 5; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      CostDatabase database(path_);
      for (int i = 0;; ++i) {
        database.put(key_of(round * 100000 + i), time_of(i));
        if (write(pipe_ends[1], &i, sizeof i) != sizeof i) _exit(1);
      }
    }
    close(pipe_ends[1]);
    int last = -1;
    for (int number = 0; last < 20 + 7 * round && read(pipe_ends[0], &number, sizeof number) > 0;)
      last = number;
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    for (int number = 0; read(pipe_ends[0], &number, sizeof number) > 0;) last = number;
    close(pipe_ends[0]);
    ASSERT_GE(last, 20);

    CostDatabase database(path_);
    database.verify();
    for (int i = 0; i <= last; ++i) ASSERT_TRUE(database.find(key_of(round * 100000 + i))) << i;
  }
}

TEST_F(CostDatabaseTest, SaysWhenAFileIsNoDatabase) {
  write_file(path_, std::string(5000, 'x'));
  const std::string error = error_of([&] { CostDatabase database(path_); });
  EXPECT_EQ(error.rfind("corrupt: ", 0), 0u) << error;
  EXPECT_NE(error.find(path_.string()), std::string::npos) << error;
  EXPECT_NE(error.find("left as it is"), std::string::npos) << error;
  EXPECT_EQ(error.find("delete"), std::string::npos) << "a file of the user's: " << error;
}

TEST_F(CostDatabaseTest, SaysWhenTheFileIsCutShort) {
  {
    CostDatabase database(path_);
    for (int i = 0; i < 500; ++i) database.put(key_of(i), time_of(i));
  }
  fs::resize_file(path_, fs::file_size(path_) / 2);
  const std::string error = error_of([&] {
    CostDatabase database(path_);
    database.verify();
  });
  EXPECT_EQ(error.rfind("corrupt: ", 0), 0u) << error;
}

TEST_F(CostDatabaseTest, SaysWhenPagesAreDamaged) {
  {
    CostDatabase database(path_);
    for (int i = 0; i < 500; ++i) database.put(key_of(i), time_of(i));
  }
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(4096);
  const std::string noise(8192, '\xa5');
  file.write(noise.data(), static_cast<std::streamsize>(noise.size()));
  file.close();
  const std::string error = error_of([&] {
    CostDatabase database(path_);
    database.verify();
  });
  EXPECT_EQ(error.rfind("corrupt: ", 0), 0u) << error;
}

TEST_F(CostDatabaseTest, LeavesAnotherProgramsDatabaseAlone) {
  const std::string command = "python3 -c \"import sqlite3; c = sqlite3.connect('" +
                              path_.string() +
                              "'); c.execute('create table theirs (a)'); c.commit()\"";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const std::string before = read_text(path_);
  const std::string error = error_of([&] { CostDatabase database(path_); });
  EXPECT_EQ(error.rfind("corrupt: ", 0), 0u) << error;
  EXPECT_NE(error.find("another program"), std::string::npos) << error;
  EXPECT_EQ(read_text(path_), before);
}

TEST_F(CostDatabaseTest, RefusesANewerSchema) {
  { CostDatabase database(path_); }
  // Bytes 60 to 63 of an SQLite file are its user_version, big-endian
  // (sqlite.org/fileformat2.html, 1.3).
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(60);
  file.write("\0\0\0\x09", 4);
  file.close();
  const std::string error = error_of([&] { CostDatabase database(path_); });
  EXPECT_EQ(error.rfind("stale: ", 0), 0u) << error;
  EXPECT_NE(error.find("schema 9"), std::string::npos) << error;
}

TEST_F(CostDatabaseTest, SaysWhenTheFileIsReadOnly) {
  { CostDatabase database(path_); }
  fs::permissions(folder_, fs::perms(0755));
  fs::permissions(path_, fs::perms(0444));
  EXPECT_TRUE(succeeds_in_child([&] {
    if (geteuid() == 0 && seteuid(65534) != 0) return false;  // root may write to anything
    const std::string error = error_of([&] { CostDatabase database(path_); });
    return error.rfind("io: ", 0) == 0 && error.find("read-only") != std::string::npos;
  }));
}

TEST_F(CostDatabaseTest, SaysWhenTheFolderCannotBeWrittenTo) {
  fs::permissions(folder_, fs::perms(0555));
  EXPECT_TRUE(succeeds_in_child([&] {
    if (geteuid() == 0 && seteuid(65534) != 0) return false;  // root may write to anything
    const std::string error = error_of([&] { CostDatabase database(path_); });
    return error.rfind("io: folder '", 0) == 0 && error.ends_with("Permission denied");
  }));
  fs::permissions(folder_, fs::perms(0755));
}

TEST_F(CostDatabaseTest, SaysWhenTheFolderCannotBeMade) {
  write_file(folder_ / "file", "not a folder");
  const std::string error =
      error_of([&] { CostDatabase database(folder_ / "file" / "costs.sqlite"); });
  EXPECT_EQ(error.rfind("io: ", 0), 0u) << error;
}

// A file size limit stands in for a full disk: the write fails in the same place.
TEST_F(CostDatabaseTest, SaysWhenThereIsNoSpaceAndKeepsWhatItHad) {
  CostDatabase(path_).put(key_of(0), time_of(1));
  EXPECT_TRUE(succeeds_in_child([&] {
    signal(SIGXFSZ, SIG_IGN);
    CostDatabase database(path_);
    const rlimit limit{64 * 1024, 64 * 1024};
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::string error = error_of([&] {
      for (int i = 1; i < 10000; ++i) database.put(key_of(i), time_of(i));
    });
    return error.rfind("io: ", 0) == 0;
  }));
  CostDatabase database(path_);
  database.verify();
  EXPECT_TRUE(database.find(key_of(0)));
}

TEST_F(CostDatabaseTest, SaysWhenItIsLocked) {
  { CostDatabase database(path_); }
  int ready[2];
  int done[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(done), 0);
  const pid_t child = fork();
  if (child == 0) {
    const std::string command =
        "import sqlite3, os; c = sqlite3.connect('" + path_.string() +
        "', isolation_level=None); " + "c.execute('begin exclusive'); os.write(" +
        std::to_string(ready[1]) + ", b'x'); os.read(" + std::to_string(done[0]) + ", 1)";
    execlp("python3", "python3", "-c", command.c_str(), static_cast<char*>(nullptr));
    _exit(1);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  const std::string error = error_of([&] {
    CostDatabase database(path_, {.busy_timeout = std::chrono::milliseconds(20)});
    database.put(key_of(1), time_of(1));
  });
  EXPECT_EQ(error.rfind("busy: ", 0), 0u) << error;
  EXPECT_EQ(write(done[1], "x", 1), 1);
  waitpid(child, nullptr, 0);
  CostDatabase(path_).put(key_of(1), time_of(1));
}

TEST_F(CostDatabaseTest, ExportAndImportGiveTheSameBytes) {
  CostDatabase database(path_);
  for (const int i : {3, 1, 2}) database.put(key_of(i), time_of(i / 3.0));
  database.put(key_of(4),
               {.status = MeasurementStatus::kCrashed, .reason = "signal \"11\"\n", .when = 5});
  const std::string text = export_text(database);

  CostDatabase other(folder_ / "other.sqlite");
  EXPECT_EQ(import_text(other, text, "costs.jsonl"), 4);
  EXPECT_EQ(export_text(other), text);
  EXPECT_EQ(import_text(other, text, "costs.jsonl"), 0);
}

TEST_F(CostDatabaseTest, ExportsReasonsThatAreNotUtf8) {
  CostDatabase database(path_);
  database.put(key_of(1), {.status = MeasurementStatus::kFailed, .reason = "bad \xff byte"});
  CostDatabase other(folder_ / "other.sqlite");
  EXPECT_EQ(import_text(other, export_text(database), "costs.jsonl"), 1);
}

TEST_F(CostDatabaseTest, ImportNamesLineAndKeyAndTakesNothing) {
  CostDatabase database(path_);
  database.put(key_of(1), time_of(1));
  const std::string good = export_text(database);
  CostDatabase other(folder_ / "other.sqlite");

  std::string bad = good;
  bad.replace(bad.find("\"ok\""), 4, "\"fine\"");
  const std::string error = error_of([&] { import_text(other, good + bad, "costs.jsonl"); });
  EXPECT_EQ(error.rfind("corrupt: costs.jsonl:2: key 'status': expected one of ok, ", 0), 0u)
      << error;
  EXPECT_EQ(other.stats().rows, 0);

  EXPECT_EQ(error_of([&] { import_text(other, "[]\n", "f"); }),
            "corrupt: f:1: expected a JSON object");
  EXPECT_EQ(error_of([&] { import_text(other, "{\"kind\":\"measure\"}", "f"); }),
            "corrupt: f:1: key 'subject' is missing");
}

TEST_F(CostDatabaseTest, MergeKeepsTheNewerRow) {
  CostDatabase ours(path_);
  CostDatabase theirs(folder_ / "theirs.sqlite");
  ours.put(key_of(1), time_of(10, 100));
  theirs.put(key_of(1), time_of(11, 200));
  ours.put(key_of(2), time_of(20, 200));
  theirs.put(key_of(2), time_of(21, 100));
  theirs.put(key_of(3), time_of(31, 100));
  Measurement more = time_of(41, 100);
  more.cost.samples = 9;
  ours.put(key_of(4), time_of(40, 100));
  theirs.put(key_of(4), more);
  EXPECT_EQ(ours.merge(theirs), 3);
  EXPECT_EQ(ours.find(key_of(1))->cost.ns, 11);
  EXPECT_EQ(ours.find(key_of(2))->cost.ns, 20);
  EXPECT_EQ(ours.find(key_of(3))->cost.ns, 31);
  EXPECT_EQ(ours.find(key_of(4))->cost.ns, 41);
}

TEST_F(CostDatabaseTest, ClearsOnePluginAndCounts) {
  CostDatabase database(path_);
  database.put(key_of(1, "acme"), time_of(1));
  database.put(key_of(2, "acme"), {.status = MeasurementStatus::kWrong, .reason = "off by 1"});
  database.put(key_of(1, "other"), time_of(1));
  const DatabaseStats stats = database.stats();
  EXPECT_EQ(stats.rows, 3);
  ASSERT_EQ(stats.groups.size(), 3u);
  EXPECT_EQ(stats.groups[0].plugin, "acme");
  EXPECT_EQ(database.clear("acme"), 2);
  EXPECT_FALSE(database.find(key_of(1, "acme")));
  EXPECT_TRUE(database.find(key_of(1, "other")));
  EXPECT_EQ(database.clear_all(), 1);
  EXPECT_EQ(database.stats().rows, 0);
}

TEST(DefaultDatabasePath, FollowsTheEnvironment) {
  EXPECT_TRUE(succeeds_in_child([] {
    unsetenv("INLAY_DB");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    bool good = error_of([] { default_database_path(); }).rfind("not_found: ", 0) == 0;
    setenv("HOME", "/users/ada", 1);
    good = good && default_database_path() == "/users/ada/.cache/inlay/costs.sqlite";
    setenv("XDG_CACHE_HOME", "/cache", 1);
    good = good && default_database_path() == "/cache/inlay/costs.sqlite";
    setenv("INLAY_DB", "/data/my.sqlite", 1);
    return good && default_database_path() == "/data/my.sqlite";
  }));
}

}  // namespace
}  // namespace inlay
