#include "search/placement.h"

namespace inlay {

const char* stop_reason_name(StopReason reason) {
  switch (reason) {
    case StopReason::kOptimal:
      return "optimal";
    case StopReason::kComplete:
      return "complete";
    case StopReason::kBeamLimit:
      return "beam_limit";
    case StopReason::kBudget:
      return "budget";
    case StopReason::kCancelled:
      return "cancelled";
  }
  return "unknown";
}

}  // namespace inlay
