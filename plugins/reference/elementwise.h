// The loops of elementwise kernels: load a chunk, compute, store.
#pragma once

#include <algorithm>

#include "plugins/reference/element.h"
#include "plugins/reference/operation.h"
#include "plugins/reference/walk.h"

namespace inlay::reference {

// y[i] = f(x[i]), computed in C.
template <typename C, typename F>
void map_unary(const Run& run, const Type& x, const Type& y, const F& f) {
  run.host.parallel_for(x.count(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    C values[kChunk];
    for (std::int64_t at = begin; at < end; at += kChunk) {
      const std::int64_t length = std::min(kChunk, end - at);
      load(x.dtype, run.in(0), at, 1, length, values);
      for (std::int64_t i = 0; i < length; ++i) values[i] = static_cast<C>(f(values[i]));
      store(y.dtype, run.out(0), at, 1, length, values);
    }
  });
}

// y = f(a, b) with broadcasting, computed in C; the operands' element types may differ.
template <typename C, typename F>
void map_binary(const Run& run, const Walk& walk, inlay_dtype a, inlay_dtype b, inlay_dtype y,
                const F& f) {
  run.host.parallel_for(walk.count(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    C left[kChunk], right[kChunk];
    walk.for_each_run(begin, end, kChunk,
                      [&](std::int64_t to, const std::int64_t* from, std::int64_t length) {
                        load(a, run.in(0), from[0], walk.inner_stride(0), length, left);
                        load(b, run.in(1), from[1], walk.inner_stride(1), length, right);
                        for (std::int64_t i = 0; i < length; ++i) {
                          left[i] = static_cast<C>(f(left[i], right[i]));
                        }
                        store(y, run.out(0), to, 1, length, left);
                      });
  });
}

}  // namespace inlay::reference
