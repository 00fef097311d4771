#include "core/plan/plan_text.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/plan/plan_words.h"

namespace inlay {
namespace {

using Json = nlohmann::ordered_json;

// Names in a model may be any bytes; JSON holds UTF-8 only, so others are written as {"hex":
// "ff00"}.
Json text_json(const std::string& text) {
  try {
    static_cast<void>(Json(text).dump());
    return text;
  } catch (const Json::type_error&) {
    return {{"hex", to_hex(std::as_bytes(std::span(text)))}};
  }
}

Json texts_json(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back(text_json(text));
  return list;
}

// The shortest decimal that reads back as the same float; JSON has no infinities, so these are
// words.
Json float_json(float value) {
  const std::string text = fmt::format("{}", value);
  if (!std::isfinite(value)) return text;
  const double shortest = std::strtod(text.c_str(), nullptr);
  return static_cast<float>(shortest) == value ? shortest : static_cast<double>(value);
}

Json tensor_json(const Tensor& tensor) {
  return {{"type", to_string(tensor.type())}, {"bytes", to_hex(tensor.bytes())}};
}

Json attribute_json(const Attribute& attribute) {
  struct Writer {
    Json operator()(std::int64_t v) const { return {{"int", v}}; }
    Json operator()(float v) const { return {{"float", float_json(v)}}; }
    Json operator()(const std::string& v) const { return {{"string", text_json(v)}}; }
    Json operator()(const std::vector<std::int64_t>& v) const { return {{"ints", v}}; }
    Json operator()(const std::vector<float>& v) const {
      Json list = Json::array();
      for (const float element : v) list.push_back(float_json(element));
      return {{"floats", std::move(list)}};
    }
    Json operator()(const std::vector<std::string>& v) const {
      return {{"strings", texts_json(v)}};
    }
    Json operator()(const Tensor& v) const { return {{"tensor", tensor_json(v)}}; }
  };
  return std::visit(Writer{}, attribute);
}

Json plugin_json(const PlanPlugin& plugin) {
  return {{"name", text_json(plugin.name)},
          {"version", text_json(plugin.version)},
          {"build_id", text_json(plugin.build_id)},
          {"device", text_json(plugin.device)},
          {"fingerprint", text_json(plugin.fingerprint)}};
}

Json constant_json(const PlanConstant& constant) {
  return {{"name", text_json(constant.name)},
          {"type", to_string(constant.type)},
          {"hash", constant.hash.hex()},
          {"offset_bytes", constant.offset_bytes},
          {"size_bytes", constant.size_bytes}};
}

Json region_value_json(const RegionValue& value) {
  Json json = {{"name", text_json(value.name)}};
  if (!value.port.empty()) json["port"] = text_json(value.port);
  json["type"] = to_string(value.type);
  json["layout"] = value.layout.text();
  if (value.is_constant) json["constant"] = true;
  if (value.constant) json["bytes"] = to_hex(value.constant->bytes());
  return json;
}

Json node_json(const RegionNode& node) {
  Json json = {{"name", text_json(node.name)}};
  if (!node.domain.empty()) json["domain"] = text_json(node.domain);
  json["op"] = text_json(node.op);
  json["inputs"] = node.inputs;
  json["outputs"] = node.outputs;
  if (!node.attributes.empty()) {
    // Pairs rather than an object: a name may be any bytes, a key may not.
    Json attributes = Json::array();
    for (const auto& [name, attribute] : node.attributes) {
      attributes.push_back(Json::array({text_json(name), attribute_json(attribute)}));
    }
    json["attributes"] = std::move(attributes);
  }
  return json;
}

template <typename T, typename Writer>
Json list_json(const std::vector<T>& items, const Writer& writer) {
  Json list = Json::array();
  for (const T& item : items) list.push_back(writer(item));
  return list;
}

Json region_json(const Region& region) {
  Json json = {{"pattern", text_json(region.pattern)},
               {"values", list_json(region.values, region_value_json)},
               {"nodes", list_json(region.nodes, node_json)},
               {"inputs", region.inputs},
               {"outputs", region.outputs}};
  if (region.most_threads != 0) json["most_threads"] = region.most_threads;
  return json;
}

Json value_json(const PlanValue& value) {
  Json json = {{"name", text_json(value.name)},
               {"type", to_string(value.type)},
               {"layout", value.layout.text()},
               {"space", text_json(value.space)},
               {"storage", word_of(value.storage)}};
  if (value.storage == Storage::kTemporary) json["offset_bytes"] = value.offset_bytes;
  if (!value.parts.empty()) json["parts"] = value.parts;
  if (value.storage == Storage::kView) json["view_of"] = value.view_of;
  if (value.storage == Storage::kConstant) json["constant"] = value.constant;
  return json;
}

Json step_json(const PlanStep& step) {
  Json json = {{"kind", word_of(step.kind)}};
  if (step.kind == StepKind::kRun) {
    json["plugin"] = step.plugin;
    json["region"] = step.region;
  }
  json["inputs"] = step.inputs;
  json["outputs"] = step.outputs;
  if (step.kind == StepKind::kRun) json["constants"] = step.constants;
  json["nodes"] = texts_json(step.nodes);
  return json;
}

Json plan_json(const Plan& plan) {
  return {{"format", kPlanFormat},
          {"model", text_json(plan.model)},
          {"model_hash", text_json(plan.model_hash)},
          {"threads", plan.threads},
          {"arena_bytes", plan.arena_bytes},
          {"arena_lower_bound_bytes", plan.arena_lower_bound_bytes},
          {"inputs", plan.inputs},
          {"outputs", plan.outputs},
          {"plugins", list_json(plan.plugins, plugin_json)},
          {"constants", list_json(plan.constants, constant_json)},
          {"values", list_json(plan.values, value_json)},
          {"steps", list_json(plan.steps, step_json)},
          {"regions", list_json(plan.regions, region_json)}};
}

// Like dump(2), but what fits a line stays on one.
void print(const Json& json, std::size_t indent, std::string* out) {
  constexpr std::size_t kColumns = 100;
  std::string line = json.dump();
  if (!json.is_structured() || json.empty() || (indent > 0 && indent + line.size() <= kColumns)) {
    *out += line;
    return;
  }
  const std::string margin(indent + 2, ' ');
  *out += json.is_object() ? '{' : '[';
  const char* separator = "\n";
  for (const auto& item : json.items()) {
    *out += separator;
    *out += margin;
    if (json.is_object()) *out += Json(item.key()).dump() + ": ";
    print(item.value(), indent + 2, out);
    separator = ",\n";
  }
  *out += fmt::format("\n{}{}", std::string(indent, ' '), json.is_object() ? '}' : ']');
}

}  // namespace

std::string to_text(const Plan& plan) {
  Json json = plan_json(plan);
  json["content_hash"] = content_hash(plan).hex();
  std::string text;
  print(json, 0, &text);
  text += '\n';
  return text;
}

Hash content_hash(const Plan& plan) {
  Plan anywhere = plan;
  for (PlanPlugin& plugin : anywhere.plugins) plugin = {.name = plugin.name};
  return Hasher().add(plan_json(anywhere).dump()).finish();
}

}  // namespace inlay
