// The order in which to import the nodes of a graph: the file's, unless a producer stands after its
// consumer.
#pragma once

#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

#include "onnx/onnx.pb.h"

namespace inlay {

using NodeProtos = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

struct NodeOrder {
  std::vector<int> order;                 // indices into the nodes
  std::unordered_set<std::string> reads;  // tensors that some node reads, nested graphs included
};

// is_local  whether an input or initializer of this very graph has the name
// is_outer  whether a surrounding graph has it
// throws  Error{kCorrupt} for a tensor with two producers, for one that nothing produces, and for a
// cycle, naming node
//         and tensor
NodeOrder order_nodes(const NodeProtos& nodes,
                      const std::function<bool(const std::string&)>& is_local,
                      const std::function<bool(const std::string&)>& is_outer);

// "Conv 'c3'", or by its first output where it has no name.
std::string describe(const onnx::NodeProto& node);

}  // namespace inlay
