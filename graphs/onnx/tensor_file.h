// One tensor in a file of its own: a serialised TensorProto, as ONNX's test data have it.
//
//   const NamedTensor input = read_tensor_file("test_data_set_0/input_0.pb");
#pragma once

#include <filesystem>
#include <string>

#include "core/base/tensor.h"

namespace inlay {

struct NamedTensor {
  std::string name;  // may be empty
  Tensor tensor;
};

// throws  Error{kNotFound, kIo}; Error{kCorrupt} if it is not a TensorProto; Error{kUnsupported}
// for its element type
NamedTensor read_tensor_file(const std::filesystem::path& path);

}  // namespace inlay
