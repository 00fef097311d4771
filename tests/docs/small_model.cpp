// Writes a small model to FILE: y = relu(x W + b) + 1, one input, one output. usage: small_model
// FILE
#include <cstdio>

#include "graphs/ir/graph.h"
#include "graphs/onnx/export.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: small_model FILE\n");
    return 2;
  }
  using inlay::Tensor;
  inlay::GraphBuilder builder("small");
  const auto x = builder.input("x", {inlay::DType::kF32, {4, 16}});
  const auto w =
      builder.constant("w", Tensor::from<float>({16, 32}, std::vector<float>(512, 0.5f)));
  const auto b = builder.constant("b", Tensor::from<float>({32}, std::vector<float>(32, -3.0f)));
  const auto one = builder.constant("one", Tensor::from<float>({}, {1.0f}));
  const auto product = builder.node("product", "MatMul", {x, w});
  const auto sum = builder.node("sum", "Add", {product, b});
  const auto relu = builder.node("relu", "Relu", {sum});
  builder.output(builder.node("y", "Add", {relu, one}));
  inlay::export_onnx(builder.build(), argv[1]);
  return 0;
}
