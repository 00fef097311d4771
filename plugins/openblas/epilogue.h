// What follows a product, element by element: adding bias and residual, then an activation.
//
//   Epilogue epilogue;
//   epilogue.add({locate(region, bias), 1, {.row = 0, .column = 1}});
//   epilogue.read(region, 0, [&](const ValueView& value) { return whole(value); });   // the nodes
//   after node 0 epilogue.apply(block, c, ldc, inputs, batch);
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/sdk/kernel.h"
#include "plugins/openblas/gemm.h"

namespace inlay::openblas {

// Where a tensor's elements are at run.
struct Operand {
  const float* constant = nullptr;  // null: it is an input
  int input = -1;

  const float* data(std::span<const sdk::TensorView> inputs) const {
    return constant != nullptr ? constant : inputs[static_cast<std::size_t>(input)].as<float>();
  }
};

// throws  Decline if the value is neither a constant nor an input of the region
Operand locate(const sdk::RegionView& region, const sdk::ValueView& value);

// How a tensor lies over a stack of matrices, in elements; 0 where it is broadcast.
struct Placing {
  std::int64_t row = 0, column = 0;
  std::vector<std::int64_t> matrices = {};  // offset of each matrix of the stack; empty: all 0
};

struct Addend {
  Operand operand;
  float scale = 1;
  Placing placing;
};

struct Activation {
  enum class Kind { kNone, kRelu, kLeakyRelu, kClip, kSigmoid, kTanh, kGelu, kGeluTanh };
  Kind kind = Kind::kNone;
  float low = 0;   // Clip's minimum, LeakyRelu's slope
  float high = 0;  // Clip's maximum
};

class Epilogue {
 public:
  void add(Addend addend) { addends_.push_back(std::move(addend)); }

  // Appends the nodes after `main`: any number of Add, then at most one activation. `place` says
  // how an operand lies. throws  Decline for anything else
  void read(const sdk::RegionView& region, int main,
            const std::function<Placing(const sdk::ValueView&)>& place);

  // c: the first element of matrix `batch`.
  void apply(const Block& block, float* c, std::int64_t ldc,
             std::span<const sdk::TensorView> inputs, std::int64_t batch) const;

 private:
  std::vector<Addend> addends_;
  Activation activation_;
};

}  // namespace inlay::openblas
