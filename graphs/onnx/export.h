// Writes a Graph as an ONNX file of opset 20, for other runtimes and for whole-engine plugins.
//
//   export_onnx(graph, "resnet50.onnx");        // weights inside up to 1.5 GB, else beside it in
//   resnet50.onnx.data
#pragma once

#include <filesystem>
#include <string>

#include "graphs/ir/graph.h"

namespace inlay {

// throws  Error{kIo}; Error{kUnsupported} naming an operator that has no ONNX form. The file is
// written whole or not at all.
void export_onnx(const Graph& graph, const std::filesystem::path& path);

// The same as bytes, everything inside.
// throws  Error{kUnsupported} also above 2 GiB, protobuf's limit
std::string export_onnx_bytes(const Graph& graph);

}  // namespace inlay
