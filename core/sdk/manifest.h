// The manifest as a constant: JSON built by the compiler out of a plugin's info and patterns, for
// the ELF section that the host reads before it loads anything. Mistakes the compiler can see (no
// id, the same id twice, none of `match`, `ops` and `any`) are compile errors. INLAY_PLUGIN
// (core/sdk/glue.h) does all this; by hand:
//
//   static constexpr PluginInfo kInfo{.name = "acme", .version = "1.0"};
//   INLAY_MANIFEST_SECTION constexpr auto kManifest =
//       manifest_text<manifest_size(kInfo, kPatterns)>(kInfo, kPatterns);
//
// Keys: core/host/manifest.h. `ops` and `cpu` become arrays, split at blanks.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "core/abi/inlay_plugin.h"
#include "core/sdk/manifest_writer.h"
#include "core/sdk/pattern.h"

// Read-only, and kept by the compiler and by the linker's garbage collection although nothing
// refers to it.
#define INLAY_MANIFEST_SECTION __attribute__((section(".inlay.manifest"), used, retain)) static

namespace inlay::sdk {

// The sanitizer that this code is compiled with; a host without it must not load the library.
constexpr const char* sanitizer_name() {
#if defined(__SANITIZE_ADDRESS__)
  return "address";
#elif defined(__SANITIZE_THREAD__)
  return "thread";
#else
  return "none";
#endif
}

// Reached only in a constant expression, where the throw is the compiler's message.
constexpr void check_manifest(const PluginInfo& info, std::span<const Pattern> patterns) {
  if (std::string_view(info.name).empty()) throw "PluginInfo needs a name";
  const std::string_view threads = info.threads;
  if (threads != "host-pool" && threads != "capped" && threads != "fixed") {
    throw "PluginInfo::threads is host-pool, capped or fixed";
  }
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const std::string_view id = patterns[i].id;
    if (id.empty()) throw "a Pattern needs an id";
    for (std::size_t j = 0; j < i; ++j) {
      if (id == patterns[j].id) throw "two Patterns have the same id";
    }
    const bool has_match = !std::string_view(patterns[i].match).empty();
    const bool has_ops = !std::string_view(patterns[i].ops).empty();
    const bool is_any = patterns[i].any.opset != 0;
    if (int{has_match} + int{has_ops} + int{is_any} != 1) {
      throw "a Pattern needs one of match, ops and any";
    }
  }
}

constexpr void write_any(ManifestWriter& json, const AnyRegion& any) {
  json.raw("{");
  const std::array<std::pair<std::string_view, const char*>, 3> lists{
      {{"allow", any.allow}, {"deny", any.deny}, {"dtypes", any.dtypes}}};
  for (const auto& [key, text] : lists) {
    json.key(key);
    json.words(text);
    json.raw(",");
  }
  const std::array<std::pair<std::string_view, unsigned>, 2> limits{
      {{"max_nodes", any.max_nodes}, {"max_regions", any.max_regions}}};
  for (const auto& [key, number] : limits) {
    json.key(key);
    json.number(number);
    json.raw(",");
  }
  json.key("opset");
  json.number(any.opset);
  json.raw("}");
}

constexpr void write_pattern(ManifestWriter& json, const Pattern& pattern) {
  json.raw("{");
  json.key("id");
  json.string(pattern.id);
  if (pattern.any.opset != 0) {
    json.raw(",");
    json.key("any");
    write_any(json, pattern.any);
  } else if (std::string_view(pattern.ops).empty()) {
    json.raw(",");
    json.key("match");
    json.string(pattern.match);
  } else {
    json.raw(",");
    json.key("ops");
    json.words(pattern.ops);
  }
  const std::array<std::pair<std::string_view, const char*>, 5> texts{
      {{"fuse", pattern.fuse},
       {"where", pattern.where},
       {"layouts", pattern.layouts},
       {"tolerance", pattern.tolerance},
       {"alias", pattern.alias}}};
  for (const auto& [key, text] : texts) {
    json.raw(",");
    json.key(key);
    json.string(text);
  }
  json.raw(",");
  json.key("cpu");
  json.words(pattern.cpu);
  json.raw("}");
}

// Writes the whole manifest to `out` (counts only where that is null) and returns its size.
constexpr std::size_t write_manifest(char* out, const PluginInfo& info,
                                     std::span<const Pattern> patterns) {
  ManifestWriter json(out);
  json.raw("{");
  json.key("abi");
  json.raw("[");
  json.number(INLAY_ABI_MAJOR);
  json.raw(",");
  json.number(INLAY_ABI_MINOR);
  json.raw("]");
  const std::array<std::pair<std::string_view, const char*>, 5> texts{
      {{"name", info.name},
       {"version", info.version},
       {"library", info.library},
       {"threads", info.threads},
       {"sanitizer", sanitizer_name()}}};
  for (const auto& [key, text] : texts) {
    json.raw(",");
    json.key(key);
    json.string(text);
  }
  json.raw(",");
  json.key("patterns");
  json.raw("[");
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (i > 0) json.raw(",");
    write_pattern(json, patterns[i]);
  }
  json.raw("],");
  json.key("cpu");
  json.words(info.cpu);
  json.raw(",");
  json.key("opens");
  json.words(info.opens);
  json.raw(",");
  json.key("xfail");
  json.pairs(info.xfail);
  json.raw("}");
  return json.size();
}

consteval std::size_t manifest_size(const PluginInfo& info, std::span<const Pattern> patterns) {
  check_manifest(info, patterns);
  return write_manifest(nullptr, info, patterns);
}

template <std::size_t kSize>
consteval std::array<char, kSize> manifest_text(const PluginInfo& info,
                                                std::span<const Pattern> patterns) {
  std::array<char, kSize> text{};
  write_manifest(text.data(), info, patterns);
  return text;
}

}  // namespace inlay::sdk
