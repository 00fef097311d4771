// Well-known networks built in code, architecture-exact, with seeded He-scaled weights: no
// download, and activations that neither vanish nor saturate.
//
//   const Graph graph = build_zoo_model("resnet50", {.image_size = 224, .seed = 1});
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "graphs/ir/graph.h"

namespace inlay {

struct ZooOptions {
  int batch = 1;
  int image_size = 0;       // pixels, square; 0: the published size (vision models)
  int sequence_length = 0;  // tokens; 0: the model's default (language models)
  int nodes = 0;            // of the graph; 0: the published number (graph networks)
  std::uint64_t seed = 1;
};

struct ZooModel {
  std::string_view name;         // "resnet50"
  std::string_view description;  // one line
  std::string_view source;       // the paper
  double parameters;             // published count, batch-norm statistics not counted
  double flops;  // published, a multiply-add counted as two, at the default size and batch 1
  double data_numbers = 0;  // float constants that are data and no parameters: a graph's adjacency
};

std::span<const ZooModel> zoo_models();

// throws  Error{kNotFound} listing the names; Error{kInvalidArgument} for a size the architecture
//         cannot take
Graph build_zoo_model(std::string_view name, const ZooOptions& options = {});

// Parameters (float constants but single numbers and batch-norm statistics) and multiply-adds x 2
// of any graph's Conv, ConvTranspose, MatMul, Gemm, LSTM, GRU.
std::int64_t count_parameters(const Graph& graph);
double count_flops(const Graph& graph);
double count_flops(const Graph& graph, const Node& node);  // of one node

}  // namespace inlay
