// Writes a Graph as an ONNX file, for other runtimes and for whole-engine plugins. Operators that
// the opset lacks are written out as simpler ones, the way exporters do: below 20 Gelu, below 18
// Mish, below 17 LayerNormalization.
//
//   export_onnx(graph, "resnet50.onnx");        // weights inside up to 1.5 GB, else beside it in
//   resnet50.onnx.data
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "graphs/ir/graph.h"

namespace inlay {

inline constexpr std::int64_t kOldestExportOpset = 16;
inline constexpr std::int64_t kNewestExportOpset = 20;

// opset   from kOldestExportOpset to kNewestExportOpset
// throws  Error{kIo}; Error{kUnsupported} naming an operator that has no form in the opset, or for
//         another opset. The file is written whole or not at all.
void export_onnx(const Graph& graph, const std::filesystem::path& path,
                 std::int64_t opset = kNewestExportOpset);

// The same as bytes, everything inside.
// throws  Error{kUnsupported} also above 2 GiB, protobuf's limit
std::string export_onnx_bytes(const Graph& graph, std::int64_t opset = kNewestExportOpset);

// The same without the graph's constants: what reads them names initializers that are not there,
// for whoever has the bytes anyway to add.
std::string export_onnx_structure(const Graph& graph, std::int64_t opset = kNewestExportOpset);

// Why a node has no form in the opset, by node; empty texts where it has one.
std::vector<std::string> unwritable_nodes(const Graph& graph, std::int64_t opset);

}  // namespace inlay
