// One matrix product on row-major matrices, cut into one block per thread.
//
//   const Gemm gemm{.m = 64, .n = 1000, .k = 2048, .lda = 2048, .ldb = 1000, .ldc = 1000};
//   gemm.run(a, b, c, host, [&](const Block& block) { ... });   // the block's elements are final,
//   and in cache
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/sdk/kernel.h"

namespace inlay::openblas {

// Rows and columns of the result, as half-open ranges.
struct Block {
  std::int64_t row_begin, row_end, column_begin, column_end;
};

struct Gemm {
  std::int64_t m, n, k;
  std::int64_t lda, ldb, ldc;  // elements from one stored row to the next
  bool transposes_a = false;
  bool transposes_b = false;
  float alpha = 1;

  // One block, on the calling thread: c = alpha * op(a) * op(b).
  void run_block(const float* a, const float* b, float* c, const Block& block) const;

  // All of it on the host's pool; after(block) follows each block on the thread that made it.
  template <typename After>
  void run(const float* a, const float* b, float* c, const sdk::Host& host,
           const After& after) const {
    const std::int64_t parts = part_count(host.thread_cap());
    host.parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
      const Block block = part(begin, end, parts);
      if (block.row_begin >= block.row_end || block.column_begin >= block.column_end) return;
      run_block(a, b, c, block);
      after(block);
    });
  }

 private:
  // 1 where the product is too small to be worth a second thread.
  std::int64_t part_count(int threads) const;
  // Parts [begin, end) of `parts`, cut along the longer side at multiples of the kernels' tile.
  Block part(std::int64_t begin, std::int64_t end, std::int64_t parts) const;
};

// The start of part i of `parts` of [0, count), a multiple of `unit` except at the end.
inline std::int64_t part_begin(std::int64_t count, std::int64_t unit, std::int64_t parts,
                               std::int64_t i) {
  const std::int64_t units = (count + unit - 1) / unit;
  return std::min(count, units * i / parts * unit);
}

}  // namespace inlay::openblas
