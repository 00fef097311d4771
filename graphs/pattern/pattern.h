// Patterns as one-line text, parsed to data, and one matcher for the patterns of all plugins.
//
//   const Pattern p = parse_pattern(
//       {.id = "mm_relu", .match = "Relu(MatMul(A,B))", .where = "A: f32[m,k]; B: const"});
//   const MatchReport r = match_patterns(graph, {p});  // r.matches, r.near_misses with reasons
//
// Grammar
//   match    := node
//   node     := [['^'] alias '='] ops ['?'] '(' operand {',' operand} ')'
//               '?': the node may be absent; its first operand takes its place
//               '^': a tap; its value may be read outside too, and is then the output port `alias`
//   fuse     := [most ':'] link {';' link}     what may follow the match, link after link
//   link     := node, whose operand '.' is the value so far; up to `most` of them, 4 unless given
//   ops      := Name | '[' Name {'|' Name} ']' | domain '.' Name
//   operand  := node | variable ['?']
//               '?': the operand may be omitted
//   where    := clause {';' clause}
//   clause   := var {',' var} ':' typeset ['[' dims ']'] ['const'|'dynamic'] | expr cmp expr
//   typeset  := dtype {'|' dtype} | 'any'
//   dims     := names, numbers, '_', '...' (any rest); a name repeated must match
//   expr     := dims, numbers, node.attribute, rank(X), has(Clip.min), with + - * / % on integers;
//               attributes may be lists: Conv.strides == [1,1]; floats compare exactly
//   cmp      := == != < <= > >=
//
// Alias as operand: Mul(c=Conv(X,W),Sigmoid(c)) reads one node twice. Of a fuse rule each length of
// the chain is a match. A link's last operator reads '.' itself; the value so far must be read by
// the link alone; its variables are none of the match's; its other operands are ports: Y, of
// further links Y.1, Y.2, … The clauses are checked for each link, with its own operands, and
// operator names standing for the latest node. An expr may also be value(X), the one value of a
// constant's elements; a list compared with a number compares each element. A dimension may be an
// expression: W: f32[o,c/Conv.group,3,3]. One unknown name in it is solved for: [o,c/g,3,3].
//
// Commutative operators match with their operands in either order; of several bindings of the same
// nodes the first that holds counts. A node inside a pattern other than the root must have the
// pattern's nodes as its only consumers and not be a graph output. Different variables stand for
// different values, and none for a value made inside the match. A clause about an operand, node or
// operator alternative that is not there holds.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graphs/ir/graph.h"

namespace inlay {

struct PatternNode;
struct Constraint;

// One layout variant: a layout per port, and the CPU features it needs.
struct LayoutVariant {
  std::map<std::string, std::string> layouts;  // port → layout text
  std::vector<std::string> cpu;                // "avx512f"; "!avx512f" must be absent
  bool operator==(const LayoutVariant&) const = default;
};

// The text of one pattern, as a manifest holds it.
struct PatternText {
  std::string id;
  std::string match;
  std::string fuse;
  // instead of match: any single node of these operators, ports "0", "1", …
  std::vector<std::string> ops;
  std::string where;
  std::string layouts;
  std::string alias;
  bool operator==(const PatternText&) const = default;
};

struct Pattern {
  std::string id;
  std::shared_ptr<const PatternNode> root;  // null for an ops pattern
  std::vector<std::shared_ptr<const PatternNode>> links;
  int most_links = 0;
  std::vector<std::string> ops;
  std::vector<std::shared_ptr<const Constraint>> constraints;
  // never empty: the all-dense variant stands first unless layouts say otherwise
  std::vector<LayoutVariant> variants;
  std::map<std::string, std::string> aliases;  // output port → input port
};

// throws  Error{kCorrupt} "pattern 'mm_relu': match, column 12: expected ',' or ')', found 'x'"
Pattern parse_pattern(const PatternText& text);

bool operator==(const Pattern& a, const Pattern& b);  // compares what is pointed to

// Inverse of parsing, for messages and fuzzing: parse_pattern(print_pattern(p)) equals p.
PatternText print_pattern(const Pattern& pattern);
std::string print_match(const Pattern& pattern);  // its match alone

struct Match {
  int pattern;                           // index into the list given
  std::vector<NodeId> nodes;             // topological order; the last is the root
  std::map<std::string, ValueId> ports;  // variables, taps and outputs ("out", "out1", …)
};

// The declared name of a match's port: Y of Y.1.
std::string declared_port(const std::string& port);

// A node where a pattern's operators fitted and a constraint did not: "k%16==0 fails: k=13".
struct NearMiss {
  int pattern;
  NodeId root;
  std::string reason;
};

struct MatchReport {
  std::vector<Match> matches;  // ordered by root, then pattern, then size
  std::vector<NearMiss> near_misses;
};

// All matches of all patterns, overlapping ones included. Near-linear in the graph for a fixed
// pattern list.
MatchReport match_patterns(const Graph& graph, const std::vector<Pattern>& patterns);

}  // namespace inlay
