// What has been measured, kept between runs: one SQLite file that several processes may use at
// once.
//
//   CostDatabase database(default_database_path());
//   if (std::optional<Measurement> known = database.find(key)) ...
//   database.put(key, {.status = MeasurementStatus::kOk, .cost = {...}});
//
// Each row is committed when put() returns, so a process may be killed at any moment: what it had
// put is there, and running again goes on from it. The file is in WAL mode: readers never wait,
// writers wait for each other up to `busy_timeout`. One object may be used from several threads.
//
// Errors, of every function
//   Error{kCorrupt}  the file is not a database, is damaged, or is another program's database; says
//   what to do Error{kStale}    the file was written by a newer Inlay Error{kBusy}     another
//   process held the lock for longer than busy_timeout Error{kIo}       permission, read-only file,
//   no space, with the system's reason
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "search/cost/cost_table.h"

namespace inlay {

enum class MeasurementKind { kMeasure, kCheck, kConversion, kDispatch, kRace };
const char* measurement_kind_name(
    MeasurementKind kind);  // "measure", "check", …; stable, used in files

enum class MeasurementStatus { kOk, kDeclined, kWrong, kCrashed, kHung, kFailed };
const char* measurement_status_name(MeasurementStatus status);  // "ok", "declined", …

// What a row is about. Everything that the result depends on is in here, so a row never has to be
// invalidated.
struct MeasurementKey {
  MeasurementKind kind = MeasurementKind::kMeasure;
  std::string subject;  // kMeasure, kCheck: region hash and pattern; kConversion: type and layouts;
                        // kRace: both plans
  std::string plugin;   // empty: the host itself
  std::string build_id;     // of the plugin's library; of Inlay for the host
  std::string library;      // "OpenBLAS 0.3.21"
  std::string fingerprint;  // of the device
  int threads = 1;
  std::string knobs;  // what else was chosen, as text; empty for none
  auto operator<=>(const MeasurementKey&) const = default;
};

struct Measurement {
  MeasurementStatus status = MeasurementStatus::kOk;
  Cost cost = {};           // of kOk
  std::string reason = {};  // of the others
  // further figures as JSON text (kRace: the ratio and its interval); empty for none
  std::string detail = {};
  std::int64_t when = 0;     // seconds since 1970; put() fills in the present if 0
  std::string version = {};  // of Inlay; put() fills in its own if empty
};

struct DatabaseStats {
  std::int64_t rows = 0;
  std::uint64_t size_bytes = 0;
  struct Group {
    std::string plugin;
    MeasurementKind kind;
    MeasurementStatus status;
    std::int64_t rows;
  };
  std::vector<Group> groups;  // by plugin, kind, status
};

// $INLAY_DB, else $XDG_CACHE_HOME/inlay/costs.sqlite, else ~/.cache/inlay/costs.sqlite.
// throws  Error{kNotFound} if none of the three variables, INLAY_DB, XDG_CACHE_HOME and HOME, is
// set
std::filesystem::path default_database_path();

struct DatabaseOptions {
  std::chrono::milliseconds busy_timeout{10000};
  // find() gives only what this object has put, so that all else is measured again and replaces
  // the rows that are there.
  bool is_remeasuring = false;
};

class CostDatabase {
 public:
  // Creates the file, and the folders above it, if they are not there.
  explicit CostDatabase(const std::filesystem::path& path, DatabaseOptions options = {});
  ~CostDatabase();
  CostDatabase(const CostDatabase&) = delete;
  CostDatabase& operator=(const CostDatabase&) = delete;

  const std::filesystem::path& path() const;

  std::optional<Measurement> find(const MeasurementKey& key) const;

  // Replaces a row of the same key.
  void put(const MeasurementKey& key, const Measurement& measurement);

  // Every row, in the order of the keys. `visit` must not call this object.
  void for_each(const std::function<void(const MeasurementKey&, const Measurement&)>& visit) const;

  // Takes rows over, all or none. Of two rows with one key the newer stays; of equally old ones,
  // the one with more samples. Returns how many rows were new or replaced.
  int merge(const std::vector<std::pair<MeasurementKey, Measurement>>& rows);
  int merge(const CostDatabase& other);

  // Removes the rows of a plugin ("": of the host), or all of them. Returns how many.
  int clear(std::string_view plugin);
  int clear_all();
  int clear_quarantine();  // of regions that crashed or hung (quarantine.h)

  DatabaseStats stats() const;

  // Reads every page and index.
  // throws  Error{kCorrupt} with the first damage found
  void verify() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// One JSON object a line, in the order of the keys: equal contents give equal bytes.
std::string export_text(const CostDatabase& database);

// Merges what export_text wrote; returns how many rows were new or replaced.
// throws  Error{kCorrupt} "costs.jsonl:7: key 'status': expected one of …, found 'fine'"; then
// nothing was taken over
int import_text(CostDatabase& database, std::string_view text, const std::string& source);

}  // namespace inlay
