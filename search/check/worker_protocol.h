// Between the kit and inlay-check-worker: arguments are the plugin, the reference plugin (may be
// empty) and a check's number; one line of JSON comes back over this descriptor.
//
//   {"status": "fail", "found": "expected …, found …", "declared": false}
#pragma once

namespace inlay::check {

inline constexpr int kVerdictDescriptor = 3;

}  // namespace inlay::check
