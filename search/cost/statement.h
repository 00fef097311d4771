// SQLite as the cost database uses it: prepared statements, and its errors in our words.

#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <sqlite3.h>

namespace inlay {

// Throws Error: kCorrupt, kBusy, kNoMemory or kIo, naming the file. connection may be null.
[[noreturn]] void fail_database(const std::filesystem::path& path, sqlite3* connection, int result);

// A prepared statement, used by one caller at a time and reset after each use.
class Statement {
 public:
  Statement(const std::filesystem::path& path, sqlite3* connection, const char* sql);
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void bind(int position, std::string_view text);
  void bind(int position, std::int64_t number) {
    check(sqlite3_bind_int64(statement_, position, number));
  }
  void bind(int position, double number) {
    check(sqlite3_bind_double(statement_, position, number));
  }

  // True while there is a row.
  bool step();

  std::string text(int column) const;
  std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  double real(int column) const { return sqlite3_column_double(statement_, column); }

  // Ends a use, whichever way it ends: an unfinished read would hold back the WAL's checkpoints.
  class Use {
   public:
    explicit Use(Statement& statement) : statement_(statement.statement_) {}
    ~Use() {
      sqlite3_reset(statement_);
      sqlite3_clear_bindings(statement_);
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    sqlite3_stmt* statement_;
  };

 private:
  void check(int result) {
    if (result != SQLITE_OK) fail_database(path_, connection_, result);
  }

  const std::filesystem::path& path_;
  sqlite3* connection_;
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace inlay
