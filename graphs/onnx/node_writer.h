// Writes canonical nodes as ONNX nodes of an opset: attributes go back to being operands where ONNX
// wants operands, and what the opset lacks is written out as simpler operators.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "graphs/ir/graph.h"
#include "onnx/onnx.pb.h"

namespace inlay {

class NodeWriter {
 public:
  NodeWriter(const Graph& graph, std::int64_t opset, onnx::GraphProto& out);

  // throws  Error{kUnsupported} "Conv 'c3': …" for what has no form in the opset
  void write(const Node& node);

  // A tensor name that the graph does not have: the stem, or the stem and a number.
  std::string fresh_name(const std::string& stem);

 private:
  using Names = std::vector<std::string>;

  Names input_names(const Node& node) const;
  Names output_names(const Node& node) const;
  const TensorType& type(ValueId id) const { return graph_.value(id).type; }

  // Adds a node; only `attributes` are written, not the canonical node's.
  void add(const Node& node, std::string_view op, const Names& inputs, const Names& outputs,
           const Attributes& attributes);
  // The same with one output of a fresh name, which is the node's name too.
  std::string add_inner(const Node& node, std::string_view op, const Names& inputs,
                        const Attributes& attributes = {});
  // Adds an initializer named after the node and returns its name.
  std::string add_tensor(const Node& node, std::string_view what, const Tensor& tensor);
  std::string add_ints(const Node& node, std::string_view what,
                       const std::vector<std::int64_t>& values);
  std::string add_scalar(const Node& node, std::string_view what, DType dtype, double value);

  struct Reduction {
    Names inputs;
    Attributes attributes;
  };
  Reduction reduce(const Node& node, const std::string& x, const std::vector<std::int64_t>& axes);
  std::string add_mean(const Node& node, const std::string& x);
  std::string add_root(const Node& node, const std::string& x);

  bool write_moved_parameters(const Node& node);
  bool write_body(const Node& node);
  void write_reshape(const Node& node);
  void write_slice(const Node& node);
  void write_pad(const Node& node);
  void write_clip(const Node& node);
  void write_resize(const Node& node);
  void write_grid_sample(const Node& node);
  void write_gelu(const Node& node);
  void write_mish(const Node& node);
  void write_layer_normalization(const Node& node);
  void write_swish(const Node& node);
  void write_rms_normalization(const Node& node);
  void write_group_normalization(const Node& node);
  void write_quantization(const Node& node);
  void write_recurrence(const Node& node);

  const Graph& graph_;
  const std::int64_t opset_;
  onnx::GraphProto& out_;
  std::unordered_set<std::string> taken_;
};

// Name, type and dense bytes, in raw_data.
void write_tensor(const Tensor& tensor, const std::string& name, onnx::TensorProto& out);

}  // namespace inlay
