#include "search/cost/database.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include <fmt/core.h>
#include <sqlite3.h>

#include "core/base/error.h"
#include "search/cost/statement.h"

namespace inlay {
namespace {

constexpr int kSchema = 1;
// Tells Inlay's files from other programs' ("Inla" in ASCII).
constexpr int kApplicationId = 0x496e6c61;

constexpr const char* kCreate = R"(
  CREATE TABLE IF NOT EXISTS measurements (
    kind TEXT NOT NULL, subject TEXT NOT NULL, plugin TEXT NOT NULL, build_id TEXT NOT NULL,
    library TEXT NOT NULL, fingerprint TEXT NOT NULL, threads INTEGER NOT NULL,
    knobs TEXT NOT NULL, status TEXT NOT NULL, ns REAL NOT NULL, low_ns REAL NOT NULL,
    high_ns REAL NOT NULL, samples INTEGER NOT NULL, reason TEXT NOT NULL, detail TEXT NOT NULL,
    time INTEGER NOT NULL, version TEXT NOT NULL,
    PRIMARY KEY (kind, subject, plugin, build_id, library, fingerprint, threads, knobs)
  ) WITHOUT ROWID)";

constexpr const char* kFind = R"(
  SELECT status, ns, low_ns, high_ns, samples, reason, detail, time, version FROM measurements
  WHERE kind = ?1 AND subject = ?2 AND plugin = ?3 AND build_id = ?4 AND library = ?5
    AND fingerprint = ?6 AND threads = ?7 AND knobs = ?8)";

constexpr const char* kPut = R"(
  INSERT OR REPLACE INTO measurements
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17))";

constexpr const char* kMerge = R"(
  INSERT INTO measurements
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
  ON CONFLICT DO UPDATE SET status = excluded.status, ns = excluded.ns, low_ns = excluded.low_ns,
    high_ns = excluded.high_ns, samples = excluded.samples, reason = excluded.reason,
    detail = excluded.detail, time = excluded.time, version = excluded.version
  WHERE excluded.time > measurements.time
    OR (excluded.time = measurements.time AND excluded.samples > measurements.samples))";

constexpr const char* kAll = R"(
  SELECT status, ns, low_ns, high_ns, samples, reason, detail, time, version,
    kind, subject, plugin, build_id, library, fingerprint, threads, knobs FROM measurements
  ORDER BY kind, subject, plugin, build_id, library, fingerprint, threads, knobs)";

constexpr const char* kStats = R"(
  SELECT plugin, kind, status, COUNT(*) FROM measurements GROUP BY plugin, kind, status
  ORDER BY plugin, kind, status)";

constexpr const char* kKinds[] = {"measure", "check", "conversion", "dispatch", "race"};
constexpr const char* kStatuses[] = {"ok", "declined", "wrong", "crashed", "hung", "failed"};

// Index of a name in a table; -1 if it is not there.
template <std::size_t n>
int index_of(const char* const (&names)[n], std::string_view name) {
  for (std::size_t i = 0; i < n; ++i) {
    if (name == names[i]) return static_cast<int>(i);
  }
  return -1;
}

void bind_key(Statement& statement, const MeasurementKey& key) {
  statement.bind(1, std::string_view(measurement_kind_name(key.kind)));
  statement.bind(2, std::string_view(key.subject));
  statement.bind(3, std::string_view(key.plugin));
  statement.bind(4, std::string_view(key.build_id));
  statement.bind(5, std::string_view(key.library));
  statement.bind(6, std::string_view(key.fingerprint));
  statement.bind(7, std::int64_t{key.threads});
  statement.bind(8, std::string_view(key.knobs));
}

void bind_row(Statement& statement, const MeasurementKey& key, const Measurement& m) {
  bind_key(statement, key);
  statement.bind(9, std::string_view(measurement_status_name(m.status)));
  statement.bind(10, m.cost.ns);
  statement.bind(11, m.cost.low_ns);
  statement.bind(12, m.cost.high_ns);
  statement.bind(13, std::int64_t{m.cost.samples});
  statement.bind(14, std::string_view(m.reason));
  statement.bind(15, std::string_view(m.detail));
  statement.bind(16, m.when != 0 ? m.when : static_cast<std::int64_t>(std::time(nullptr)));
  statement.bind(17,
                 m.version.empty() ? std::string_view(INLAY_VERSION) : std::string_view(m.version));
}

}  // namespace

const char* measurement_kind_name(MeasurementKind kind) { return kKinds[static_cast<int>(kind)]; }

const char* measurement_status_name(MeasurementStatus status) {
  return kStatuses[static_cast<int>(status)];
}

std::filesystem::path default_database_path() {
  const auto variable = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  if (const std::string path = variable("INLAY_DB"); !path.empty()) return path;
  std::filesystem::path cache = variable("XDG_CACHE_HOME");
  if (cache.empty()) {
    const std::string home = variable("HOME");
    if (home.empty()) {
      throw Error(Code::kNotFound,
                  "no place for the cost database: set INLAY_DB, XDG_CACHE_HOME or HOME");
    }
    cache = std::filesystem::path(home) / ".cache";
  }
  return cache / "inlay" / "costs.sqlite";
}

struct CostDatabase::State {
  std::filesystem::path path;
  std::chrono::milliseconds busy_timeout;
  bool is_remeasuring;
  std::set<MeasurementKey> fresh;  // put by this object; kept where it is remeasuring
  sqlite3* connection = nullptr;
  mutable std::mutex mutex;
  std::unique_ptr<Statement> find;
  std::unique_ptr<Statement> put;

  State(std::filesystem::path where, const DatabaseOptions& options)
      : path(std::move(where)),
        busy_timeout(options.busy_timeout),
        is_remeasuring(options.is_remeasuring) {}

  ~State() {
    find.reset();
    put.reset();
    sqlite3_close(connection);
  }

  void open();
  void refuse_closed_folder() const;
  void prepare_schema();
  void refuse_foreign_tables();
  void execute(const char* sql);
  std::int64_t number(const char* sql);
  Measurement read(const Statement& row) const;
  MeasurementKey read_key(const Statement& row) const;
  MeasurementKind read_kind(const std::string& name) const;
  MeasurementStatus read_status(const std::string& name) const;
};

void CostDatabase::State::execute(const char* sql) {
  const int result = sqlite3_exec(connection, sql, nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) fail_database(path, connection, result);
}

std::int64_t CostDatabase::State::number(const char* sql) {
  Statement statement(path, connection, sql);
  return statement.step() ? statement.integer(0) : 0;
}

// SQLite tries reading after writing failed, and then says only that there is nothing to read.
void CostDatabase::State::refuse_closed_folder() const {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  std::error_code code;
  if (std::filesystem::exists(path, code)) return;
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return;
  throw Error(Code::kIo, fmt::format("folder '{}' of the cost database: {}", folder.string(),
                                     std::strerror(errno)));
}

void CostDatabase::State::open() {
  if (path.has_parent_path()) {
    std::error_code failure;
    std::filesystem::create_directories(path.parent_path(), failure);
    if (failure) {
      throw Error(Code::kIo, fmt::format("folder '{}' of the cost database: {}",
                                         path.parent_path().string(), failure.message()));
    }
  }
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX;
  const int result = sqlite3_open_v2(path.c_str(), &connection, flags, nullptr);
  if (result != SQLITE_OK) {
    refuse_closed_folder();
    fail_database(path, connection, result);
  }
  sqlite3_extended_result_codes(connection, 1);
  sqlite3_busy_timeout(connection, static_cast<int>(busy_timeout.count()));
  if (sqlite3_db_readonly(connection, "main") == 1) {
    throw Error(Code::kIo, fmt::format("cost database '{}' is read-only; copy it, or name another "
                                       "file in INLAY_DB",
                                       path.string()));
  }
  prepare_schema();
  find = std::make_unique<Statement>(path, connection, kFind);
  put = std::make_unique<Statement>(path, connection, kPut);
}

// A file with tables and without our mark is left as it was found.
void CostDatabase::State::refuse_foreign_tables() {
  if (number("SELECT COUNT(*) FROM sqlite_schema WHERE name <> 'measurements'") != 0) {
    throw Error(Code::kCorrupt,
                fmt::format("cost database '{}' belongs to another program", path.string()));
  }
}

// Two processes may create the file at the same moment. SQLite does not wait where waiting could
// deadlock (a change of the journal mode, recovery of a WAL), so the whole is tried again until
// busy_timeout is over.
void CostDatabase::State::prepare_schema() {
  const auto deadline = std::chrono::steady_clock::now() + busy_timeout;
  for (;;) {
    try {
      if (number("PRAGMA user_version") == 0) {
        refuse_foreign_tables();
        execute("PRAGMA journal_mode = WAL");
        execute("BEGIN IMMEDIATE");
        if (number("PRAGMA user_version") == 0) {
          execute(kCreate);
          execute(fmt::format("PRAGMA application_id = {}", kApplicationId).c_str());
          execute(fmt::format("PRAGMA user_version = {}", kSchema).c_str());
        }
        execute("COMMIT");
      }
      execute("PRAGMA synchronous = NORMAL");
      break;
    } catch (const Error& error) {
      sqlite3_exec(connection, "ROLLBACK", nullptr, nullptr, nullptr);
      if (error.code() != Code::kBusy || std::chrono::steady_clock::now() >= deadline) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  if (number("PRAGMA application_id") != kApplicationId) {
    throw Error(Code::kCorrupt,
                fmt::format("cost database '{}' belongs to another program", path.string()));
  }
  if (const std::int64_t schema = number("PRAGMA user_version"); schema != kSchema) {
    throw Error(Code::kStale,
                fmt::format("cost database '{}' was written by a newer Inlay: it has schema {}, "
                            "this program reads schema {}",
                            path.string(), schema, kSchema));
  }
}

MeasurementKind CostDatabase::State::read_kind(const std::string& name) const {
  const int kind = index_of(kKinds, name);
  if (kind < 0) {
    throw Error(Code::kCorrupt,
                fmt::format("cost database '{}': unknown kind '{}'", path.string(), name));
  }
  return static_cast<MeasurementKind>(kind);
}

MeasurementStatus CostDatabase::State::read_status(const std::string& name) const {
  const int status = index_of(kStatuses, name);
  if (status < 0) {
    throw Error(Code::kCorrupt,
                fmt::format("cost database '{}': unknown status '{}'", path.string(), name));
  }
  return static_cast<MeasurementStatus>(status);
}

// Columns 0 to 8 of kFind and kAll.
Measurement CostDatabase::State::read(const Statement& row) const {
  Measurement m;
  m.status = read_status(row.text(0));
  m.cost = {row.real(1), row.real(2), row.real(3), static_cast<int>(row.integer(4))};
  m.reason = row.text(5);
  m.detail = row.text(6);
  m.when = row.integer(7);
  m.version = row.text(8);
  return m;
}

// Columns 9 on of kAll.
MeasurementKey CostDatabase::State::read_key(const Statement& row) const {
  return {read_kind(row.text(9)),
          row.text(10),
          row.text(11),
          row.text(12),
          row.text(13),
          row.text(14),
          static_cast<int>(row.integer(15)),
          row.text(16)};
}

CostDatabase::CostDatabase(const std::filesystem::path& path, DatabaseOptions options)
    : state_(std::make_unique<State>(path, options)) {
  state_->open();
}

CostDatabase::~CostDatabase() = default;

const std::filesystem::path& CostDatabase::path() const { return state_->path; }

std::optional<Measurement> CostDatabase::find(const MeasurementKey& key) const {
  const std::lock_guard lock(state_->mutex);
  if (state_->is_remeasuring && !state_->fresh.contains(key)) return std::nullopt;
  const Statement::Use use(*state_->find);
  bind_key(*state_->find, key);
  if (!state_->find->step()) return std::nullopt;
  return state_->read(*state_->find);
}

void CostDatabase::put(const MeasurementKey& key, const Measurement& measurement) {
  const std::lock_guard lock(state_->mutex);
  const Statement::Use use(*state_->put);
  bind_row(*state_->put, key, measurement);
  state_->put->step();
  if (state_->is_remeasuring) state_->fresh.insert(key);
}

void CostDatabase::for_each(
    const std::function<void(const MeasurementKey&, const Measurement&)>& visit) const {
  const std::lock_guard lock(state_->mutex);
  Statement all(state_->path, state_->connection, kAll);
  while (all.step()) visit(state_->read_key(all), state_->read(all));
}

int CostDatabase::merge(const std::vector<std::pair<MeasurementKey, Measurement>>& rows) {
  const std::lock_guard lock(state_->mutex);
  state_->execute("BEGIN IMMEDIATE");
  try {
    Statement merge(state_->path, state_->connection, kMerge);
    int changed = 0;
    for (const auto& [key, measurement] : rows) {
      const Statement::Use use(merge);
      bind_row(merge, key, measurement);
      merge.step();
      changed += sqlite3_changes(state_->connection);
    }
    state_->execute("COMMIT");
    return changed;
  } catch (...) {
    sqlite3_exec(state_->connection, "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
}

int CostDatabase::merge(const CostDatabase& other) {
  std::vector<std::pair<MeasurementKey, Measurement>> rows;
  other.for_each([&rows](const MeasurementKey& key, const Measurement& measurement) {
    rows.emplace_back(key, measurement);
  });
  return merge(rows);
}

int CostDatabase::clear(std::string_view plugin) {
  const std::lock_guard lock(state_->mutex);
  Statement statement(state_->path, state_->connection,
                      "DELETE FROM measurements WHERE plugin = ?1");
  statement.bind(1, plugin);
  statement.step();
  return sqlite3_changes(state_->connection);
}

int CostDatabase::clear_all() {
  const std::lock_guard lock(state_->mutex);
  const int rows = static_cast<int>(state_->number("SELECT COUNT(*) FROM measurements"));
  state_->execute("DELETE FROM measurements");
  return rows;
}

int CostDatabase::clear_quarantine() {
  const std::lock_guard lock(state_->mutex);
  state_->execute("DELETE FROM measurements WHERE status IN ('crashed', 'hung')");
  return sqlite3_changes(state_->connection);
}

DatabaseStats CostDatabase::stats() const {
  const std::lock_guard lock(state_->mutex);
  DatabaseStats stats;
  Statement groups(state_->path, state_->connection, kStats);
  while (groups.step()) {
    stats.groups.push_back({groups.text(0), state_->read_kind(groups.text(1)),
                            state_->read_status(groups.text(2)), groups.integer(3)});
    stats.rows += groups.integer(3);
  }
  stats.size_bytes = static_cast<std::uint64_t>(state_->number("PRAGMA page_count")) *
                     static_cast<std::uint64_t>(state_->number("PRAGMA page_size"));
  return stats;
}

void CostDatabase::verify() const {
  const std::lock_guard lock(state_->mutex);
  Statement check(state_->path, state_->connection, "PRAGMA integrity_check(1)");
  const std::string found = check.step() ? check.text(0) : "no answer";
  if (found != "ok") {
    throw Error(Code::kCorrupt,
                fmt::format("cost database '{}' is damaged: {}; export what can be read, and "
                            "move the file away",
                            state_->path.string(), found));
  }
}

}  // namespace inlay
