#include "core/base/error.h"

namespace inlay {

const char* code_name(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
      return "invalid_argument";
    case Code::kNotFound:
      return "not_found";
    case Code::kIo:
      return "io";
    case Code::kCorrupt:
      return "corrupt";
    case Code::kShapeMismatch:
      return "shape_mismatch";
    case Code::kUnsupported:
      return "unsupported";
    case Code::kPluginFailed:
      return "plugin_failed";
    case Code::kNoMemory:
      return "no_memory";
    case Code::kStale:
      return "stale";
    case Code::kBusy:
      return "busy";
    case Code::kCancelled:
      return "cancelled";
    case Code::kInternal:
      return "internal";
  }
  return "internal";
}

}  // namespace inlay
