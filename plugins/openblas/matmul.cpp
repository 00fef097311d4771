// Gemm and MatMul with numpy's broadcasting.

#include <string>

#include "plugins/openblas/compile.h"
#include "plugins/openblas/stack.h"

namespace inlay::openblas {

namespace {

using Extents = std::vector<std::int64_t>;

Extents extents_of(const sdk::ValueView& value) {
  return {value.dims().begin(), value.dims().end()};
}

// Element strides of a row-major tensor seen with the rank and extents of `target`; 0 where it is
// broadcast.
Extents broadcast_strides(const sdk::ValueView& value, const Extents& target) {
  const Extents dims = extents_of(value);
  if (dims.size() > target.size()) throw sdk::Decline("an operand widens the result");
  Extents strides(target.size(), 0);
  std::int64_t stride = 1;
  for (std::size_t i = 1; i <= dims.size(); ++i) {
    const std::int64_t extent = dims[dims.size() - i];
    const std::size_t axis = target.size() - i;
    if (extent != 1 && extent != target[axis]) throw sdk::Decline("an operand widens the result");
    strides[axis] = extent == 1 ? 0 : stride;
    stride *= extent;
  }
  return strides;
}

// Offset of each matrix of the stack whose leading extents are those of `dims`.
Extents matrix_offsets(const Extents& dims, const Extents& strides) {
  Extents offsets{0};
  for (std::size_t axis = 0; axis + 2 < dims.size(); ++axis) {
    Extents next;
    for (const std::int64_t offset : offsets) {
      for (std::int64_t i = 0; i < dims[axis]; ++i) next.push_back(offset + i * strides[axis]);
    }
    offsets = std::move(next);
  }
  return offsets;
}

Placing place(const sdk::ValueView& value, const Extents& dims) {
  const Extents strides = broadcast_strides(value, dims);
  const std::size_t rank = dims.size();
  return {strides[rank - 2], strides[rank - 1], matrix_offsets(dims, strides)};
}

// How an operand lies over a result whose leading dimensions are seen as rows.
Placing place_flat(const sdk::ValueView& value, std::int64_t rows, std::int64_t columns) {
  const bool ends_in_row = value.rank() > 0 && value.dim(value.rank() - 1) == columns;
  if (value.count() == rows * columns) return {columns, 1};
  if (value.count() == columns && ends_in_row) return {0, 1};
  if (value.count() == 1) return {0, 0};
  throw sdk::Decline("an operand is neither whole, nor a row, nor one element");
}

std::unique_ptr<sdk::Kernel> compile_gemm_operator(const sdk::RegionView& region) {
  const sdk::NodeView node = region.node(0);
  const sdk::ValueView a = region.value(node.input(0)), b = region.value(node.input(1));
  if (a.rank() != 2 || b.rank() != 2) throw sdk::Decline("Gemm: operands that are no matrices");
  StackKernel::Data data;
  Gemm& g = data.gemm;
  g.transposes_a = node.get_int("transA", 0) != 0;
  g.transposes_b = node.get_int("transB", 0) != 0;
  g.alpha = node.get_float("alpha", 1);
  g.m = a.dim(g.transposes_a ? 1 : 0);
  g.k = a.dim(g.transposes_a ? 0 : 1);
  g.n = b.dim(g.transposes_b ? 0 : 1);
  g.lda = a.dim(1);
  g.ldb = b.dim(1);
  g.ldc = g.n;
  data.a = locate(region, a);
  data.b = locate(region, b);
  data.a_offsets = data.b_offsets = {0};
  const Extents dims{g.m, g.n};
  const float beta = node.get_float("beta", 1);
  if (node.input(2) >= 0 && beta != 0) {
    const sdk::ValueView c = region.value(node.input(2));
    data.epilogue.add({locate(region, c), beta, place(c, dims)});
  }
  data.epilogue.read(region, 0, [&](const sdk::ValueView& value) { return place(value, dims); });
  return std::make_unique<StackKernel>(std::move(data));
}

std::unique_ptr<sdk::Kernel> compile_matmul_operator(const sdk::RegionView& region) {
  const sdk::NodeView node = region.node(0);
  const sdk::ValueView a = region.value(node.input(0)), b = region.value(node.input(1));
  if (a.rank() < 2 || b.rank() < 2) throw sdk::Decline("MatMul: an operand is a vector");
  StackKernel::Data data;
  Gemm& g = data.gemm;
  g.m = a.dim(a.rank() - 2);
  g.k = g.lda = a.dim(a.rank() - 1);
  g.n = g.ldb = g.ldc = b.dim(b.rank() - 1);
  data.a = locate(region, a);
  data.b = locate(region, b);
  if (b.rank() == 2) {  // a stack times one matrix is one tall product
    g.m = a.count() / g.k;
    data.a_offsets = data.b_offsets = {0};
    data.epilogue.read(region, 0,
                       [&](const sdk::ValueView& value) { return place_flat(value, g.m, g.n); });
    return std::make_unique<StackKernel>(std::move(data));
  }
  const Extents dims = extents_of(region.value(node.outputs()[0]));
  const std::size_t rank = dims.size();
  // Seen over its own matrix, an operand's leading dimensions are broadcast like the result's.
  const auto offsets = [&](const sdk::ValueView& value) {
    Extents seen = dims;
    seen[rank - 2] = value.dim(value.rank() - 2);
    seen[rank - 1] = value.dim(value.rank() - 1);
    return matrix_offsets(seen, broadcast_strides(value, seen));
  };
  data.a_offsets = offsets(a);
  data.b_offsets = offsets(b);
  data.epilogue.read(region, 0, [&](const sdk::ValueView& value) { return place(value, dims); });
  return std::make_unique<StackKernel>(std::move(data));
}

}  // namespace

std::unique_ptr<sdk::Kernel> compile_matmul(const sdk::RegionView& region) {
  return region.node(0).op() == "Gemm" ? compile_gemm_operator(region)
                                       : compile_matmul_operator(region);
}

}  // namespace inlay::openblas
