// Walks a parsed model and fills a Draft: inputs, constants, nodes in order; nested graphs of an If
// whose condition is known, and local functions, are put in place.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "graphs/onnx/draft.h"
#include "graphs/onnx/node_order.h"
#include "graphs/onnx/operator.h"
#include "graphs/onnx/tensor_proto.h"

namespace inlay {

class Importer {
 public:
  // model  is emptied: large tensors are moved out of it
  Importer(onnx::ModelProto& model, std::filesystem::path folder, const ImportOptions& options);

  Imported run();

 private:
  // Tensor names of one graph; those of the surrounding graphs are seen through `parent`.
  struct Scope {
    const Scope* parent = nullptr;
    std::unordered_map<std::string, ValueId> values;
    std::optional<ValueId> find(const std::string& name) const;
  };
  // What a node's meaning depends on beside itself: opset, and the attributes of the function it
  // stands in.
  struct Frame {
    std::int64_t opset = 0;
    std::map<std::string, const onnx::AttributeProto*> attributes;
    int depth = 0;  // of nested graphs and functions
  };

  void read_inputs(onnx::GraphProto& graph, Scope& scope);
  void import_nodes(const NodeProtos& nodes, const std::vector<std::string>& outputs, Scope& scope,
                    const Frame& frame);
  Values import_node(const onnx::NodeProto& node, const std::string& name, const Scope& scope,
                     const Frame& frame, const std::vector<bool>& wanted);
  Values import_branch(const onnx::GraphProto& graph, const Scope& scope, const Frame& frame);
  Values import_if(const onnx::NodeProto& node, const std::string& name, const Scope& scope,
                   const Frame& frame);
  Values import_function(const onnx::FunctionProto& function, const onnx::NodeProto& node,
                         const Scope& scope, const Frame& frame);
  // A result made inside is known outside by the outer tensor's name.
  void leave_names_to_caller(const Values& results, std::size_t first_inner);
  ValueId find(const std::string& tensor, const Scope& scope, const std::string& reader) const;
  const onnx::AttributeProto* resolve(const onnx::AttributeProto& attribute,
                                      const Frame& frame) const;
  std::string unique_name(const onnx::NodeProto& node);

  onnx::ModelProto& model_;
  const ImportOptions& options_;
  TensorReader reader_;
  Draft draft_;
  std::map<std::pair<std::string, std::string>, const onnx::FunctionProto*> functions_;
  std::unordered_map<std::string, int> names_;  // node name → last number appended
};

}  // namespace inlay
