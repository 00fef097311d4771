// The one matrix product of the reference: MatMul, Gemm, Conv and the quantised products are all
// blocks of it.
//
//   for_each_product_block<double>(host, count, rows, depth, columns, load_a, load_b, finish);
//
// Sums run over the depth in order, in double (or in 64-bit integers that wrap), so results depend
// neither on the number of threads nor on the block sizes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/sdk/kernel.h"

namespace inlay::reference {

// c[i][j] += sum over k of a[i][k] * b[k][j], row-major with the given row lengths; `columns` is a
// multiple of kColumnUnit. Products of two f32 are exact in double, so fused and separate
// multiply-adds agree.
inline constexpr std::int64_t kColumnUnit = 8;
void multiply_add(std::int64_t rows, std::int64_t depth, std::int64_t columns, const double* a,
                  std::int64_t a_row, const double* b, std::int64_t b_row, double* c,
                  std::int64_t c_row);
void multiply_add(std::int64_t rows, std::int64_t depth, std::int64_t columns,
                  const std::uint64_t* a, std::int64_t a_row, const std::uint64_t* b,
                  std::int64_t b_row, std::uint64_t* c, std::int64_t c_row);

// A rectangle of one of the products.
struct Block {
  std::int64_t product;  // which of `count` products
  std::int64_t row, rows;
  std::int64_t column, columns;
};

inline constexpr std::int64_t kRowBlock = 64;
inline constexpr std::int64_t kDepthBlock = 128;
inline constexpr std::int64_t kColumnBlock = 128;

// Computes `count` products of [rows, depth] by [depth, columns], in parallel over their blocks.
//   load_a(block, k, depth, target, row length)  fills target[i][0..depth) with rows block.row + i,
//   columns k... load_b(block, k, depth, target, row length)  fills target[0..depth)[j] with rows
//   k..., columns block.column + j finish(block, i, sums)                       takes the sums of
//   row block.row + i, for block.columns columns
template <typename C, typename LoadA, typename LoadB, typename Finish>
void for_each_product_block(const sdk::Host& host, std::int64_t count, std::int64_t rows,
                            std::int64_t depth, std::int64_t columns, const LoadA& load_a,
                            const LoadB& load_b, const Finish& finish) {
  const std::int64_t row_blocks = (rows + kRowBlock - 1) / kRowBlock;
  const std::int64_t column_blocks = (columns + kColumnBlock - 1) / kColumnBlock;
  const std::int64_t per_product = row_blocks * column_blocks;
  // Small products share a task: at least about a million multiply-adds each.
  const std::int64_t work = std::max<std::int64_t>(
      1, std::min(rows, kRowBlock) * std::min(columns, kColumnBlock) * depth);
  host.parallel_for(
      count * per_product, std::int64_t{1} << 20 > work ? (std::int64_t{1} << 20) / work : 1,
      [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t width =
            std::min(kColumnBlock, (columns + kColumnUnit - 1) / kColumnUnit * kColumnUnit);
        std::vector<C> a(std::min(rows, kRowBlock) * kDepthBlock);
        std::vector<C> b(kDepthBlock * width);
        std::vector<C> sums(std::min(rows, kRowBlock) * width);
        for (std::int64_t task = begin; task < end; ++task) {
          Block block;
          block.product = task / per_product;
          block.row = task % per_product / column_blocks * kRowBlock;
          block.rows = std::min(kRowBlock, rows - block.row);
          block.column = task % column_blocks * kColumnBlock;
          block.columns = std::min(kColumnBlock, columns - block.column);
          std::fill(sums.begin(), sums.end(), C{});
          for (std::int64_t k = 0; k < depth; k += kDepthBlock) {
            const std::int64_t part = std::min(kDepthBlock, depth - k);
            load_a(block, k, part, a.data(), kDepthBlock);
            load_b(block, k, part, b.data(), width);
            multiply_add(block.rows, part, width, a.data(), kDepthBlock, b.data(), width,
                         sums.data(), width);
          }
          for (std::int64_t i = 0; i < block.rows; ++i) finish(block, i, sums.data() + i * width);
        }
      });
}

}  // namespace inlay::reference
