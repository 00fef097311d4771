// Visits the elements of a dense output in order, together with the offsets of the operands'
// elements that belong to them: broadcasting, transposing, slicing and tiling are all strides.
//
//   const Walk walk = Walk::broadcast({2, 3}, {{3}, {2, 1}});
//   walk.for_each_run(0, 6, 512, [&](std::int64_t out, const std::int64_t* offsets, std::int64_t
//   length) {
//     // out[out + i] belongs to a[offsets[0] + i * walk.inner_stride(0)], b[offsets[1] + i *
//     walk.inner_stride(1)]
//   });
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "plugins/reference/operation.h"

namespace inlay::reference {

class Walk {
 public:
  // dims: the output's extents. strides[k][d]: elements of operand k between neighbours along d.
  // bases[k]: its offset at the origin.
  Walk(const Dims& dims, const std::vector<Dims>& strides, Dims bases);

  // Operands of numpy's broadcasting; each must broadcast to `out`.
  // throws  sdk::Decline if one does not
  static Walk broadcast(const Dims& out, const std::vector<Dims>& operands);

  std::int64_t count() const { return count_; }
  std::int64_t inner_stride(int operand) const { return strides_[operand].back(); }

  // Calls f(output offset, operands' offsets, length) for runs of at most `limit` elements that
  // cover [begin, end).
  template <typename F>
  void for_each_run(std::int64_t begin, std::int64_t end, std::int64_t limit, F&& f) const {
    if (begin >= end) return;
    Dims index(dims_.size());
    Dims offsets = bases_;
    std::int64_t rest = begin;
    for (int d = static_cast<int>(dims_.size()) - 1; d >= 0; --d) {
      index[d] = rest % dims_[d];
      rest /= dims_[d];
      for (std::size_t k = 0; k < offsets.size(); ++k) offsets[k] += index[d] * strides_[k][d];
    }
    const int last = static_cast<int>(dims_.size()) - 1;
    for (std::int64_t out = begin; out < end;) {
      const std::int64_t length = std::min({end - out, dims_[last] - index[last], limit});
      f(out, static_cast<const std::int64_t*>(offsets.data()), length);
      out += length;
      advance(index, offsets, length);
    }
  }

 private:
  void advance(Dims& index, Dims& offsets, std::int64_t length) const {
    int d = static_cast<int>(dims_.size()) - 1;
    index[d] += length;
    for (std::size_t k = 0; k < offsets.size(); ++k) offsets[k] += length * strides_[k][d];
    while (d > 0 && index[d] == dims_[d]) {
      for (std::size_t k = 0; k < offsets.size(); ++k) {
        offsets[k] += strides_[k][d - 1] - dims_[d] * strides_[k][d];
      }
      index[d--] = 0;
      ++index[d];
    }
  }

  Dims dims_;  // merged where the strides allow; never empty
  std::vector<Dims> strides_;
  Dims bases_;
  std::int64_t count_;
};

// out[i] = in[offset of i]: copies elements of any type along a walk with one operand, in parallel
// when large.
void copy_along(const Walk& walk, inlay_dtype dtype, const Run& run, const void* in, void* out);

// Elements that one thread should have at least, for cheap bodies.
inline constexpr std::int64_t kGrain = 16384;

// Elements that elementwise kernels convert at a time: a few such buffers fit the first-level
// cache.
inline constexpr std::int64_t kChunk = 512;

}  // namespace inlay::reference
