// The inputs of a run: what the user gave in files, or random numbers.
//
//   const RunInputs inputs = read_inputs(plan, {"x.npz", "mask=m.npy"}, /*seed=*/1);
//   executor.run(inputs.tensors);
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/base/tensor.h"
#include "core/plan/plan.h"

namespace inlay::cli {

struct RunInputs {
  std::vector<Tensor> tensors;  // one per plan input
  // A line for each file that names no input and was taken for the next one.
  std::vector<std::string> notes;
};

//   texts  "FILE": its arrays go by their names, a nameless one (.npy, some .pb) to the first input
//          that has none yet; "NAME=FILE": its one array is input NAME. None: all random.
// throws  Error{kInvalidArgument} naming the file, the array found and the inputs expected; what
//         read_tensors throws
RunInputs read_inputs(const Plan& plan, const std::vector<std::string>& texts, std::uint64_t seed);

// By name, as write_npz takes them.
std::map<std::string, Tensor> by_input_name(const Plan& plan, const std::vector<Tensor>& tensors);

}  // namespace inlay::cli
