// Cast: through double from floats, through 64-bit integers from integers, so that nothing is
// rounded twice.
#include "plugins/reference/elementwise.h"
#include "plugins/reference/operators.h"

namespace inlay::reference {

Body compile_cast(const Operation& op) {
  const Type x = op.input(0), y = op.output(0);
  return [=](const Run& run) {
    with_compute_type(
        x.dtype, [&]<typename C>(C) { map_unary<C>(run, x, y, [](C value) { return value; }); });
  };
}

}  // namespace inlay::reference
