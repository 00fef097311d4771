// Whether a region is what a pattern declares. The host matches before it compiles; but plans are
// files, which people edit, and a kernel that trusts what it is given reads past its tensors. So
// INLAY_PLUGIN asks this before the plugin's compile:
//
//   require_declared(kPatterns, region);   // throws Decline("relu: X: expected f32")
//
// Checked are the operators, and of `where` the clauses about ports (dtype, extents, constness) and
// the comparisons, as far as their names are known: what this reader does not know (value(X), a
// list, an alias, an operator that stands in the region twice) holds. A region of no pattern's id
// is left to the plugin. Grammar: graphs/pattern/pattern.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/sdk/pattern.h"
#include "core/sdk/pattern_words.h"
#include "core/sdk/region.h"

namespace inlay::sdk {

// One pattern's clauses against one region.
class DeclaredCheck {
 public:
  DeclaredCheck(const Pattern& pattern, const RegionView& region)
      : pattern_(pattern), region_(region) {}

  void run() {
    check_operators();
    std::string_view rest = pattern_.where;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(';'), rest.size());
      check_clause(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }

 private:
  // Unknown is no failure: nullopt.
  using Number = std::optional<std::int64_t>;

  [[noreturn]] void decline(std::string_view clause) const {
    while (clause.starts_with(' ')) clause.remove_prefix(1);
    throw Decline(std::string(pattern_.id) + ": '" + std::string(clause) + "' does not hold");
  }

  static bool has_word(std::string_view text, std::string_view word) {
    for (Words words(text); !words.word().empty(); words.take()) {
      if (words.is(word)) return true;
    }
    return false;
  }

  void check_operators() const {
    const std::string_view lists[] = {pattern_.match, pattern_.fuse, pattern_.ops};
    const bool is_any = pattern_.any.opset != 0;
    for (int i = 0; i < region_.node_count(); ++i) {
      const NodeView node = region_.node(i);
      bool is_there = is_any && (std::string_view(pattern_.any.allow).empty() ||
                                 has_word(pattern_.any.allow, node.op()));
      if (is_any && has_word(pattern_.any.deny, node.op())) is_there = false;
      for (const std::string_view list : lists) is_there = is_there || has_word(list, node.op());
      const std::string_view domain = node.domain();
      const bool is_domain_known = domain.empty() || std::any_of(std::begin(lists), std::end(lists),
                                                                 [&](std::string_view l) {
                                                                   return l.find(domain) != l.npos;
                                                                 });
      if (is_there && is_domain_known) continue;
      throw Decline(std::string(pattern_.id) + ": has no operator '" + std::string(domain) +
                    (domain.empty() ? "" : ".") + std::string(node.op()) + "'");
    }
  }

  void check_clause(std::string_view clause) {
    // A clause about ports is names, commas and a colon.
    std::vector<std::string_view> ports;
    Words words(clause);
    while (words.is_name() || words.is_number()) {
      ports.push_back(words.take());
      if (words.take(",")) continue;
      if (!words.take(":")) break;
      check_ports(ports, words, clause);
      return;
    }
    check_comparison(clause);
  }

  // The values of a port: one, or of a fuse rule's port one for each link (Y, Y.1, …).
  std::vector<std::pair<ValueView, bool>> values_of(std::string_view port) const {
    std::vector<std::pair<ValueView, bool>> values;
    if (const auto value = region_.find_port(port)) values.emplace_back(*value, true);
    for (int n = 1;; ++n) {
      const auto value = region_.find_port(std::string(port) + "." + std::to_string(n));
      if (!value) return values;
      values.emplace_back(*value, false);
    }
  }

  void check_ports(const std::vector<std::string_view>& ports, const Words& given,
                   std::string_view clause) {
    for (const std::string_view port : ports) {
      for (const auto& [value, is_first] : values_of(port)) {
        Words words = given;
        bool fits = words.is("[") || words.is("const") || words.is("dynamic") || words.is("any");
        words.take("any");
        while (words.is_name() && !words.is("const") && !words.is("dynamic")) {
          fits = fits || words.is(dtype_name(value.dtype()));
          words.take();
          words.take("|");
        }
        if (!fits) decline(clause);
        if (words.take("[") && !check_extents(words, value, is_first)) decline(clause);
        if (words.is("const") && !value.is_constant()) decline(clause);
        if (words.is("dynamic") && value.is_constant()) decline(clause);
      }
    }
  }

  // binds  names of extents hold for the whole match, those of a link for the link
  bool check_extents(Words& words, const ValueView& value, bool binds) {
    int axis = 0;
    while (!words.is("]") && !words.word().empty()) {
      if (words.take("...")) {
        while (!words.take("]") && !words.word().empty()) words.take();
        return true;
      }
      if (axis >= value.rank()) return false;
      const std::int64_t extent = value.dim(axis++);
      if (words.is("_")) {
        words.take();
      } else {
        const std::string_view name = words.is_name() ? words.word() : std::string_view();
        const Number expected = sum(words);
        const bool is_end = words.is(",") || words.is("]");
        if (expected && is_end && *expected != extent) return false;
        // A name alone is bound by its first extent.
        if (!expected && binds && !name.empty() && last_was_name_)
          extents_[std::string(name)] = extent;
      }
      words.take(",");
    }
    words.take("]");
    return axis == value.rank();
  }

  void check_comparison(std::string_view clause) {
    Words words(clause);
    const Number left = sum(words);
    const std::string_view comparison = words.take();
    if (!left || comparison.empty() || !(words.is_name() || words.is_number() || words.is("-")))
      return;
    const Number right = sum(words);
    if (!right || !words.word().empty()) return;
    const bool holds = comparison == "=="   ? *left == *right
                       : comparison == "!=" ? *left != *right
                       : comparison == "<"  ? *left < *right
                       : comparison == "<=" ? *left <= *right
                       : comparison == ">"  ? *left > *right
                       : comparison == ">=" ? *left >= *right
                                            : true;
    if (!holds) decline(clause);
  }

  Number sum(Words& words) {
    Number value = product(words);
    while (words.is("+") || words.is("-")) {
      const bool is_plus = words.take() == "+";
      const Number other = product(words);
      value = value && other ? Number(is_plus ? *value + *other : *value - *other) : std::nullopt;
      last_was_name_ = false;
    }
    return value;
  }

  Number product(Words& words) {
    Number value = factor(words);
    while (words.is("*") || words.is("/") || words.is("%")) {
      const std::string_view op = words.take();
      const Number other = factor(words);
      last_was_name_ = false;
      if (!value || !other || (op != "*" && *other == 0)) {
        value.reset();
      } else {
        value = op == "*" ? *value * *other : op == "/" ? *value / *other : *value % *other;
      }
    }
    return value;
  }

  Number factor(Words& words) {
    last_was_name_ = false;
    if (words.take("-")) {
      const Number value = factor(words);
      return value ? Number(-*value) : std::nullopt;
    }
    if (words.take("(")) {
      const Number value = sum(words);
      words.take(")");
      last_was_name_ = false;
      return value;
    }
    if (words.is_number()) {
      std::int64_t number = 0;
      for (const char c : words.take()) {
        if (c < '0' || c > '9') return std::nullopt;
        number = number * 10 + (c - '0');
      }
      return words.is(".") ? std::nullopt : Number(number);  // not a float's beginning
    }
    const std::string name(words.take());
    if (words.take("(")) return call(name, words);
    if (words.take(".")) return attribute(name, words.take());
    last_was_name_ = true;
    const auto known = extents_.find(name);
    return known == extents_.end() ? std::nullopt : Number(known->second);
  }

  Number call(const std::string& function, Words& words) const {
    const std::string_view port = words.take();
    while (!words.take(")") && !words.word().empty()) words.take();
    const auto value = region_.find_port(port);
    return function == "rank" && value ? Number(value->rank()) : std::nullopt;
  }

  Number attribute(const std::string& op, std::string_view name) const {
    std::optional<NodeView> found;
    for (int i = 0; i < region_.node_count(); ++i) {
      if (region_.node(i).op() != op) continue;
      if (found) return std::nullopt;
      found = region_.node(i);
    }
    constexpr std::int64_t kAbsent = INT64_MIN;
    if (!found) return std::nullopt;
    const std::int64_t value = found->get_int(name, kAbsent);
    return value == kAbsent ? std::nullopt : Number(value);
  }

  const Pattern& pattern_;
  const RegionView& region_;
  std::map<std::string, std::int64_t> extents_;
  bool last_was_name_ = false;
};

// throws  Decline naming pattern and clause
inline void require_declared(std::span<const Pattern> patterns, const RegionView& region) {
  for (const Pattern& pattern : patterns) {
    if (region.pattern() == pattern.id) DeclaredCheck(pattern, region).run();
  }
}

}  // namespace inlay::sdk
