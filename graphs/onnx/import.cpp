#include "graphs/onnx/import.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <limits>
#include <string_view>

#include "core/base/file.h"
#include "graphs/onnx/importer.h"

namespace inlay {
namespace {

onnx::ModelProto parse(std::span<const std::byte> bytes) {
  if (bytes.empty()) throw Error(Code::kCorrupt, "the file is empty");
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw Error(Code::kCorrupt,
                "more than 2 GiB, which no ONNX file has: larger ones keep their "
                "tensors in files of their own");
  }
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetTotalBytesLimit(std::numeric_limits<int>::max());
  onnx::ModelProto model;
  if (!model.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    throw Error(Code::kCorrupt, "not an ONNX model, or one cut short");
  }
  if (!model.has_graph()) {
    throw Error(Code::kCorrupt, "not an ONNX model, or one cut short: it has no graph");
  }
  return model;
}

// Names that exporters give to every graph, and that tell nothing of this one.
bool is_meaningless(const std::string& name) {
  constexpr std::string_view kNames[] = {"",
                                         "graph",
                                         "main_graph",
                                         "main",
                                         "model",
                                         "torch_jit",
                                         "torch-jit-export",
                                         "torch_jit_export",
                                         "tf2onnx",
                                         "Model",
                                         "onnx_graph",
                                         "mxnet_converted_model",
                                         "PaddlePaddle Graph 0",
                                         "Extracted from {main_graph}"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

}  // namespace

Imported import_onnx_bytes(std::span<const std::byte> bytes, const std::string& source,
                           const std::filesystem::path& folder, const ImportOptions& options) {
  try {
    onnx::ModelProto model = parse(bytes);
    if (is_meaningless(model.graph().name())) {
      model.mutable_graph()->set_name(std::filesystem::path(source).stem().string());
    }
    return Importer(model, folder, options).run();
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", source, error.what()));
  }
}

Imported import_onnx(const std::filesystem::path& path, const ImportOptions& options) {
  const MappedFile file = map_file(path);
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  return import_onnx_bytes(file.bytes(), path.string(), folder, options);
}

}  // namespace inlay
