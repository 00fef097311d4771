// Between the kit and inlay-check-worker: arguments are the plugin, the reference plugin (may be
// empty) and a check's number; lines of JSON come back over this descriptor, the verdict last.
//
//   {"doing": "compile of pattern 'relu': …"}
//   {"status": "fail", "found": "expected …, found …", "declared": false}
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace inlay::check {

inline constexpr int kVerdictDescriptor = 3;

// Does nothing where nobody listens.
void write_line(const nlohmann::json& line);

}  // namespace inlay::check
