#include "plugins/openblas/gemm.h"

#include <cblas.h>

namespace inlay::openblas {

namespace {

int narrow(std::int64_t extent) { return static_cast<int>(extent); }

// One row of a times b: a matrix times a vector, which OpenBLAS does without packing b.
void multiply_row(const Gemm& g, const float* a, const float* b, float* c, std::int64_t columns) {
  const int a_step = g.transposes_a ? narrow(g.lda) : 1;
  if (g.transposes_b) {
    cblas_sgemv(CblasRowMajor, CblasNoTrans, narrow(columns), narrow(g.k), g.alpha, b,
                narrow(g.ldb), a, a_step, 0, c, 1);
  } else {
    cblas_sgemv(CblasRowMajor, CblasTrans, narrow(g.k), narrow(columns), g.alpha, b, narrow(g.ldb),
                a, a_step, 0, c, 1);
  }
}

}  // namespace

void Gemm::run_block(const float* a, const float* b, float* c, const Block& block) const {
  const std::int64_t rows = block.row_end - block.row_begin;
  const std::int64_t columns = block.column_end - block.column_begin;
  a += transposes_a ? block.row_begin : block.row_begin * lda;
  b += transposes_b ? block.column_begin * ldb : block.column_begin;
  c += block.row_begin * ldc + block.column_begin;
  if (rows == 1) return multiply_row(*this, a, b, c, columns);
  cblas_sgemm(CblasRowMajor, transposes_a ? CblasTrans : CblasNoTrans,
              transposes_b ? CblasTrans : CblasNoTrans, narrow(rows), narrow(columns), narrow(k),
              alpha, a, narrow(lda), b, narrow(ldb), 0, c, narrow(ldc));
}

std::int64_t Gemm::part_count(int threads) const {
  // Below this many multiplications a product takes some 5 µs, about as long as waking a thread.
  constexpr std::int64_t kMinimum = 1 << 18;
  return m * n * k < kMinimum ? 1 : std::max(threads, 1);
}

Block Gemm::part(std::int64_t begin, std::int64_t end, std::int64_t parts) const {
  constexpr std::int64_t kTile =
      16;  // a multiple of the register tiles of OpenBLAS's sgemm kernels
  if (m > n) {
    return {part_begin(m, kTile, parts, begin), part_begin(m, kTile, parts, end), 0, n};
  }
  return {0, m, part_begin(n, kTile, parts, begin), part_begin(n, kTile, parts, end)};
}

}  // namespace inlay::openblas
