// Where libraries write events. Libraries never print: main hands them a Log that does.
//
//   log.info("program compiled", {{"plugin", "openblas"}, {"node", "fc1"}});
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace inlay {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// One key=value pair of an event.
using LogField = std::pair<std::string_view, std::string>;

// May be called from several threads at once; an implementation must allow that.
class Log {
 public:
  virtual ~Log() = default;
  virtual void write(LogLevel level, std::string_view event,
                     const std::vector<LogField>& fields) = 0;

  void debug(std::string_view event, std::initializer_list<LogField> fields = {}) {
    write(LogLevel::kDebug, event, fields);
  }
  void info(std::string_view event, std::initializer_list<LogField> fields = {}) {
    write(LogLevel::kInfo, event, fields);
  }
  void warn(std::string_view event, std::initializer_list<LogField> fields = {}) {
    write(LogLevel::kWarning, event, fields);
  }
  void error(std::string_view event, std::initializer_list<LogField> fields = {}) {
    write(LogLevel::kError, event, fields);
  }
};

// Discards everything.
class NullLog : public Log {
 public:
  void write(LogLevel, std::string_view, const std::vector<LogField>&) override {}
};

}  // namespace inlay
