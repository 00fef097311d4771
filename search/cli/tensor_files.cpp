#include "search/cli/tensor_files.h"

#include <fmt/format.h>

#include "graphs/onnx/tensor_file.h"

namespace inlay::cli {

std::map<std::string, Tensor> read_tensors(const std::filesystem::path& path) {
  const std::string ending = path.extension();
  if (ending == ".npz") return read_npz(path);
  if (ending == ".npy") return {{"", read_npy(path)}};
  if (ending == ".pb") {
    NamedTensor named = read_tensor_file(path);
    return {{std::move(named.name), std::move(named.tensor)}};
  }
  throw Error(Code::kUnsupported,
              fmt::format("{}: expected a file ending in .npy, .npz or .pb", path.string()));
}

}  // namespace inlay::cli
