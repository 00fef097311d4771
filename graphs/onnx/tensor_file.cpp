#include "graphs/onnx/tensor_file.h"

#include <fmt/format.h>

#include <limits>

#include "graphs/onnx/tensor_proto.h"

namespace inlay {

NamedTensor read_tensor_file(const std::filesystem::path& path) {
  const MappedFile file = map_file(path);
  onnx::TensorProto proto;
  const bool fits = file.size_bytes <= static_cast<std::size_t>(std::numeric_limits<int>::max());
  if (!fits || file.size_bytes == 0 ||
      !proto.ParseFromArray(file.data.get(), static_cast<int>(file.size_bytes))) {
    throw Error(Code::kCorrupt, fmt::format("{}: expected an ONNX TensorProto", path.string()));
  }
  TensorReader reader(path.parent_path());
  return {proto.name(),
          reader.take(proto, fmt::format("{}: tensor '{}'", path.string(), proto.name()))};
}

}  // namespace inlay
