// The text form of the cost database: one JSON object a line.
#include <initializer_list>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "search/cost/database.h"

namespace inlay {
namespace {

using nlohmann::ordered_json;

ordered_json row_json(const MeasurementKey& key, const Measurement& m) {
  ordered_json row;
  row["kind"] = measurement_kind_name(key.kind);
  row["subject"] = key.subject;
  row["plugin"] = key.plugin;
  row["build_id"] = key.build_id;
  row["library"] = key.library;
  row["fingerprint"] = key.fingerprint;
  row["threads"] = key.threads;
  row["knobs"] = key.knobs;
  row["status"] = measurement_status_name(m.status);
  row["ns"] = m.cost.ns;
  row["low_ns"] = m.cost.low_ns;
  row["high_ns"] = m.cost.high_ns;
  row["samples"] = m.cost.samples;
  row["reason"] = m.reason;
  row["detail"] = m.detail;
  row["time"] = m.when;
  row["version"] = m.version;
  return row;
}

// One line of a file, with errors that name the line and the key.
class Line {
 public:
  Line(std::string_view text, std::string where) : where_(std::move(where)) {
    row_ = ordered_json::parse(text, nullptr, false);
    if (!row_.is_object()) throw Error(Code::kCorrupt, where_ + ": expected a JSON object");
  }

  std::string text(const char* key) const {
    const ordered_json& found = at(key);
    if (!found.is_string()) wrong(key, "text", found.dump());
    return found.get<std::string>();
  }
  std::int64_t integer(const char* key) const {
    const ordered_json& found = at(key);
    if (!found.is_number_integer()) wrong(key, "a whole number", found.dump());
    return found.get<std::int64_t>();
  }
  double real(const char* key) const {
    const ordered_json& found = at(key);
    if (!found.is_number() || found.get<double>() < 0) {
      wrong(key, "a number that is not negative", found.dump());
    }
    return found.get<double>();
  }
  // The enumerator whose name stands at the key.
  template <typename Enum>
  Enum one_of(const char* key, const char* (*name)(Enum), Enum last) const {
    const std::string found = text(key);
    std::string names;
    for (int i = 0; i <= static_cast<int>(last); ++i) {
      if (found == name(static_cast<Enum>(i))) return static_cast<Enum>(i);
      names += fmt::format("{}{}", i == 0 ? "" : ", ", name(static_cast<Enum>(i)));
    }
    wrong(key, "one of " + names, "'" + found + "'");
  }

 private:
  const ordered_json& at(const char* key) const {
    const auto found = row_.find(key);
    if (found == row_.end())
      throw Error(Code::kCorrupt, fmt::format("{}: key '{}' is missing", where_, key));
    return *found;
  }
  [[noreturn]] void wrong(const char* key, const std::string& expected,
                          const std::string& found) const {
    throw Error(Code::kCorrupt,
                fmt::format("{}: key '{}': expected {}, found {}", where_, key, expected, found));
  }

  std::string where_;
  ordered_json row_;
};

std::pair<MeasurementKey, Measurement> parse_row(const Line& line) {
  MeasurementKey key;
  key.kind = line.one_of("kind", measurement_kind_name, MeasurementKind::kRace);
  key.subject = line.text("subject");
  key.plugin = line.text("plugin");
  key.build_id = line.text("build_id");
  key.library = line.text("library");
  key.fingerprint = line.text("fingerprint");
  key.threads = static_cast<int>(line.integer("threads"));
  key.knobs = line.text("knobs");
  Measurement m;
  m.status = line.one_of("status", measurement_status_name, MeasurementStatus::kFailed);
  m.cost = {line.real("ns"), line.real("low_ns"), line.real("high_ns"),
            static_cast<int>(line.integer("samples"))};
  m.reason = line.text("reason");
  m.detail = line.text("detail");
  m.when = line.integer("time");
  m.version = line.text("version");
  return {std::move(key), std::move(m)};
}

}  // namespace

std::string export_text(const CostDatabase& database) {
  std::string text;
  database.for_each([&text](const MeasurementKey& key, const Measurement& measurement) {
    // A plugin's reason may hold bytes that are not UTF-8; JSON may not.
    text += row_json(key, measurement).dump(-1, ' ', false, ordered_json::error_handler_t::replace);
    text += '\n';
  });
  return text;
}

int import_text(CostDatabase& database, std::string_view text, const std::string& source) {
  std::vector<std::pair<MeasurementKey, Measurement>> rows;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    rows.push_back(parse_row(Line(line, fmt::format("{}:{}", source, number))));
  }
  return database.merge(rows);
}

}  // namespace inlay
