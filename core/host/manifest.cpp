#include "core/host/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "core/base/dtype.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/host/elf_file.h"

namespace inlay {
namespace {

using Json = nlohmann::json;

// Where in the manifest a value stands: "acme.so: manifest: patterns[3]".
struct Place {
  std::string text;
  Place key(std::string_view name) const { return {fmt::format("{}: {}", text, name)}; }
  Place inside(std::string_view name) const { return {fmt::format("{}.{}", text, name)}; }
  Place at(std::size_t index) const { return {fmt::format("{}[{}]", text, index)}; }
  [[noreturn]] void fail(std::string_view expected, std::string_view found) const {
    throw Error(Code::kCorrupt, fmt::format("{}: expected {}, found {}", text, expected, found));
  }
};

const Json& member(const Json& object, const char* key, const Place& place) {
  const auto found = object.find(key);
  if (found == object.end()) place.fail("a value", "nothing");
  return *found;
}

std::string text_of(const Json& value, const Place& place) {
  if (!value.is_string()) place.fail("a string", value.type_name());
  return value.get<std::string>();
}

std::string required_text(const Json& object, const char* key, const Place& place) {
  std::string text = text_of(member(object, key, place), place);
  if (text.empty()) place.fail("a text", "an empty one");
  return text;
}

std::string optional_text(const Json& object, const char* key, const Place& place,
                          const char* fallback = "") {
  const auto found = object.find(key);
  return found == object.end() ? fallback : text_of(*found, place);
}

std::vector<std::string> optional_texts(const Json& object, const char* key, const Place& place) {
  std::vector<std::string> texts;
  const auto found = object.find(key);
  if (found == object.end()) return texts;
  if (!found->is_array()) place.fail("an array of strings", found->type_name());
  for (std::size_t i = 0; i < found->size(); ++i) {
    texts.push_back(text_of((*found)[i], place.at(i)));
  }
  return texts;
}

int small_number(const Json& value, const Place& place) {
  constexpr std::uint64_t kMax = 1 << 20;
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kMax) {
    place.fail(fmt::format("a whole number up to {}", kMax), value.dump());
  }
  return value.get<int>();
}

int version_number(const Json& pair, std::size_t index, const Place& place) {
  return small_number(pair[index], place.at(index));
}

int optional_number(const Json& object, const char* key, const Place& place) {
  const auto found = object.find(key);
  return found == object.end() ? 0 : small_number(*found, place);
}

// One of the words, so that a typing error is not taken for a default.
std::string word_of(const Json& object, const char* key, const Place& place,
                    std::initializer_list<std::string_view> words) {
  std::string text = required_text(object, key, place);
  if (std::find(words.begin(), words.end(), text) == words.end()) {
    place.fail(fmt::format("one of {}", fmt::join(words, ", ")), fmt::format("'{}'", text));
  }
  return text;
}

EngineRule parse_engine_rule(const Json& json, const Place& place) {
  if (!json.is_object()) place.fail("an object", json.type_name());
  EngineRule rule;
  rule.opset = small_number(member(json, "opset", place.inside("opset")), place.inside("opset"));
  if (rule.opset == 0) place.inside("opset").fail("an opset", "0");
  rule.allow = optional_texts(json, "allow", place.inside("allow"));
  rule.deny = optional_texts(json, "deny", place.inside("deny"));
  rule.dtypes = optional_texts(json, "dtypes", place.inside("dtypes"));
  for (std::size_t i = 0; i < rule.dtypes.size(); ++i) {
    if (!parse_dtype(rule.dtypes[i])) {
      place.inside("dtypes").at(i).fail("an element type such as f32",
                                        fmt::format("'{}'", rule.dtypes[i]));
    }
  }
  rule.max_nodes = optional_number(json, "max_nodes", place.inside("max_nodes"));
  rule.max_regions = optional_number(json, "max_regions", place.inside("max_regions"));
  return rule;
}

// Each pattern says in one of three ways what it takes.
void check_form(const ManifestPattern& pattern, const Place& place) {
  std::vector<std::string_view> forms;
  if (!pattern.match.empty()) forms.push_back("match");
  if (!pattern.ops.empty()) forms.push_back("ops");
  if (pattern.any.opset != 0) forms.push_back("any");
  if (forms.size() == 1) return;
  place.fail("one of match, ops and any",
             forms.empty() ? "none" : fmt::format("{}", fmt::join(forms, " and ")));
}

ManifestPattern parse_manifest_pattern(const Json& json, const Place& place) {
  if (!json.is_object()) place.fail("an object", json.type_name());
  ManifestPattern pattern;
  pattern.id = required_text(json, "id", place.inside("id"));
  pattern.match = optional_text(json, "match", place.inside("match"));
  pattern.fuse = optional_text(json, "fuse", place.inside("fuse"));
  pattern.ops = optional_texts(json, "ops", place.inside("ops"));
  if (const auto any = json.find("any"); any != json.end()) {
    pattern.any = parse_engine_rule(*any, place.inside("any"));
  }
  pattern.where = optional_text(json, "where", place.inside("where"));
  pattern.layouts = optional_text(json, "layouts", place.inside("layouts"));
  pattern.tolerance = optional_text(json, "tolerance", place.inside("tolerance"), "accum");
  pattern.alias = optional_text(json, "alias", place.inside("alias"));
  pattern.cpu = optional_texts(json, "cpu", place.inside("cpu"));
  check_form(pattern, place);
  return pattern;
}

std::string plugin_name(const Json& json, const Place& place) {
  std::string name = required_text(json, "name", place);
  const auto is_plain = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  constexpr std::size_t kLongest = 64;  // it heads a column of every report
  if (name.size() > kLongest) {
    place.fail(fmt::format("up to {} characters", kLongest), fmt::to_string(name.size()));
  }
  if (!std::all_of(name.begin(), name.end(), is_plain)) {
    place.fail("letters, digits, '_', '-' and '.'", Json(name).dump());
  }
  return name;
}

Manifest parse_manifest(std::string_view text, const Place& place) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& exception) {
    place.fail("JSON", exception.what());
  }
  if (!json.is_object()) place.fail("an object", json.type_name());
  Manifest manifest;
  const Json& abi = member(json, "abi", place.key("abi"));
  if (!abi.is_array() || abi.size() != 2) {
    place.key("abi").fail("an array of two numbers", abi.dump());
  }
  manifest.abi_major = version_number(abi, 0, place.key("abi"));
  manifest.abi_minor = version_number(abi, 1, place.key("abi"));
  manifest.name = plugin_name(json, place.key("name"));
  manifest.version = required_text(json, "version", place.key("version"));
  manifest.library = optional_text(json, "library", place.key("library"));
  manifest.threads =
      word_of(json, "threads", place.key("threads"), {"host-pool", "capped", "fixed"});
  manifest.sanitizer =
      word_of(json, "sanitizer", place.key("sanitizer"), {"none", "address", "thread"});
  manifest.cpu = optional_texts(json, "cpu", place.key("cpu"));
  manifest.opens = optional_texts(json, "opens", place.key("opens"));
  const Place list = place.key("patterns");
  const Json& patterns = member(json, "patterns", list);
  if (!patterns.is_array()) list.fail("an array", patterns.type_name());
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    manifest.patterns.push_back(parse_manifest_pattern(patterns[i], list.at(i)));
    const auto has_same_id = [&](const ManifestPattern& other) {
      return other.id == manifest.patterns.back().id;
    };
    if (std::any_of(manifest.patterns.begin(), manifest.patterns.end() - 1, has_same_id)) {
      list.at(i).inside("id").fail("an id of its own", "one used above");
    }
  }
  return manifest;
}

}  // namespace

Manifest read_manifest(const std::filesystem::path& path) {
  const MappedFile mapped = map_file(path);
  const auto section = ElfFile(mapped.bytes(), path.string()).section(".inlay.manifest");
  if (!section) {
    throw Error(Code::kCorrupt,
                fmt::format("{}: expected a section .inlay.manifest, found none", path.string()));
  }
  std::string_view text(reinterpret_cast<const char*>(section->data()), section->size());
  // A string literal of C ends with a NUL, and the linker may pad.
  while (!text.empty() && text.back() == '\0') text.remove_suffix(1);
  return parse_manifest(text, Place{fmt::format("{}: manifest", path.string())});
}

std::string read_build_id(const std::filesystem::path& path) {
  const MappedFile mapped = map_file(path);
  return ElfFile(mapped.bytes(), path.string()).build_id();
}

}  // namespace inlay
