// Pad in all modes: each axis maps output coordinates to input coordinates, -1 being the padding
// value.
#include <cstring>

#include "plugins/reference/element.h"
#include "plugins/reference/operators.h"
#include "plugins/reference/walk.h"

namespace inlay::reference {
namespace {

std::int64_t wrapped(std::int64_t i, std::int64_t period) { return (i % period + period) % period; }

// Input coordinate for coordinate `i` (0 is the first input element) of an axis of `extent`
// elements.
std::int64_t source_of(std::int64_t i, std::int64_t extent, std::string_view mode) {
  if (i >= 0 && i < extent) return i;
  if (mode == "constant" || extent == 0) return -1;
  if (mode == "edge") return i < 0 ? 0 : extent - 1;
  if (mode == "wrap") return wrapped(i, extent);
  if (extent == 1) return 0;
  const std::int64_t folded = wrapped(i, 2 * (extent - 1));
  return folded < extent ? folded : 2 * (extent - 1) - folded;
}

}  // namespace

Body compile_pad(const Operation& op) {
  const Type x = op.input(0), y = op.output(0);
  const std::size_t rank = x.dims.size();
  const Dims pads = op.ints("pads", 2 * rank, 0);
  const std::string mode(op.node().get_string("mode", "constant"));
  const double value = op.node().get_float("value", 0);
  if (y.dims.size() != rank) throw sdk::Decline(op.title() + ": ranks differ");
  std::vector<Dims> sources(rank);
  for (std::size_t d = 0; d < rank; ++d) {
    if (y.dims[d] != x.dims[d] + pads[d] + pads[rank + d]) {
      throw sdk::Decline(op.title() + ": pads give " +
                         std::to_string(x.dims[d] + pads[d] + pads[rank + d]) + " along axis " +
                         std::to_string(d) + ", the result has " + std::to_string(y.dims[d]));
    }
    for (std::int64_t i = 0; i < y.dims[d]; ++i) {
      sources[d].push_back(source_of(i - pads[d], x.dims[d], mode));
      if (sources[d].back() < 0 && mode != "constant") {
        throw sdk::Decline(op.title() + ": mode " + mode + " needs a non-empty axis");
      }
    }
  }
  if (rank == 0) return compile_reshape(op);
  const Dims strides = row_major_strides(x.dims);
  return [=](const Run& run) {
    with_element_size(x.dtype, [&]<typename E>(E) {
      E fill{};
      store(x.dtype, &fill, 0, 1, 1, &value);
      if (run.in(1) != nullptr) std::memcpy(&fill, run.in(1), sizeof(E));
      const std::int64_t row = y.dims.back();
      const std::int64_t rows = y.count(0, y.rank() - 1);
      const std::int64_t grain = std::max<std::int64_t>(1, kGrain / (row + 1));
      run.host.parallel_for(rows, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) {
          std::int64_t base = 0, rest = r;
          bool is_padding = false;
          for (int d = y.rank() - 2; d >= 0; --d) {
            const std::int64_t source = sources[d][rest % y.dims[d]];
            rest /= y.dims[d];
            is_padding |= source < 0;
            base += source * strides[d];
          }
          E* out = run.out<E>(0) + r * row;
          for (std::int64_t i = 0; i < row; ++i) {
            const std::int64_t source = sources.back()[i];
            out[i] = is_padding || source < 0 ? fill : run.in<E>(0)[base + source];
          }
        }
      });
    });
  };
}

}  // namespace inlay::reference
