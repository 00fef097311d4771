// Writes canonical nodes as ONNX nodes of opset 20: attributes go back to being operands where ONNX
// wants operands.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "graphs/ir/graph.h"
#include "onnx/onnx.pb.h"

namespace inlay {

inline constexpr std::int64_t kExportOpset = 20;

class NodeWriter {
 public:
  NodeWriter(const Graph& graph, onnx::GraphProto& out);

  // throws  Error{kUnsupported} "Conv 'c3': …" for what has no form in opset 20
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
  // The same with one output of a fresh name.
  std::string add_inner(const Node& node, std::string_view op, const Names& inputs,
                        const Attributes& attributes = {});
  // Adds an initializer named after the node and returns its name.
  std::string add_tensor(const Node& node, std::string_view what, const Tensor& tensor);
  std::string add_ints(const Node& node, std::string_view what,
                       const std::vector<std::int64_t>& values);
  std::string add_scalar(const Node& node, std::string_view what, DType dtype, double value);

  bool write_moved_parameters(const Node& node);
  bool write_decomposed(const Node& node);
  void write_reshape(const Node& node);
  void write_slice(const Node& node);
  void write_pad(const Node& node);
  void write_clip(const Node& node);
  void write_resize(const Node& node);
  void write_swish(const Node& node);
  void write_rms_normalization(const Node& node);
  void write_group_normalization(const Node& node);
  void write_quantization(const Node& node);
  void write_recurrence(const Node& node);

  const Graph& graph_;
  onnx::GraphProto& out_;
  std::unordered_set<std::string> taken_;
};

// Name, type and dense bytes, in raw_data.
void write_tensor(const Tensor& tensor, const std::string& name, onnx::TensorProto& out);

}  // namespace inlay
