// Gemm and MatMul, with transposed operands, bias, scaling, masks, residuals and activations inside
// the primitive.

#include <algorithm>
#include <numeric>

#include "plugins/onednn/chain.h"
#include "plugins/onednn/compile.h"

namespace inlay::onednn {

using dnnl::matmul;
using dnnl::memory;

namespace {

// A matrix, or a stack of them, as the primitive sees it: logical extents over the value's bytes.
struct Operand {
  sdk::ValueView value;
  Dims dims;
  Dims strides;

  Desc desc() const { return Desc(dims, memory::data_type::f32, strides); }
};

Operand plain_operand(const sdk::ValueView& value) {
  if (!is_dense(value.layout())) throw sdk::Decline("a matrix that is not row-major");
  const Dims dims = dims_of(value);
  return {value, dims, row_major_strides(dims)};
}

// The value that `index` names, or, where a Transpose in the region makes it, what that reads, seen
// transposed.
Operand read_operand(const sdk::RegionView& region, int index) {
  for (int i = 0; i < region.node_count(); ++i) {
    const sdk::NodeView node = region.node(i);
    if (node.op() != "Transpose" || node.outputs()[0] != index) continue;
    const Operand source = plain_operand(region.value(node.input(0)));
    Operand seen{source.value, {}, {}};
    for (const std::int64_t axis : node.get_ints("perm")) {
      seen.dims.push_back(source.dims[static_cast<std::size_t>(axis)]);
      seen.strides.push_back(source.strides[static_cast<std::size_t>(axis)]);
    }
    return seen;
  }
  return plain_operand(region.value(index));
}

void transpose_matrix(Operand& operand) {
  const std::size_t rank = operand.dims.size();
  std::swap(operand.dims[rank - 2], operand.dims[rank - 1]);
  std::swap(operand.strides[rank - 2], operand.strides[rank - 1]);
}

void align_operand(Operand& operand, std::size_t rank) {
  while (operand.dims.size() < rank) {
    operand.strides.insert(operand.strides.begin(), operand.strides[0] * operand.dims[0]);
    operand.dims.insert(operand.dims.begin(), 1);
  }
}

bool is_plain(const Operand& operand) { return operand.strides == row_major_strides(operand.dims); }

// [b..., m, k] over plain bytes as [b*m, k].
void flatten(Operand& operand) {
  const std::int64_t columns = operand.dims.back();
  operand.dims = {sdk::element_count(operand.dims) / columns, columns};
  operand.strides = {columns, 1};
}

int find_main(const sdk::RegionView& region) {
  for (int i = 0; i < region.node_count(); ++i) {
    if (region.node(i).op() == "MatMul" || region.node(i).op() == "Gemm") return i;
  }
  throw sdk::Decline("no matrix product in the region");
}

bool ends_transposed(const sdk::RegionView& region) {
  return region.node(region.node_count() - 1).op() == "Transpose";
}

// Where the product goes: the output's own bytes, or, where a Transpose ends the region, the
// output's bytes in the order before it.
Desc describe_result(const sdk::RegionView& region, const Dims& dims) {
  if (!ends_transposed(region)) return describe_dense(dims);
  const sdk::NodeView last = region.node(region.node_count() - 1);
  const Dims strides = row_major_strides(dims_of(region.output(0)));
  const auto perm = last.get_ints("perm");
  Dims seen(strides.size());
  for (std::size_t i = 0; i < strides.size(); ++i) {
    seen[static_cast<std::size_t>(perm[i])] = strides[i];
  }
  return Desc(dims, memory::data_type::f32, seen);
}

struct Product {
  Operand a, b;
  Dims out_dims;
  std::optional<sdk::ValueView> bias;
};

Product read_product(const sdk::RegionView& region, int main, Chain& chain) {
  const sdk::NodeView node = region.node(main);
  Product p{read_operand(region, node.input(0)), read_operand(region, node.input(1)),
            dims_of(region.value(node.outputs()[0])), std::nullopt};
  if (node.get_int("transA", 0) != 0) transpose_matrix(p.a);
  if (node.get_int("transB", 0) != 0) transpose_matrix(p.b);
  const std::int64_t columns = p.out_dims.back();
  if (node.op() == "Gemm" && node.input(2) >= 0) {
    p.bias = region.value(node.input(2));
    if (p.bias->count() != columns || p.bias->dim(p.bias->rank() - 1) != columns) {
      throw sdk::Decline("Gemm: C is not one row");
    }
  } else {
    p.bias = chain.take_bias(columns);
  }
  // A stack of matrices times one matrix is one tall product.
  const std::int64_t count = sdk::element_count(p.out_dims);
  if (!ends_transposed(region) && p.b.dims.size() == 2 && p.a.dims.size() > 2 && is_plain(p.a) &&
      chain.is_matrix_like(count, columns)) {
    flatten(p.a);
    p.out_dims = {count / columns, columns};
  }
  align_operand(p.a, p.out_dims.size());
  align_operand(p.b, p.out_dims.size());
  return p;
}

}  // namespace

std::unique_ptr<sdk::Kernel> compile_matmul(const sdk::RegionView& region) {
  KernelBuilder builder(region);
  const int main = find_main(region);
  Chain chain = Chain::after(region, main, region.node_count() - ends_transposed(region));
  const Product p = read_product(region, main, chain);
  const Desc target = describe_result(region, p.out_dims);
  const Desc weights = p.b.value.is_constant()
                           ? Desc(p.b.dims, memory::data_type::f32, memory::format_tag::any)
                           : p.b.desc();
  Dims bias_dims(p.out_dims.size(), 1);
  bias_dims.back() = p.out_dims.back();
  const Desc bias = p.bias ? describe_dense(bias_dims) : Desc();
  const matmul::primitive_desc descriptor(
      builder.engine(), p.a.desc(), weights, bias, target,
      make_attributes(chain.post_ops(p.out_dims, region.output(0).layout())));
  require_optimised(descriptor, "matrix product");
  builder.bind(DNNL_ARG_SRC, p.a.value, p.a.desc());
  builder.bind_packed(DNNL_ARG_WEIGHTS, p.b.value, p.b.desc(), descriptor.weights_desc());
  if (p.bias) builder.bind(DNNL_ARG_BIAS, *p.bias, bias);
  builder.bind(DNNL_ARG_DST, region.output(0), target);
  chain.bind(builder);
  return builder.build(matmul(descriptor), descriptor.scratchpad_desc());
}

}  // namespace inlay::onednn
