// The operators that follow a region's main one, each applied to the value of the one before, as
// oneDNN's post-operations. Swish and hard swish are also known when they are spelt out in two.
//
//   Chain chain = Chain::after(region, 0);       // what follows node 0
//   dnnl::post_ops post_ops = chain.post_ops(dims_of(y), y.layout());
//   ... make the primitive descriptor ...
//   chain.bind(builder);                         // the operands of Add, Mul, ...
#pragma once

#include <optional>
#include <vector>

#include "core/sdk/region.h"
#include "dnnl.hpp"
#include "plugins/onednn/layout.h"
#include "plugins/onednn/primitive_kernel.h"

namespace inlay::onednn {

// oneDNN's name for an elementwise operator, with its parameters.
struct Eltwise {
  dnnl::algorithm algorithm;
  float alpha;
  float beta;
};

// nullopt if oneDNN has no elementwise operation that computes this operator.
std::optional<Eltwise> find_eltwise(const sdk::NodeView& node);

// Pow by a constant number; Mul or Add of a value and itself. nullopt for other operators.
// throws  Decline for another exponent
std::optional<Eltwise> find_unary_form(const sdk::RegionView& region, const sdk::NodeView& node);

// The value of a constant of one element.
std::optional<float> constant_scalar(const sdk::ValueView& value);

// oneDNN's binary algorithm for Add, Sub, Mul, Div, Max, Min; nullopt otherwise.
std::optional<dnnl::algorithm> find_binary(std::string_view op);

class Chain {
 public:
  // What follows the node at index `main`, up to `end` or the region's end.
  // throws  Decline if a node there has no post-operation
  static Chain after(const sdk::RegionView& region, int main, int end);
  static Chain after(const sdk::RegionView& region, int main) {
    return after(region, main, region.node_count());
  }
  // All nodes, as applied to this input.
  static Chain of_input(const sdk::RegionView& region, const sdk::ValueView& input);

  // The chain's elementwise operation, if it is just one.
  std::optional<Eltwise> single() const;

  // If the chain starts with the Add of a constant vector along the last axis, removes it and
  // returns it.
  std::optional<sdk::ValueView> take_bias(std::int64_t columns);

  // Has the main operator's result negated before all else.
  void negate_first();

  // True if every operand has as many elements as the output or is one row, so that the output may
  // be seen as a matrix.
  bool is_matrix_like(std::int64_t count, std::int64_t columns) const;

  // For an output of these extents and this layout (the region's own output, or the same bytes seen
  // otherwise). With `adds_in_place` an Add of a whole tensor expects it in the output's memory.
  dnnl::post_ops post_ops(const Dims& dims, std::string_view layout, bool adds_in_place = false);

  // After post_ops: binds what it appended.
  void bind(KernelBuilder& builder) const;

  bool is_empty() const { return links_.empty(); }
  bool has_operands() const;

 private:
  // Either an elementwise operation or a binary operator with its other operand.
  struct Link {
    std::optional<Eltwise> eltwise;
    std::string_view op;
    std::optional<sdk::ValueView> operand;
  };
  struct Operand {
    int argument;
    sdk::ValueView value;
    Desc desc;
  };
  Chain(const sdk::RegionView& region, int first, int end, int previous);
  // The same with its operands exchanged; may put a link before it.
  Link turned_around(const Link& link);
  void append_prelu(dnnl::post_ops& post_ops, const sdk::ValueView& slope, const Dims& dims);
  void append(dnnl::post_ops& post_ops, const Link& link, const Dims& dims, std::string_view layout,
              bool adds_in_place);

  std::vector<Link> links_;
  std::vector<Operand> operands_;
  std::optional<sdk::ValueView> added_in_place_;
};

}  // namespace inlay::onednn
