// What operators take: types and attributes that make one node of each canonical operator, drawn at
// random. Only for samples; whether a node is valid says graphs/ir/infer.h.
//
//   NodeDraft draft{.op = "Conv"};
//   draft.known.push_back(suggest_operand(draft, draw));    // X
//   draft.known.push_back(suggest_operand(draft, draw));    // W, which fits X
//   complete_attributes(draft, draw);
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/attribute.h"
#include "core/base/rng.h"
#include "core/base/tensor.h"
#include "search/check/samples.h"

namespace inlay::check {

struct Draw {
  Rng& rng;
  SampleKind kind;

  std::int64_t extent();  // of a dimension
  std::int64_t between(std::int64_t low, std::int64_t high);
  bool chance(double probability) { return rng.uniform() < probability; }
};

struct NodeDraft {
  std::string op;
  Attributes attributes;
  std::vector<std::optional<TensorType>> known;  // operands so far; nullopt: left out
  std::optional<TensorType> wanted;              // of the output, where a consumer wants one
  bool is_variadic_done = false;
};

// How many operands a node of this operator is given, optional ones drawn.
int draw_operand_count(const std::string& op, Draw& draw);

// Attributes that operands depend on (Conv's group, axes of a scatter).
void begin_attributes(NodeDraft& draft, Draw& draw);

// A type for operand known.size().
TensorType suggest_operand(const NodeDraft& draft, Draw& draw);

// Attributes that depend on the operands; those that are there already stay.
void complete_attributes(NodeDraft& draft, Draw& draw);

int draw_output_count(const NodeDraft& draft, Draw& draw);

// For operators whose output's type is theirs to say (Reshape, Expand); else nullopt.
std::optional<TensorType> draw_output_type(const NodeDraft& draft, Draw& draw);

// Elements for operand `position`, a constant: indices that exist, variances that are positive.
Tensor draw_constant(const NodeDraft& draft, std::size_t position, const TensorType& type,
                     Draw& draw);

// True for operands that are nearly always constants: weights, scales, indices.
bool is_often_constant(const std::string& op, std::size_t position);

}  // namespace inlay::check
