// Tensors in files of any kind that a user may have: NumPy's (numpy_files.h) and ONNX's .pb (one
// TensorProto).
//
//   const std::map<std::string, Tensor> inputs = read_tensors("inputs.npz");      // by array name
#pragma once

#include "search/cli/numpy_files.h"

namespace inlay::cli {

// .npy and .pb give one tensor, .npz one per member. The name is empty where the file holds none:
// in .npy always, in .pb sometimes. throws  what read_npy and read_npz do; Error{kUnsupported} for
// another ending
std::map<std::string, Tensor> read_tensors(const std::filesystem::path& path);

}  // namespace inlay::cli
