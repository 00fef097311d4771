// Parses the `where` of a pattern.
//
//   TokenStream tokens(id, "where", "A: f32[m,k]; B: f32[k,n] const; k%16==0");
//   std::vector<Constraint> clauses = parse_clauses(tokens, names);
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graphs/pattern/lexer.h"
#include "graphs/pattern/pattern_data.h"

namespace inlay {

// The names that a pattern's operator tree defines.
struct PatternNames {
  std::set<std::string> ports;       // variables
  std::map<std::string, int> nodes;  // alias or operator → how many nodes it may mean
  bool has_numbered_ports = false;   // an ops pattern: "0", "1", …
};

bool is_number(std::string_view text);
bool is_output_port(std::string_view text);  // out, out1, out2, …

// throws  Error{kCorrupt} with the column; also for a port, dimension or node that the pattern does
// not have
std::vector<Constraint> parse_clauses(TokenStream& tokens, const PatternNames& names);

}  // namespace inlay
