// Takes transposes out of graphs that keep their channels last around operators that have them
// second.
//
//   sink_transposes(draft);   // Conv, Transpose, Relu, Transpose, Conv → Conv, Relu, Conv
#pragma once

#include "graphs/onnx/draft.h"

namespace inlay {

// A Transpose moves down past operators for which the order of dimensions is only a matter of
// their attributes and constants: elementwise ones, reductions, Softmax, Concat, Split, Slice, Pad,
// and reshapes that add or drop ones. Where it meets another the two become one, or none.
// Transposes that belong together move only if fewer elements are transposed afterwards. One that
// only moves ones becomes a Reshape. Every output stays bit for bit, but where a reduction runs
// over its elements in another order. Each group of transposes is recorded as a rewrite.
void sink_transposes(Draft& draft);

}  // namespace inlay
