// Takes what is added to or scaled before and after a convolution into its weight and bias.
#pragma once

#include "graphs/onnx/draft.h"

namespace inlay {

// Into a Conv, ConvTranspose or Gemm goes the BatchNormalization that alone reads it, and whatever
// adds, subtracts, multiplies or divides by one constant per channel after it; into a Conv also
// what does so to its input, an addition only where no padding is. All parameters must be constant.
// The new ones are computed in double and rounded once a step, so results differ in rounding; each
// is recorded as a rewrite: "fold-batch-norm", "fold-scale", "fold-bias". A batch normalization
// takes what is done to its result likewise; a product and a sum per channel that nothing took in
// become one ("recognize-batch-norm").
void fold_affine(Draft& draft);

}  // namespace inlay
