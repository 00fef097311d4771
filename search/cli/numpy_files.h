// Tensors in NumPy's files, .npy and .npz.
//
//   const std::map<std::string, Tensor> inputs = read_npz("inputs.npz");      // by array name
//   write_npz("out.npz", {{"y", tensor}});
//
// Source: NumPy's format note,
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/base/tensor.h"

namespace inlay::cli {

// Arrays in Fortran order are read too, and are C-ordered then.
// throws  Error{kNotFound, kIo}; Error{kUnsupported} for an element type without a DType;
//         Error{kCorrupt} where header and size do not agree, for an archive without arrays or with
//         two of one name ("x" and "x.npy" are); Error{kNoMemory}
Tensor read_npy(const std::filesystem::path& path);
std::map<std::string, Tensor> read_npz(const std::filesystem::path& path);

// throws  Error{kInvalidArgument} for a name that an archive cannot hold; Error{kIo}
// Written whole or not at all. bf16, which NumPy lacks, is written as u16.
void write_npy(const std::filesystem::path& path, const Tensor& tensor);
void write_npz(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors);

}  // namespace inlay::cli
