// Matrix products: MatMul by numpy's rules, Gemm, and the integer forms.
#include <cmath>
#include <functional>

#include "plugins/reference/element.h"
#include "plugins/reference/operators.h"
#include "plugins/reference/product.h"
#include "plugins/reference/walk.h"

namespace inlay::reference {
namespace {

// `count` products; operand elements lie at offset + row * row_stride + column * column_stride.
struct Product {
  std::int64_t rows = 1, depth = 1, columns = 1;
  std::int64_t a_row = 0, a_column = 1, b_row = 0, b_column = 1;
  Dims a_offsets, b_offsets;  // per product
  std::int64_t count() const { return static_cast<std::int64_t>(a_offsets.size()); }
};

// numpy.matmul: a vector operand is a row on the left and a column on the right; leading dimensions
// broadcast.
Product matmul_shape(const Operation& op, const Dims& a, const Dims& b) {
  if (a.empty() || b.empty()) throw sdk::Decline(op.title() + ": an operand is a scalar");
  Product product;
  const bool is_row = a.size() == 1;
  const bool is_column = b.size() == 1;
  product.rows = is_row ? 1 : a[a.size() - 2];
  product.depth = a.back();
  product.columns = is_column ? 1 : b.back();
  if ((is_column ? b[0] : b[b.size() - 2]) != product.depth) {
    throw sdk::Decline(op.title() + ": left operand has depth " + std::to_string(product.depth) +
                       ", right operand " + std::to_string(is_column ? b[0] : b[b.size() - 2]));
  }
  product.a_row = product.depth;
  product.b_row = product.columns;

  const Dims a_batch(a.begin(), a.end() - (is_row ? 1 : 2));
  const Dims b_batch(b.begin(), b.end() - (is_column ? 1 : 2));
  Dims batch(std::max(a_batch.size(), b_batch.size()), 1);
  for (std::size_t d = 0; d < batch.size(); ++d) {
    const auto extent = [&](const Dims& dims) {
      return d + dims.size() < batch.size() ? 1 : dims[d + dims.size() - batch.size()];
    };
    batch[d] = extent(a_batch) == 1 ? extent(b_batch) : extent(a_batch);
  }
  const Walk walk = Walk::broadcast(batch, {a_batch, b_batch});
  walk.for_each_run(0, walk.count(), 1,
                    [&](std::int64_t, const std::int64_t* offsets, std::int64_t) {
                      product.a_offsets.push_back(offsets[0] * product.rows * product.depth);
                      product.b_offsets.push_back(offsets[1] * product.depth * product.columns);
                    });
  return product;
}

// Zero points: empty for none, one for all, or one a row (left operand) or column (right operand).
struct Zeros {
  std::vector<double> values;
  double at(std::int64_t i) const {
    return values.empty() ? 0.0 : values[values.size() == 1 ? 0 : i];
  }
};

// finish(product, row, first column, columns, sums)
template <typename C, typename Finish>
void multiply(const sdk::Host& host, const Product& p, inlay_dtype a_dtype, const void* a,
              inlay_dtype b_dtype, const void* b, const Zeros& a_zeros, const Zeros& b_zeros,
              const Finish& finish) {
  const auto load_a = [&](const Block& block, std::int64_t k, std::int64_t part, C* target,
                          std::int64_t row_length) {
    for (std::int64_t i = 0; i < block.rows; ++i) {
      C* row = target + i * row_length;
      load(a_dtype, a, p.a_offsets[block.product] + (block.row + i) * p.a_row + k * p.a_column,
           p.a_column, part, row);
      const C zero = static_cast<C>(a_zeros.at(block.row + i));
      if (zero == C{}) continue;
      for (std::int64_t j = 0; j < part; ++j) row[j] -= zero;
    }
  };
  const auto load_b = [&](const Block& block, std::int64_t k, std::int64_t part, C* target,
                          std::int64_t row_length) {
    for (std::int64_t i = 0; i < part; ++i) {
      C* row = target + i * row_length;
      load(b_dtype, b, p.b_offsets[block.product] + (k + i) * p.b_row + block.column * p.b_column,
           p.b_column, block.columns, row);
      if (b_zeros.values.empty()) continue;
      for (std::int64_t j = 0; j < block.columns; ++j) {
        row[j] -= static_cast<C>(b_zeros.at(block.column + j));
      }
    }
  };
  for_each_product_block<C>(host, p.count(), p.rows, p.depth, p.columns, load_a, load_b,
                            [&](const Block& block, std::int64_t i, C* sums) {
                              finish(block.product, block.row + i, block.column, block.columns,
                                     sums);
                            });
}

Type optional_type(const Operation& op, int operand) {
  return op.has_input(operand) ? op.input(operand) : Type{};
}

Zeros load_zeros(const Run& run, int operand, const Type& type) {
  if (run.in(operand) == nullptr) return {};
  return {load_all<double>(type.dtype, run.in(operand), type.count())};
}

// Zero points and scales are scalars, or have an entry per row or column; in stacked products they
// may repeat the stack's dimensions, which is not supported.
void require_vector(const Operation& op, const Type& type, std::int64_t length) {
  if (type.dtype == 0 || type.count() == 1 || type.count() == length) return;
  throw sdk::Decline(op.title() + ": expected 1 or " + std::to_string(length) +
                     " scales and zero points, found " + std::to_string(type.count()));
}

}  // namespace

Body compile_matmul(const Operation& op) {
  const Type a = op.input(0), b = op.input(1), y = op.output(0);
  const Product product = matmul_shape(op, a.dims, b.dims);
  return [=](const Run& run) {
    const auto run_in = [&]<typename C>(C) {
      multiply<C>(run.host, product, a.dtype, run.in(0), b.dtype, run.in(1), {}, {},
                  [&](std::int64_t p, std::int64_t row, std::int64_t column, std::int64_t columns,
                      const C* sums) {
                    store(y.dtype, run.out(0), (p * product.rows + row) * product.columns + column,
                          1, columns, sums);
                  });
    };
    // Sign extension keeps unsigned arithmetic right for signed integers, without overflow.
    is_float(a.dtype) ? run_in(double{}) : run_in(std::uint64_t{});
  };
}

Body compile_gemm(const Operation& op) {
  const Type a = op.input(0), b = op.input(1), y = op.output(0), c = optional_type(op, 2);
  const bool is_a_transposed = op.node().get_int("transA", 0) != 0;
  const bool is_b_transposed = op.node().get_int("transB", 0) != 0;
  const double alpha = op.node().get_float("alpha", 1);
  const double beta = op.node().get_float("beta", 1);
  if (a.rank() != 2 || b.rank() != 2)
    throw sdk::Decline(op.title() + ": operands must be matrices");
  Product product;
  product.rows = a.dims[is_a_transposed ? 1 : 0];
  product.depth = a.dims[is_a_transposed ? 0 : 1];
  product.columns = b.dims[is_b_transposed ? 0 : 1];
  if (b.dims[is_b_transposed ? 1 : 0] != product.depth) {
    throw sdk::Decline(op.title() + ": the operands' depths differ");
  }
  product.a_row = is_a_transposed ? 1 : a.dims[1];
  product.a_column = is_a_transposed ? a.dims[1] : 1;
  product.b_row = is_b_transposed ? 1 : b.dims[1];
  product.b_column = is_b_transposed ? b.dims[1] : 1;
  product.a_offsets = product.b_offsets = {0};
  const Walk addend = Walk::broadcast({product.rows, product.columns}, {c.dims});
  return [=](const Run& run) {
    const auto run_in = [&]<typename C>(C) {
      const C scale = static_cast<C>(static_cast<std::int64_t>(alpha));
      const C factor = std::is_same_v<C, double> ? static_cast<C>(alpha) : scale;
      const C c_factor = std::is_same_v<C, double>
                             ? static_cast<C>(beta)
                             : static_cast<C>(static_cast<std::int64_t>(beta));
      multiply<C>(
          run.host, product, a.dtype, run.in(0), b.dtype, run.in(1), {}, {},
          [&](std::int64_t, std::int64_t row, std::int64_t column, std::int64_t columns, C* sums) {
            const std::int64_t first = row * product.columns + column;
            for (std::int64_t j = 0; j < columns; ++j) sums[j] *= factor;
            if (run.in(2) != nullptr && beta != 0) {
              addend.for_each_run(
                  first, first + columns, columns,
                  [&](std::int64_t to, const std::int64_t* from, std::int64_t length) {
                    std::vector<C> line(length);
                    load(c.dtype, run.in(2), from[0], addend.inner_stride(0), length, line.data());
                    for (std::int64_t j = 0; j < length; ++j) {
                      sums[to - first + j] += c_factor * line[j];
                    }
                  });
            }
            store(y.dtype, run.out(0), first, 1, columns, sums);
          });
    };
    is_float(a.dtype) ? run_in(double{}) : run_in(std::uint64_t{});
  };
}

Body compile_matmul_integer(const Operation& op) {
  const Type a = op.input(0), b = op.input(1), y = op.output(0);
  const Type a_zero = optional_type(op, 2), b_zero = optional_type(op, 3);
  const Product product = matmul_shape(op, a.dims, b.dims);
  require_vector(op, a_zero, product.rows);
  require_vector(op, b_zero, product.columns);
  return [=](const Run& run) {
    multiply<double>(run.host, product, a.dtype, run.in(0), b.dtype, run.in(1),
                     load_zeros(run, 2, a_zero), load_zeros(run, 3, b_zero),
                     [&](std::int64_t p, std::int64_t row, std::int64_t column,
                         std::int64_t columns, const double* sums) {
                       const std::vector<std::int64_t> wrapped(sums, sums + columns);
                       store(y.dtype, run.out(0),
                             (p * product.rows + row) * product.columns + column, 1, columns,
                             wrapped.data());
                     });
  };
}

Body compile_qlinear_matmul(const Operation& op) {
  const Type a = op.input(0), a_scale = op.input(1), a_zero = op.input(2);
  const Type b = op.input(3), b_scale = op.input(4), b_zero = op.input(5);
  const Type y_scale = op.input(6), y_zero = op.input(7), y = op.output(0);
  const Product product = matmul_shape(op, a.dims, b.dims);
  for (const Type& type : {a_scale, a_zero, y_scale, y_zero}) {
    require_vector(op, type, product.rows);
  }
  for (const Type& type : {b_scale, b_zero}) require_vector(op, type, product.columns);
  return [=](const Run& run) {
    const Zeros a_scales = load_zeros(run, 1, a_scale), b_scales = load_zeros(run, 4, b_scale);
    const Zeros y_scales = load_zeros(run, 6, y_scale), y_zeros = load_zeros(run, 7, y_zero);
    multiply<double>(run.host, product, a.dtype, run.in(0), b.dtype, run.in(3),
                     load_zeros(run, 2, a_zero), load_zeros(run, 5, b_zero),
                     [&](std::int64_t p, std::int64_t row, std::int64_t column,
                         std::int64_t columns, double* sums) {
                       for (std::int64_t j = 0; j < columns; ++j) {
                         const double factor =
                             a_scales.at(row) * b_scales.at(column + j) / y_scales.at(row);
                         sums[j] = std::nearbyint(sums[j] * factor) + y_zeros.at(row);
                       }
                       store(y.dtype, run.out(0),
                             (p * product.rows + row) * product.columns + column, 1, columns, sums);
                     });
  };
}

}  // namespace inlay::reference
