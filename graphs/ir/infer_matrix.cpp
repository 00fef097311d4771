// MatMul and its quantized forms, Gemm, Einsum.
#include <algorithm>
#include <map>
#include <string>

#include "graphs/ir/infer_families.h"

namespace inlay {
namespace {

// numpy's matmul: a missing row or column dimension of a vector is added and then taken away.
Shape matmul_shape(const InferContext& context, Shape a, Shape b) {
  if (a.empty() || b.empty()) {
    context.mismatch("operands must have rank 1 or more: {} times {}", to_string(a), to_string(b));
  }
  const std::string text = to_string(a) + " times " + to_string(b);
  const bool is_row = a.size() == 1;
  const bool is_column = b.size() == 1;
  if (is_row) a.insert(a.begin(), 1);
  if (is_column) b.push_back(1);
  if (a.back() != b[b.size() - 2]) context.mismatch("inner dimensions differ: {}", text);
  Shape result =
      broadcast_shapes(context, Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
  if (!is_row) result.push_back(a[a.size() - 2]);
  if (!is_column) result.push_back(b.back());
  return result;
}

void expect_byte(const InferContext& context, std::size_t i) {
  if (context.dtype(i) == DType::kU8 || context.dtype(i) == DType::kI8) return;
  context.mismatch("operand {} must be u8 or i8, is {}", i, name_of(context.dtype(i)));
}

// One operand's or the output's subscripts: letters before the ellipsis, letters after it.
struct Term {
  std::string before;
  std::string after;
  bool has_ellipsis = false;
};

Term parse_term(const InferContext& context, std::string_view text) {
  Term term;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 3) == "..." && !term.has_ellipsis) {
      term.has_ellipsis = true;
      i += 2;
    } else if ((text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z')) {
      (term.has_ellipsis ? term.after : term.before) += text[i];
    } else {
      context.fail(Code::kInvalidArgument, "equation '{}': unexpected '{}'",
                   context.attribute_string("equation"), text[i]);
    }
  }
  return term;
}

struct EinsumSizes {
  std::map<char, std::int64_t> extent;
  std::map<char, int> uses;
  Shape ellipsis;  // broadcast over the operands
};

void bind_label(const InferContext& context, EinsumSizes& sizes, char label, std::int64_t extent) {
  ++sizes.uses[label];
  std::int64_t& known = sizes.extent.emplace(label, extent).first->second;
  if (known == 1) known = extent;
  if (extent != known && extent != 1) {
    context.mismatch("dimension '{}' is {} and {}", label, known, extent);
  }
}

void bind_operand(const InferContext& context, EinsumSizes& sizes, const Term& term,
                  std::size_t operand) {
  const Shape& shape = context.shape(operand);
  const std::size_t named = term.before.size() + term.after.size();
  if (shape.size() < named || (!term.has_ellipsis && shape.size() != named)) {
    context.mismatch("operand {} is {}, its subscripts have {} letters", operand, to_string(shape),
                     named);
  }
  const std::size_t covered = shape.size() - named;
  for (std::size_t i = 0; i < term.before.size(); ++i) {
    bind_label(context, sizes, term.before[i], shape[i]);
  }
  const auto begin = shape.begin() + static_cast<std::ptrdiff_t>(term.before.size());
  const Shape middle(begin, begin + static_cast<std::ptrdiff_t>(covered));
  sizes.ellipsis = broadcast_shapes(context, sizes.ellipsis, middle);
  for (std::size_t i = 0; i < term.after.size(); ++i) {
    bind_label(context, sizes, term.after[i], shape[term.before.size() + covered + i]);
  }
}

}  // namespace

std::vector<TensorType> infer_matmul(const InferContext& context) {
  context.expect_same_dtype(1);
  return {{context.dtype(0), matmul_shape(context, context.shape(0), context.shape(1))}};
}

std::vector<TensorType> infer_matmul_integer(const InferContext& context) {
  expect_byte(context, 0);
  expect_byte(context, 1);
  context.expect_same_dtype(2);
  if (context.has_input(3) && context.dtype(3) != context.dtype(1)) {
    context.mismatch("b is {}, its zero point {}", name_of(context.dtype(1)),
                     name_of(context.dtype(3)));
  }
  return {{DType::kI32, matmul_shape(context, context.shape(0), context.shape(1))}};
}

std::vector<TensorType> infer_qlinear_matmul(const InferContext& context) {
  expect_byte(context, 0);
  expect_byte(context, 3);
  expect_byte(context, 7);
  return {{context.dtype(7), matmul_shape(context, context.shape(0), context.shape(3))}};
}

std::vector<TensorType> infer_gemm(const InferContext& context) {
  context.expect_rank(0, "A", 2);
  context.expect_rank(1, "B", 2);
  context.expect_same_dtype(1);
  context.expect_same_dtype(2);
  Shape a = context.shape(0);
  Shape b = context.shape(1);
  if (context.attribute_int("transA") != 0) std::swap(a[0], a[1]);
  if (context.attribute_int("transB") != 0) std::swap(b[0], b[1]);
  if (a[1] != b[0]) {
    context.mismatch("inner dimensions differ: {} times {}", to_string(a), to_string(b));
  }
  const Shape result = {a[0], b[1]};
  if (context.has_input(2)) context.expect_broadcast_to(2, result);
  return {{context.dtype(0), result}};
}

std::vector<TensorType> infer_einsum(const InferContext& context) {
  std::string equation = context.attribute_string("equation");
  std::erase(equation, ' ');
  const std::size_t arrow = equation.find("->");
  const std::string_view left = std::string_view(equation).substr(0, arrow);
  EinsumSizes sizes;
  std::size_t operand = 0;
  for (std::size_t begin = 0; begin <= left.size(); ++operand) {
    const std::size_t end = std::min(left.find(',', begin), left.size());
    if (operand < context.inputs.size()) {
      context.expect_same_dtype(operand);
      bind_operand(context, sizes, parse_term(context, left.substr(begin, end - begin)), operand);
    }
    begin = end + 1;
  }
  if (operand != context.inputs.size()) {
    context.fail(Code::kInvalidArgument, "equation '{}' has {} operands, the node {}", equation,
                 operand, context.inputs.size());
  }
  Term output;
  if (arrow != std::string::npos) {
    output = parse_term(context, std::string_view(equation).substr(arrow + 2));
  } else {  // implicit: the ellipsis, then every letter used once, in alphabetical order
    output.has_ellipsis = true;
    for (const auto& [label, uses] : sizes.uses) {
      if (uses == 1) output.after += label;
    }
  }
  Shape shape;
  const auto append = [&](char label) {
    const auto it = sizes.extent.find(label);
    if (it == sizes.extent.end()) {
      context.fail(Code::kInvalidArgument, "equation '{}': output '{}' is in no operand", equation,
                   label);
    }
    shape.push_back(it->second);
  };
  for (const char label : output.before) append(label);
  if (output.has_ellipsis) shape.insert(shape.end(), sizes.ellipsis.begin(), sizes.ellipsis.end());
  for (const char label : output.after) append(label);
  return {{context.dtype(0), shape}};
}

}  // namespace inlay
