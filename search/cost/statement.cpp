#include "search/cost/statement.h"

#include <cstring>

#include <fmt/core.h>

#include "core/base/error.h"

namespace inlay {

void fail_database(const std::filesystem::path& path, sqlite3* connection, int result) {
  const std::string said =
      connection != nullptr ? sqlite3_errmsg(connection) : sqlite3_errstr(result);
  const int error_number = connection != nullptr ? sqlite3_system_errno(connection) : 0;
  const std::string reason =
      error_number == 0 ? said : fmt::format("{}: {}", said, std::strerror(error_number));
  switch (result & 0xff) {
    case SQLITE_NOTADB:
      throw Error(Code::kCorrupt, fmt::format("'{}' is not a cost database; it is left as it is: "
                                              "name another file with --db or INLAY_DB",
                                              path.string()));
    case SQLITE_CORRUPT:
    case SQLITE_FORMAT:
    case SQLITE_ERROR:  // a table or column that should be there is not
    case SQLITE_MISMATCH:
      throw Error(Code::kCorrupt,
                  fmt::format("cost database '{}' cannot be used: {}; move the file away, and what "
                              "it held will be measured again",
                              path.string(), said));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw Error(Code::kBusy,
                  fmt::format("cost database '{}' is locked by another process", path.string()));
    case SQLITE_NOMEM:
      throw Error(Code::kNoMemory, fmt::format("cost database '{}': out of memory", path.string()));
    default:
      throw Error(Code::kIo, fmt::format("cost database '{}': {}", path.string(), reason));
  }
}

Statement::Statement(const std::filesystem::path& path, sqlite3* connection, const char* sql)
    : path_(path), connection_(connection) {
  check(sqlite3_prepare_v3(connection, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement_, nullptr));
}

void Statement::bind(int position, std::string_view text) {
  check(sqlite3_bind_text(statement_, position, text.data() == nullptr ? "" : text.data(),
                          static_cast<int>(text.size()), SQLITE_TRANSIENT));
}

bool Statement::step() {
  const int result = sqlite3_step(statement_);
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  fail_database(path_, connection_, result);
}

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  const int size = sqlite3_column_bytes(statement_, column);
  return bytes == nullptr ? std::string() : std::string(bytes, static_cast<std::size_t>(size));
}

}  // namespace inlay
