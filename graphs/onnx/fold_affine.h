// Takes what is added to or scaled after a convolution into its weight and bias.
#pragma once

#include "graphs/onnx/draft.h"

namespace inlay {

// Conv, ConvTranspose or Gemm, read by a BatchNormalization alone, all parameters constant: one
// node. A Conv without a bias, read by an Add of one constant per channel alone: one node. The new
// parameters are computed in double and rounded once, so results differ in rounding; each is
// recorded as a rewrite.
void fold_affine(Draft& draft);

}  // namespace inlay
