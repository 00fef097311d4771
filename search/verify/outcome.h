// What a worker's answer is called in the database, and whether it belongs there.
//
//   row.status = status_of(answer);
//   row.reason = reason_of(answer);
//   if (!is_transient(answer)) database.put(key, row);
#pragma once

#include <csignal>
#include <string>
#include <type_traits>
#include <variant>

#include "core/run/worker_client.h"
#include "search/cost/database.h"

namespace inlay {

template <typename T>
MeasurementStatus status_of(const WorkerResult<T>& answer) {
  return std::visit(
      [](const auto& outcome) {
        using Outcome = std::decay_t<decltype(outcome)>;
        if constexpr (std::is_same_v<Outcome, Declined>) return MeasurementStatus::kDeclined;
        if constexpr (std::is_same_v<Outcome, Failed>) return MeasurementStatus::kFailed;
        if constexpr (std::is_same_v<Outcome, Crashed>) return MeasurementStatus::kCrashed;
        if constexpr (std::is_same_v<Outcome, Hung>) return MeasurementStatus::kHung;
        return MeasurementStatus::kOk;
      },
      answer);
}

// Sent by who runs the machine, or by the system where memory, time or space ran out; a process
// that fails by itself ends by another.
inline bool is_from_outside(int signal) {
  switch (signal) {
    case SIGKILL:
    case SIGTERM:
    case SIGINT:
    case SIGHUP:
    case SIGQUIT:
    case SIGXCPU:
    case SIGXFSZ:
    case SIGPWR:
      return true;
    default:
      return false;
  }
}

// Whether the answer tells of the machine at that moment and not of what was asked for: it holds
// for this run and is no verdict for the next.
template <typename T>
bool is_transient(const WorkerResult<T>& answer) {
  if (const auto* failed = std::get_if<Failed>(&answer)) return failed->is_transient;
  if (const auto* crashed = std::get_if<Crashed>(&answer)) return is_from_outside(crashed->signal);
  if (const auto* hung = std::get_if<Hung>(&answer)) return hung->was_held_up;
  return false;
}

// What went wrong, for people; empty for a result. Of a crash and a hang also `what` was run.
template <typename T>
std::string reason_of(const WorkerResult<T>& answer, const std::string& what) {
  const MeasurementStatus status = status_of(answer);
  const bool is_end = status == MeasurementStatus::kCrashed || status == MeasurementStatus::kHung;
  return describe_failure(answer) + (is_end ? ", running " + what : "") +
         (is_transient(answer) ? " (not kept: the next placement tries again)" : "");
}

}  // namespace inlay
