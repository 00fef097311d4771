#include "graphs/onnx/export_opset.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"

namespace inlay {
namespace {

// From the change logs of ONNX's operators.
struct NewAttribute {
  std::string_view op;
  std::string_view attribute;
  std::int64_t since;
  std::int64_t before;  // what older opsets do; a list is this number throughout
};
constexpr NewAttribute kNewAttributes[] = {
    {"AveragePool", "dilations", 19, 1}, {"LpPool", "dilations", 18, 1},
    {"LpPool", "ceil_mode", 18, 0},      {"Resize", "antialias", 18, 0},
    {"Cast", "saturate", 19, 1},         {"QuantizeLinear", "saturate", 19, 1},
};

struct NewText {
  std::string_view op;
  std::string_view attribute;
  std::string_view text;
  std::int64_t since;
};
constexpr NewText kNewTexts[] = {
    {"Pad", "mode", "wrap", 19},
    {"ScatterElements", "reduction", "max", 18},
    {"ScatterElements", "reduction", "min", 18},
    {"ScatterND", "reduction", "max", 18},
    {"ScatterND", "reduction", "min", 18},
    {"Resize", "coordinate_transformation_mode", "half_pixel_symmetric", 19},
};

struct NewOperator {
  std::string_view op;
  std::int64_t since;
};
constexpr NewOperator kNewOperators[] = {
    {"BitwiseAnd", 18}, {"BitwiseOr", 18}, {"BitwiseXor", 18}, {"BitwiseNot", 18}};

bool says(const Attribute& attribute, std::int64_t number) {
  if (const auto* value = std::get_if<std::int64_t>(&attribute)) return *value == number;
  const auto* list = std::get_if<std::vector<std::int64_t>>(&attribute);
  return list != nullptr &&
         std::all_of(list->begin(), list->end(), [&](std::int64_t v) { return v == number; });
}

Error needs(const Node& node, const std::string& what, std::int64_t since, std::int64_t opset) {
  return Error(Code::kUnsupported, fmt::format("{} '{}': {} needs opset {}, and opset {} is asked",
                                               node.op, node.name, what, since, opset));
}

}  // namespace

void check_opset(const Node& node, std::int64_t opset) {
  for (const NewOperator& rule : kNewOperators) {
    if (rule.op == node.op && opset < rule.since) throw needs(node, "it", rule.since, opset);
  }
}

Attributes attributes_of_opset(const Node& node, const Attributes& attributes, std::int64_t opset) {
  Attributes kept = attributes;
  for (const NewAttribute& rule : kNewAttributes) {
    const auto found = kept.find(rule.attribute);
    if (rule.op != node.op || opset >= rule.since || found == kept.end()) continue;
    if (!says(found->second, rule.before)) {
      throw needs(node, std::string(rule.attribute), rule.since, opset);
    }
    kept.erase(found);
  }
  for (const NewText& rule : kNewTexts) {
    const auto found = kept.find(rule.attribute);
    if (rule.op != node.op || opset >= rule.since || found == kept.end()) continue;
    const auto* text = std::get_if<std::string>(&found->second);
    if (text != nullptr && *text == rule.text) {
      throw needs(node, fmt::format("{} '{}'", rule.attribute, rule.text), rule.since, opset);
    }
  }
  return kept;
}

}  // namespace inlay
