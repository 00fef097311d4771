// The inputs of a run: what the user gave in files, or random numbers.
//
//   const RunInputs inputs = read_inputs(plan, {"x.npz", "mask=m.npy"}, /*seed=*/1, read_tensors);
//   executor.run(inputs.tensors);
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/base/tensor.h"
#include "core/plan/plan.h"

namespace inlay::cli {

// The tensors of a file by name, "" where it holds none: read_tensors, or what a program without
// ONNX can read.
using TensorReader = std::function<std::map<std::string, Tensor>(const std::filesystem::path&)>;

struct RunInputs {
  std::vector<Tensor> tensors;  // one per plan input
  // A line for each file that names no input and was taken for the next one.
  std::vector<std::string> notes;
};

//   texts  "FILE": its arrays go by their names, a nameless one (.npy, some .pb) to the first input
//          that has none yet; "NAME=FILE": its one array is input NAME. None: all random.
// throws  Error{kInvalidArgument} naming the file, the array found and the inputs expected; what
//         `reader` throws
RunInputs read_inputs(const Plan& plan, const std::vector<std::string>& texts, std::uint64_t seed,
                      const TensorReader& reader);

// By name, as write_npz takes them.
std::map<std::string, Tensor> by_input_name(const Plan& plan, const std::vector<Tensor>& tensors);

}  // namespace inlay::cli
