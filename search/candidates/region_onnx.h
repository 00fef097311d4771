// A region as an ONNX model, for engines.
//
//   add_onnx(&region, region_onnx(region, 20));
//
// Value i is named "v<i>" and node i "n<i>", so that equal regions give equal bytes. Constants are
// left out: the region has them, and whoever reads the model adds them by name.
#pragma once

#include <string>

#include "core/plan/region.h"

namespace inlay {

// throws  Error{kUnsupported} naming an operator without a form in the opset
std::string region_onnx(const Region& region, int opset);

}  // namespace inlay
