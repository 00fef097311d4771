// One ONNX node on its way to canonical form: its operands and attributes, and what to put in its
// place.
//
//   std::vector<ValueId> canonical_leaky_relu(Operator& op) {
//     return {op.emit("LeakyRelu", {op.input(0)}, {{"alpha", op.get_float("alpha", 0.01f)}})};
//   }
//
// A function of the table gets an Operator and returns the values of the node's outputs, kNoValue
// for one that is not wanted. It may emit any number of canonical nodes, or none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/attribute.h"
#include "graphs/onnx/draft.h"

namespace inlay {

using Ints = std::vector<std::int64_t>;
using Floats = std::vector<float>;
using Values = std::vector<ValueId>;

class Operator {
 public:
  Operator(Draft& draft, std::string name, std::string op, std::int64_t opset, Values inputs,
           std::vector<bool> wanted, Attributes attributes);

  const std::string& name() const { return name_; }
  const std::string& op() const { return op_; }
  std::int64_t opset() const { return opset_; }
  Draft& draft() { return draft_; }

  // The error, with the node's operator and name in front of the text.
  Error error(Code code, const std::string& text) const;
  Error unsupported(const std::string& text) const { return error(Code::kUnsupported, text); }

  // ---- operands
  int input_count() const { return static_cast<int>(inputs_.size()); }
  bool has_input(int i) const {
    return i < input_count() && !inputs_[static_cast<std::size_t>(i)].is_none();
  }
  // throws  Error{kCorrupt} if the operand is absent
  ValueId input(int i) const;
  ValueId input_or_none(int i) const { return has_input(i) ? input(i) : kNoValue; }
  const Values& inputs() const { return inputs_; }
  const TensorType& type(int i) const { return draft_.type(input(i)); }
  const TensorType& type(ValueId id) const { return draft_.type(id); }
  const Shape& shape(int i) const { return type(i).shape; }
  int rank(int i) const { return static_cast<int>(shape(i).size()); }
  const Tensor* constant(int i) const { return draft_.constant(input_or_none(i)); }
  // The elements of a constant operand, whatever its type.
  // throws  Error{kUnsupported} "…: operand 'axes' is not constant"
  Ints constant_ints(int i, std::string_view what) const;
  std::vector<double> constant_doubles(int i, std::string_view what) const;

  // ---- outputs
  int output_count() const { return static_cast<int>(wanted_.size()); }
  bool is_wanted(int i) const { return i < output_count() && wanted_[static_cast<std::size_t>(i)]; }
  // throws  Error{kUnsupported} if an output after the first `count` is wanted
  void limit_outputs(int count) const;

  // ---- attributes
  const Attributes& attributes() const { return attributes_; }
  bool has_attribute(std::string_view name) const { return has(attributes_, name); }
  std::int64_t get_int(std::string_view name, std::int64_t fallback) const;
  float get_float(std::string_view name, float fallback) const;
  std::string get_string(std::string_view name, std::string_view fallback) const;
  Ints get_ints(std::string_view name, const Ints& fallback = {}) const;
  Floats get_floats(std::string_view name, const Floats& fallback = {}) const;
  // An axis in [-rank, rank), made non-negative.
  // throws  Error{kShapeMismatch}
  std::int64_t axis(std::int64_t axis, int rank) const;
  // The same for several; sorted.
  // throws  Error{kShapeMismatch} also if one stands twice
  Ints sorted_axes(Ints axes, int rank) const;
  // A list that must have `count` entries.
  // throws  Error{kCorrupt}
  const Ints& expect_count(std::string_view what, const Ints& list, std::size_t count) const;

  // ---- the replacement
  ValueId emit(std::string_view op, Values inputs, Attributes attributes = {});
  Values emit_outputs(std::string_view op, Values inputs, Attributes attributes,
                      const std::vector<bool>& wanted);
  // The operator under its own name, with those attributes of the node that the canonical form has,
  // after `changed`.
  Values emit_same(Values inputs, Attributes changed = {});
  ValueId emit_as(TensorType type, std::string_view op, Values inputs, Attributes attributes = {});
  // One Reshape or Transpose, together with one that stands before; none where nothing is left to
  // do.
  ValueId reshape(ValueId id, Shape shape);
  ValueId transpose(ValueId id, Ints perm);
  ValueId constant_value(Tensor tensor) { return draft_.add_constant(std::move(tensor)); }
  // The node does nothing: its output is this value.
  Values identity(ValueId id);

 private:
  // The node that gives a value, if it is of that operator; null otherwise.
  const Node* producer(ValueId id, std::string_view op) const;

  Draft& draft_;
  std::string name_;
  std::string op_;
  std::int64_t opset_;
  Values inputs_;
  std::vector<bool> wanted_;
  Attributes attributes_;
};

// Elements of a tensor of any numeric type.
// throws  Error{kUnsupported} for a type without numbers
Ints to_ints(const Tensor& tensor);
std::vector<double> to_doubles(const Tensor& tensor);
// One number as a tensor of the given type.
Tensor scalar_of(DType dtype, double value, Shape shape = {});

using Canonicalizer = Values (*)(Operator& op);
// The function that rewrites an operator; nullptr for one that Inlay does not know. domain "" is
// ai.onnx.
Canonicalizer find_canonicalizer(std::string_view domain, std::string_view op);

struct CanonicalEntry {
  std::string_view op;
  Canonicalizer function;
};
// One table per family, each in the source of its name.
std::span<const CanonicalEntry> canonical_convolutions();    // canonical_conv.cpp
std::span<const CanonicalEntry> canonical_elementwise();     // canonical_elementwise.cpp
std::span<const CanonicalEntry> canonical_shapes();          // canonical_shape.cpp
std::span<const CanonicalEntry> canonical_selections();      // canonical_select.cpp
std::span<const CanonicalEntry> canonical_reductions();      // canonical_reduce.cpp
std::span<const CanonicalEntry> canonical_normalizations();  // canonical_norm.cpp
std::span<const CanonicalEntry> canonical_resizes();         // canonical_resize.cpp
std::span<const CanonicalEntry> canonical_recurrences();     // canonical_recurrent.cpp
std::span<const CanonicalEntry> canonical_quantizations();   // canonical_quant.cpp
std::span<const CanonicalEntry> canonical_generators();      // canonical_generate.cpp
std::span<const CanonicalEntry> canonical_microsoft();       // canonical_microsoft.cpp

}  // namespace inlay
