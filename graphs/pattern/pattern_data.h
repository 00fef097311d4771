// What a parsed pattern consists of: plain data, comparable and printable.
//
//   const PatternNode& root = *pattern.root;          // Relu?(Conv(X,W,B?))
//   root.ops[0].name == "Relu"; root.is_optional; root.operands[0].node->operands[2].variable ==
//   "B"
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/dtype.h"

namespace inlay {

struct OpName {
  std::string domain;  // "" for ai.onnx
  std::string name;
  bool operator==(const OpName&) const = default;
};

struct PatternNode;

// Exactly one of `node` and `variable` is set. A variable that is some node's alias stands for that
// node's output.
struct PatternOperand {
  std::shared_ptr<const PatternNode> node;
  std::string variable;
  bool is_optional = false;  // variables only; a node carries its own flag
};

struct PatternNode {
  std::string alias;        // empty: none
  std::vector<OpName> ops;  // alternatives, never empty
  bool is_optional = false;
  bool is_tap = false;  // its value may be read outside, as the output port of its alias
  std::vector<PatternOperand> operands;
};

// The variable of a link that stands for what has been matched so far.
inline constexpr std::string_view kSoFar = ".";

bool operator==(const PatternOperand& a, const PatternOperand& b);
bool operator==(const PatternNode& a, const PatternNode& b);

// An expression of a constraint. `name` and `attribute` by kind:
//   kDim "k"; kAttribute node "Conv", attribute "group"; kRank, kValue, kHasPort port "X";
//   kHasAttribute as kAttribute
struct Expr {
  enum class Kind {
    kInt,
    kFloat,
    kString,
    kList,
    kDim,
    kAttribute,
    kRank,
    kValue,
    kHasAttribute,
    kHasPort,
    kNegate,
    kBinary,
  };
  Kind kind = Kind::kInt;
  std::int64_t number = 0;
  float real = 0;
  char op = 0;  // + - * / % of kBinary
  std::string name;
  std::string attribute;
  std::vector<Expr> args;
  bool operator==(const Expr&) const = default;
};

struct DimPattern {
  enum class Kind { kAny, kRest, kExpr };
  Kind kind = Kind::kAny;
  Expr expr;
  bool operator==(const DimPattern&) const = default;
};

enum class Constness { kEither, kConst, kDynamic };

// One clause: about ports if `ports` is not empty, else a comparison (an empty `comparison` asks
// for left != 0).
struct Constraint {
  std::vector<std::string> ports;
  std::vector<DType> dtypes;  // empty: any
  bool has_dims = false;
  std::vector<DimPattern> dims;
  Constness constness = Constness::kEither;

  Expr left;
  std::string comparison;
  Expr right;
  bool operator==(const Constraint&) const = default;
};

std::string to_string(const OpName& op);
std::string to_string(const Expr& expr);
std::string to_string(const Constraint& constraint);

}  // namespace inlay
