// What a worker's answer is called in the database.
//
//   if (std::get_if<Stats>(&answer) == nullptr) row.status = status_of(answer);
#pragma once

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

}  // namespace inlay
