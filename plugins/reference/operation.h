// One ONNX operator as its kernel sees it: types at compile time, pointers at run time. It hides
// whether an operand is an input of the run or a constant of the region.
//
//   Body compile_negate(const Operation& op) {
//     const Type x = op.input(0);
//     return [x](const Run& run) {
//       for (std::int64_t i = 0; i < x.count(); ++i) run.out<float>(0)[i] = -run.in<float>(0)[i];
//     };
//   }
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/sdk/kernel.h"
#include "core/sdk/region.h"

namespace inlay::reference {

using Dims = std::vector<std::int64_t>;

struct Type {
  inlay_dtype dtype = 0;
  Dims dims;

  int rank() const { return static_cast<int>(dims.size()); }
  std::int64_t count() const { return sdk::element_count(dims); }
  // Elements spanned by the dimensions [begin, end).
  std::int64_t count(int begin, int end) const;
};

// Row-major strides in elements.
Dims row_major_strides(const Dims& dims);

class Operation {
 public:
  // throws  sdk::Decline for a region of several nodes, a string tensor or a layout that is not
  // dense
  explicit Operation(const sdk::RegionView& region);

  const sdk::NodeView& node() const { return node_; }
  std::string title() const;  // "Conv 'c3'", for messages

  int input_count() const { return static_cast<int>(inputs_.size()); }
  int output_count() const { return static_cast<int>(outputs_.size()); }
  bool has_input(int i) const;
  bool has_output(int i) const;  // false if nobody reads it: Run::out gives null

  // throws  sdk::Decline if the operand is absent
  const Type& input(int i) const;
  const Type& output(int i) const;

  // The attribute's values, or `count` times `fallback` if it is absent.
  // throws  sdk::Decline if there are not `count` values
  Dims ints(std::string_view name, std::size_t count, std::int64_t fallback) const;
  // throws  sdk::Decline unless 0 <= axis < rank
  int axis(int rank, std::int64_t fallback = 0) const;

 private:
  sdk::NodeView node_;
  std::vector<Type> inputs_;  // dtype 0: absent
  std::vector<Type> outputs_;
};

// A run's memory in the node's order. Null for what is absent.
struct Run {
  std::span<const void* const> inputs;
  std::span<void* const> outputs;
  const sdk::Host& host;

  template <typename T = void>
  const T* in(int i) const {
    return i < static_cast<int>(inputs.size()) ? static_cast<const T*>(inputs[i]) : nullptr;
  }
  template <typename T = void>
  T* out(int i) const {
    return i < static_cast<int>(outputs.size()) ? static_cast<T*>(outputs[i]) : nullptr;
  }
};

// What a compiled operator does. Throws std::exception before it has written anything, or not at
// all.
using Body = std::function<void(const Run&)>;
using CompileOperator = Body (*)(const Operation&);

// Wraps a body as a kernel of the region.
std::unique_ptr<sdk::Kernel> make_kernel(const sdk::RegionView& region, Body body);

}  // namespace inlay::reference
