#include "plugins/reference/product.h"

namespace inlay::reference {
namespace {

// Four doubles; two SSE2 registers or one AVX register. Unaligned loads.
using Vector [[gnu::vector_size(32), gnu::aligned(8), gnu::may_alias]] = double;

// A tile of kRows x 8 sums stays in registers while the depth passes by.
template <int kRows>
[[gnu::always_inline]] inline void tile(std::int64_t depth, const double* a, std::int64_t a_row,
                                        const double* b, std::int64_t b_row, double* c,
                                        std::int64_t c_row) {
  Vector sums[kRows][2];
  for (int i = 0; i < kRows; ++i) {
    sums[i][0] = *reinterpret_cast<const Vector*>(c + i * c_row);
    sums[i][1] = *reinterpret_cast<const Vector*>(c + i * c_row + 4);
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    const Vector left = *reinterpret_cast<const Vector*>(b + k * b_row);
    const Vector right = *reinterpret_cast<const Vector*>(b + k * b_row + 4);
    for (int i = 0; i < kRows; ++i) {
      const double factor = a[i * a_row + k];
      sums[i][0] += left * factor;
      sums[i][1] += right * factor;
    }
  }
  for (int i = 0; i < kRows; ++i) {
    *reinterpret_cast<Vector*>(c + i * c_row) = sums[i][0];
    *reinterpret_cast<Vector*>(c + i * c_row + 4) = sums[i][1];
  }
}

[[gnu::always_inline]] inline void multiply_add_tiles(std::int64_t rows, std::int64_t depth,
                                                      std::int64_t columns, const double* a,
                                                      std::int64_t a_row, const double* b,
                                                      std::int64_t b_row, double* c,
                                                      std::int64_t c_row) {
  for (std::int64_t j = 0; j < columns; j += kColumnUnit) {
    std::int64_t i = 0;
    for (; i + 4 <= rows; i += 4) {
      tile<4>(depth, a + i * a_row, a_row, b + j, b_row, c + i * c_row + j, c_row);
    }
    for (; i < rows; ++i) {
      tile<1>(depth, a + i * a_row, a_row, b + j, b_row, c + i * c_row + j, c_row);
    }
  }
}

// Chosen at run time rather than by an ifunc, whose resolver would run before a sanitizer is ready.
[[gnu::target("avx2,fma")]] void multiply_add_avx2(std::int64_t rows, std::int64_t depth,
                                                   std::int64_t columns, const double* a,
                                                   std::int64_t a_row, const double* b,
                                                   std::int64_t b_row, double* c,
                                                   std::int64_t c_row) {
  multiply_add_tiles(rows, depth, columns, a, a_row, b, b_row, c, c_row);
}

}  // namespace

void multiply_add(std::int64_t rows, std::int64_t depth, std::int64_t columns, const double* a,
                  std::int64_t a_row, const double* b, std::int64_t b_row, double* c,
                  std::int64_t c_row) {
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    multiply_add_avx2(rows, depth, columns, a, a_row, b, b_row, c, c_row);
  } else {
    multiply_add_tiles(rows, depth, columns, a, a_row, b, b_row, c, c_row);
  }
}

void multiply_add(std::int64_t rows, std::int64_t depth, std::int64_t columns,
                  const std::uint64_t* a, std::int64_t a_row, const std::uint64_t* b,
                  std::int64_t b_row, std::uint64_t* c, std::int64_t c_row) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t k = 0; k < depth; ++k) {
      const std::uint64_t factor = a[i * a_row + k];
      for (std::int64_t j = 0; j < columns; ++j) c[i * c_row + j] += factor * b[k * b_row + j];
    }
  }
}

}  // namespace inlay::reference
