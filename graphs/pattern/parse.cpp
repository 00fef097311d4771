#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "core/base/error.h"
#include "core/base/layout.h"
#include "graphs/pattern/clause_parser.h"
#include "graphs/pattern/lexer.h"
#include "graphs/pattern/pattern.h"
#include "graphs/pattern/pattern_data.h"

namespace inlay {
namespace {

// A pattern is a kernel's worth of operators; deeper nesting is a mistake, and would cost the
// parser's stack.
constexpr int kMaxDepth = 64;
// 2^k forms of a pattern with k optional nodes are matched.
constexpr int kMaxOptionalNodes = 6;
// Each length of a fused chain is a candidate of its own, to be measured.
constexpr int kUsualLinks = 4;
constexpr int kMaxLinks = 16;

class MatchParser {
 public:
  explicit MatchParser(TokenStream& tokens, bool is_link = false)
      : tokens_(tokens), is_link_(is_link) {}

  std::shared_ptr<const PatternNode> parse() {
    std::shared_ptr<const PatternNode> root = parse_node(0);
    if (!tokens_.at_end()) tokens_.fail_expected("the end");
    return root;
  }

  // most ':' link ';' link …
  std::vector<std::shared_ptr<const PatternNode>> parse_links(int* most) {
    *most = kUsualLinks;
    if (tokens_.peek().kind == Token::Kind::kInt) {
      const Token number = tokens_.next();
      if (number.number < 1 || number.number > kMaxLinks) {
        tokens_.fail(number.column,
                     fmt::format("expected 1 to {} links, found {}", kMaxLinks, number.text));
      }
      *most = static_cast<int>(number.number);
      tokens_.expect_symbol(":");
    }
    std::vector<std::shared_ptr<const PatternNode>> links;
    do {
      const int column = tokens_.peek().column;
      links.push_back(parse_node(0));
      const PatternNode& link = *links.back();
      const bool is_attached =
          std::any_of(link.operands.begin(), link.operands.end(),
                      [](const PatternOperand& operand) { return operand.variable == kSoFar; });
      if (!is_attached) tokens_.fail(column, "a link's last operator must read '.'");
      if (link.is_optional) tokens_.fail(column, "a link is optional as it is");
    } while (tokens_.accept_symbol(";"));
    if (!tokens_.at_end()) tokens_.fail_expected("the end");
    return links;
  }

 private:
  OpName parse_op() {
    OpName op{"", tokens_.expect(Token::Kind::kName, "an operator").text};
    while (tokens_.accept_symbol(".")) {
      op.domain += (op.domain.empty() ? "" : ".") + op.name;
      op.name = tokens_.expect(Token::Kind::kName, "an operator").text;
    }
    return op;
  }

  std::shared_ptr<const PatternNode> parse_node(int depth) {
    if (depth > kMaxDepth) tokens_.fail(tokens_.peek().column, "nested too deeply");
    auto node = std::make_shared<PatternNode>();
    if (tokens_.accept_symbol("^")) {
      if (is_link_) tokens_.fail(tokens_.peek().column, "a link has no taps");
      node->is_tap = true;
      if (!tokens_.at_symbol("=", 1)) tokens_.fail_expected("the tap's name and '='");
    }
    if (tokens_.at_symbol("=", 1) && tokens_.peek().kind == Token::Kind::kName) {
      node->alias = tokens_.next().text;
      tokens_.next();
    }
    if (tokens_.accept_symbol("[")) {
      do node->ops.push_back(parse_op());
      while (tokens_.accept_symbol("|"));
      tokens_.expect_symbol("]");
    } else {
      node->ops.push_back(parse_op());
    }
    node->is_optional = tokens_.accept_symbol("?");
    optional_nodes_ += node->is_optional ? 1 : 0;
    if (optional_nodes_ > kMaxOptionalNodes) {
      tokens_.fail(tokens_.peek().column,
                   fmt::format("more than {} optional nodes", kMaxOptionalNodes));
    }
    tokens_.expect_symbol("(");
    do node->operands.push_back(parse_operand(depth));
    while (tokens_.accept_symbol(","));
    if (!tokens_.accept_symbol(")")) tokens_.fail_expected("',' or ')'");
    return node;
  }

  PatternOperand parse_operand(int depth) {
    PatternOperand operand;
    const bool starts_node = tokens_.at_symbol("[") || tokens_.at_symbol("^") ||
                             tokens_.at_symbol("=", 1) || tokens_.at_symbol("(", 1) ||
                             tokens_.at_symbol(".", 1) ||
                             (tokens_.at_symbol("?", 1) && tokens_.at_symbol("(", 2));
    if (starts_node) {
      operand.node = parse_node(depth + 1);
      return operand;
    }
    if (is_link_ && tokens_.accept_symbol(kSoFar)) {
      operand.variable = std::string(kSoFar);
      return operand;
    }
    operand.variable = tokens_.expect(Token::Kind::kName, "an operator or a variable").text;
    operand.is_optional = tokens_.accept_symbol("?");
    return operand;
  }

  TokenStream& tokens_;
  bool is_link_;
  int optional_nodes_ = 0;
};

// Names that the rest of a pattern may use, and the checks that need the whole operator tree.
struct TreeSurvey {
  PatternNames names;
  std::map<std::string, const PatternNode*> by_alias;
  std::set<std::string> taps;

  void collect(const PatternNode& node) {
    if (!node.alias.empty()) {
      by_alias[node.alias] = &node;
      ++names.nodes[node.alias];
      if (node.is_tap) taps.insert(node.alias);
    }
    std::set<std::string> ops;
    for (const OpName& op : node.ops) ops.insert(op.name);
    ops.erase(node.alias);
    for (const std::string& op : ops) ++names.nodes[op];
    for (const PatternOperand& operand : node.operands) {
      if (operand.node) {
        collect(*operand.node);
      } else {
        names.ports.insert(operand.variable);
      }
    }
  }

  // Follows references too: an alias that is used inside its own node would be a cycle. `open`
  // marks the path.
  bool has_cycle(const PatternNode& node, std::map<const PatternNode*, int>& mark) const {
    int& state = mark[&node];
    if (state != 0) return state == 1;
    state = 1;
    for (const PatternOperand& operand : node.operands) {
      const auto it = operand.node ? by_alias.end() : by_alias.find(operand.variable);
      const PatternNode* next = operand.node           ? operand.node.get()
                                : it != by_alias.end() ? it->second
                                                       : nullptr;
      if (next != nullptr && has_cycle(*next, mark)) return true;
    }
    mark[&node] = 2;
    return false;
  }
};

[[noreturn]] void fail(const std::string& id, const std::string& field,
                       const std::string& message) {
  throw Error(Code::kCorrupt, fmt::format("pattern '{}': {}: {}", id, field, message));
}

void check_references(const std::string& id, const std::string& field, const PatternNode& node,
                      TreeSurvey& survey) {
  for (const PatternOperand& operand : node.operands) {
    if (operand.node) {
      check_references(id, field, *operand.node, survey);
      continue;
    }
    const auto it = survey.by_alias.find(operand.variable);
    if (it == survey.by_alias.end()) continue;
    survey.names.ports.erase(operand.variable);
    if (operand.is_optional || it->second->is_optional) {
      fail(id, field, fmt::format("'{}' is read twice and cannot be optional", operand.variable));
    }
  }
}

PatternNames survey_tree(const std::string& id, const std::string& field, const PatternNode& root) {
  TreeSurvey survey;
  survey.collect(root);
  for (const auto& [alias, node] : survey.by_alias) {
    if (survey.names.nodes[alias] > 1) {
      fail(id, field, fmt::format("'{}' names two nodes", alias));
    }
  }
  std::map<const PatternNode*, int> mark;
  if (survey.has_cycle(root, mark)) fail(id, field, "a node reads its own output");
  check_references(id, field, root, survey);
  if (root.is_tap) fail(id, field, fmt::format("'{}': the root is an output as it is", root.alias));
  survey.names.ports.insert(survey.taps.begin(), survey.taps.end());
  for (const std::string& port : survey.names.ports) {
    if (port == "_" || is_output_port(port)) {
      fail(id, field, fmt::format("'{}' cannot name a variable", port));
    }
  }
  return survey.names;
}

PatternNames survey_match(const std::string& id, const PatternNode& root) {
  PatternNames names = survey_tree(id, "match", root);
  const PatternNode* top = &root;
  while (top->is_optional) {
    if (!top->operands[0].node) fail(id, "match", "the last remaining node cannot be optional");
    top = top->operands[0].node.get();
  }
  return names;
}

// An operator that several links have is one name: that of the latest link.
void survey_links(const std::string& id,
                  const std::vector<std::shared_ptr<const PatternNode>>& links,
                  PatternNames& names) {
  std::set<std::string> nodes;
  std::set<std::string> ports;
  for (const auto& link : links) {
    const PatternNames of_link = survey_tree(id, "fuse", *link);
    for (const std::string& port : of_link.ports) {
      if (port == kSoFar) continue;
      if (names.ports.contains(port) || names.nodes.contains(port)) {
        fail(id, "fuse", fmt::format("'{}' means something in the match already", port));
      }
      ports.insert(port);
    }
    for (const auto& [node, count] : of_link.nodes) nodes.insert(node);
  }
  for (const std::string& node : nodes) ++names.nodes[node];
  names.ports.insert(ports.begin(), ports.end());
}

bool is_port(const PatternNames& names, const std::string& port) {
  return names.ports.contains(port) || is_output_port(port) ||
         (names.has_numbered_ports && is_number(port));
}

LayoutVariant parse_variant(const std::string& id, const PatternNames& names,
                            const std::string& text) {
  LayoutVariant variant;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (word == "dense") continue;
    if (word[0] == '@') {
      const std::string feature = word.substr(1);
      if (feature.empty() || feature == "!") fail(id, "layouts", "'@' without a CPU feature");
      variant.cpu.push_back(feature);
      continue;
    }
    const std::size_t colon = word.find(':');
    if (colon == std::string::npos) {
      fail(id, "layouts", fmt::format("expected port:layout or @feature, found '{}'", word));
    }
    const std::string port = word.substr(0, colon);
    const std::string layout = word.substr(colon + 1);
    if (!is_port(names, port)) fail(id, "layouts", fmt::format("unknown port '{}'", port));
    if (layout != "dense" && !parse_layout(layout)) {
      fail(id, "layouts", fmt::format("port '{}': '{}' is not a layout", port, layout));
    }
    if (!variant.layouts.emplace(port, layout).second) {
      fail(id, "layouts", fmt::format("port '{}' has two layouts", port));
    }
  }
  return variant;
}

std::vector<LayoutVariant> parse_layouts(const std::string& id, const PatternNames& names,
                                         const std::string& text) {
  std::vector<LayoutVariant> variants;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t bar = text.find('|', begin);
    variants.push_back(parse_variant(id, names, text.substr(begin, bar - begin)));
    if (bar == std::string::npos) return variants;
    begin = bar + 1;
  }
}

std::map<std::string, std::string> parse_alias(const std::string& id, const PatternNames& names,
                                               const std::string& text) {
  std::map<std::string, std::string> aliases;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::size_t equal = word.find('=');
    if (equal == std::string::npos) {
      fail(id, "alias", fmt::format("expected output=input, found '{}'", word));
    }
    const std::string output = word.substr(0, equal);
    const std::string input = word.substr(equal + 1);
    if (!is_output_port(output)) fail(id, "alias", fmt::format("'{}' is not an output", output));
    if (is_output_port(input) || !is_port(names, input)) {
      fail(id, "alias", fmt::format("'{}' is not an input", input));
    }
    if (!aliases.emplace(output, input).second) {
      fail(id, "alias", fmt::format("output '{}' is listed twice", output));
    }
  }
  return aliases;
}

PatternNames survey_ops(const std::string& id, const std::vector<std::string>& ops) {
  PatternNames names;
  names.has_numbered_ports = true;
  for (const std::string& op : ops) {
    TokenStream tokens(id, "ops", op);
    std::string name = tokens.expect(Token::Kind::kName, "an operator").text;
    while (tokens.accept_symbol(".")) name = tokens.expect(Token::Kind::kName, "an operator").text;
    if (!tokens.at_end()) tokens.fail_expected("the end");
    names.nodes[name] = 1;
  }
  return names;
}

}  // namespace

Pattern parse_pattern(const PatternText& text) {
  Pattern pattern;
  pattern.id = text.id;
  PatternNames names;
  if (text.match.empty() == text.ops.empty()) {
    fail(text.id, "match", "exactly one of match and ops is needed");
  }
  if (text.match.empty() && !text.fuse.empty()) fail(text.id, "fuse", "only with match");
  if (text.match.empty()) {
    pattern.ops = text.ops;
    names = survey_ops(text.id, text.ops);
  } else {
    TokenStream tokens(text.id, "match", text.match);
    pattern.root = MatchParser(tokens).parse();
    names = survey_match(text.id, *pattern.root);
    if (!text.fuse.empty()) {
      TokenStream links(text.id, "fuse", text.fuse);
      pattern.links = MatchParser(links, true).parse_links(&pattern.most_links);
      survey_links(text.id, pattern.links, names);
    }
  }
  TokenStream tokens(text.id, "where", text.where);
  for (Constraint& constraint : parse_clauses(tokens, names)) {
    pattern.constraints.push_back(std::make_shared<const Constraint>(std::move(constraint)));
  }
  pattern.variants = parse_layouts(text.id, names, text.layouts);
  pattern.aliases = parse_alias(text.id, names, text.alias);
  return pattern;
}

}  // namespace inlay
