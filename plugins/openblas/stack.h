// A stack of matrix products of one shape, with an epilogue: MatMul, Gemm and pointwise convolution
// all are one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/sdk/kernel.h"
#include "plugins/openblas/epilogue.h"
#include "plugins/openblas/gemm.h"

namespace inlay::openblas {

class StackKernel : public sdk::Kernel {
 public:
  // Offsets of each product's operands, in elements; results follow each other.
  struct Data {
    Gemm gemm;
    Operand a, b;
    std::vector<std::int64_t> a_offsets, b_offsets;
    Epilogue epilogue;
  };

  explicit StackKernel(Data data) : data_(std::move(data)) {}

  void run(std::span<const sdk::TensorView> inputs, std::span<const sdk::TensorView> outputs,
           const sdk::RunContext& context) const override {
    const auto count = static_cast<std::int64_t>(data_.a_offsets.size());
    const Gemm& gemm = data_.gemm;
    const float* a = data_.a.data(inputs);
    const float* b = data_.b.data(inputs);
    float* c = outputs[0].as<float>();
    // Many products: each whole on one thread. Few: each cut into one block per thread.
    if (count >= context.host.thread_cap()) {
      // Some microseconds of work for every task.
      constexpr std::int64_t kGrainProducts = 1 << 18;
      const std::int64_t grain = 1 + kGrainProducts / (gemm.m * gemm.n * gemm.k);
      context.host.parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
        const Block all{0, gemm.m, 0, gemm.n};
        for (std::int64_t i = begin; i < end; ++i) {
          float* target = c + i * gemm.m * gemm.ldc;
          gemm.run_block(a + a_offset(i), b + b_offset(i), target, all);
          data_.epilogue.apply(all, target, gemm.ldc, inputs, i);
        }
      });
      return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      float* target = c + i * gemm.m * gemm.ldc;
      gemm.run(a + a_offset(i), b + b_offset(i), target, context.host, [&](const Block& block) {
        data_.epilogue.apply(block, target, gemm.ldc, inputs, i);
      });
    }
  }

 private:
  std::int64_t a_offset(std::int64_t i) const {
    return data_.a_offsets[static_cast<std::size_t>(i)];
  }
  std::int64_t b_offset(std::int64_t i) const {
    return data_.b_offsets[static_cast<std::size_t>(i)];
  }

  Data data_;
};

}  // namespace inlay::openblas
