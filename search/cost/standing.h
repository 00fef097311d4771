// Which plugins are still worth trying: each crash costs a start of the worker and each hang its
// deadline, so who did either too often is not tried again. Private to search/cost.
//
//   standing.count("acme", status, reason);
//   if (const std::string why = standing.why_out("acme"); !why.empty()) ...   // leave it out
#pragma once

#include <map>
#include <string>

#include "core/base/log.h"
#include "search/cost/database.h"

namespace inlay {

class Standing {
 public:
  explicit Standing(Log& log) : log_(log) {}

  // A candidate of the plugin was left out; `what` names it. Warns, but for a decline, which is a
  // normal answer; of one plugin only the first few times, the rest is in the report.
  void count(const std::string& plugin, MeasurementStatus status, const std::string& what,
             const std::string& reason);

  // Why the plugin is not tried any more; empty if it is.
  std::string why_out(const std::string& plugin) const;

 private:
  struct Record {
    int crashes = 0;
    int hangs = 0;
    int warnings = 0;
  };
  std::map<std::string, Record> records_;
  Log& log_;
};

}  // namespace inlay
