// Takes zeros that are put around the input of a convolution or an average pool into its own
// padding.
#pragma once

#include "graphs/onnx/draft.h"

namespace inlay {

// A Pad of zeros along the spatial dimensions that a Conv or AveragePool alone reads, or a
// Transpose between the two alone. Every result stays bit for bit; each is recorded as a
// "fold-pad".
void fold_pads(Draft& draft);

}  // namespace inlay
