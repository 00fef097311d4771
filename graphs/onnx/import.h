// Reads an ONNX file into a Graph: canonical operators, static shapes, constants folded.
//
//   ImportOptions options;
//   options.shapes["x"] = {1, 3, 48, 192};
//   options.evaluate = reference_evaluator(host);
//   const Imported imported = import_onnx("model.onnx", options);
//
// Accepts opset 7 upward, external data (mapped), unsorted nodes, empty or repeated node names,
// optional inputs, initializers with and without inputs. Every ONNX form of an operator becomes the
// one in docs/operators.md.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/region.h"
#include "graphs/ir/graph.h"

namespace inlay {

// Computes one operator on constants; nullopt if it cannot. Given by the caller, because operators'
// semantics live in the reference plugin, which graphs/ does not know.
using Evaluator = std::function<std::optional<std::vector<Tensor>>(const Region& region)>;

struct ImportOptions {
  std::map<std::string, Shape> shapes;  // input name → shape, binding symbolic dimensions
  std::map<std::string, Tensor>
      values;  // input name → value: a constant and no input; decides what an If does
  std::map<std::string, double> numbers;  // likewise; every element is the number, of the type that
                                          // the file declares
  Evaluator evaluate;  // without it nothing is folded, and a shape that needs folding is an error
  bool fold_batch_norm = true;  // and other scales and shifts; changes rounding
  bool sink_transposes = true;  // see sink_transposes.h
};

// What import changed, for `inlay import --show-changes`.
struct Rewrite {
  std::string kind;  // "fold-constant", "fold-batch-norm", "fold-scale", "fold-bias", "fold-pad",
                     // "remove-identity", "sink-transpose", "merge-equal", "remove-dead", …
  std::vector<std::string> nodes;
  bool changes_rounding = false;
};

struct Imported {
  Graph graph;
  std::vector<Rewrite> rewrites;
  int file_nodes = 0;
  std::int64_t opset = 0;
};

// throws  Error{kNotFound, kIo}; Error{kCorrupt} for a file that is not a well-formed model (what,
// where);
//         Error{kUnsupported} naming node, operator and opset; Error{kInvalidArgument} "input of
//         symbolic dimensions: 'x' [N, 3]; give each a size, for example: --shape x=1x3";
//         Error{kShapeMismatch} naming the node
Imported import_onnx(const std::filesystem::path& path, const ImportOptions& options);

// The same from bytes; `source` names them in messages and, without folder and ending, a graph
// whose own name tells nothing ("main_graph", "torch_jit"); `folder` resolves external data (empty:
// refused).
Imported import_onnx_bytes(std::span<const std::byte> bytes, const std::string& source,
                           const std::filesystem::path& folder, const ImportOptions& options);

}  // namespace inlay
