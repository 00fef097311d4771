#include "search/check/subject.h"

#include <fmt/ranges.h>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/host/elf_file.h"
#include "search/check/program_run.h"
#include "search/check/verdict.h"

namespace inlay::check {

const ElfImage& Subject::elf() {
  if (!elf_) {
    try {
      elf_.emplace(path());
    } catch (const Error& error) {
      throw Failure(error.what());
    }
  }
  return *elf_;
}

std::string Subject::manifest_text() {
  try {
    const MappedFile mapped = map_file(path());
    const auto section = ElfFile(mapped.bytes(), path().string()).section(".inlay.manifest");
    require(section.has_value(), "expected a section .inlay.manifest, found none");
    std::string text(reinterpret_cast<const char*>(section->data()), section->size());
    while (!text.empty() && text.back() == '\0') text.pop_back();
    return text;
  } catch (const Error& error) {
    throw Failure(error.what());
  }
}

const nlohmann::json& Subject::json() {
  if (!json_) {
    try {
      json_ = nlohmann::json::parse(manifest_text());
    } catch (const nlohmann::json::exception& exception) {
      fail("the manifest is no JSON: {}", exception.what());
    }
  }
  return *json_;
}

const Manifest& Subject::manifest() {
  if (!manifest_) {
    try {
      manifest_ = read_manifest(path());
    } catch (const Error& error) {
      throw Failure(error.what());
    }
  }
  return *manifest_;
}

TestHost& Subject::host() {
  if (host_ == nullptr) host_ = std::make_unique<TestHost>(options_.threads);
  return *host_;
}

Plugin& Subject::loaded() {
  if (plugin_ == nullptr) {
    for (const std::string& feature : manifest().cpu) {
      if (!has_cpu_feature(feature)) skip("the manifest wants {}, which this CPU lacks", feature);
    }
    plugin_ = std::make_unique<Plugin>(path());
  }
  return *plugin_;
}

Plugin& Subject::plugin() {
  Plugin& plugin = loaded();
  if (!is_initialised_) {
    plugin.init(host().table());
    is_initialised_ = true;
  }
  return plugin;
}

const OpenDevice& Subject::device() {
  if (!device_) {
    require(plugin().device_count() > 0, "device_info(0): expected INLAY_OK, found no device");
    device_.emplace(plugin().open(0));
  }
  return *device_;
}

PluginHost& Subject::reference() {
  if (reference_ == nullptr) {
    if (options_.reference.empty()) {
      skip_undeclared(
          "the reference plugin, with which results are compared, was not found; "
          "INLAY_PLUGIN_PATH says where it is");
    }
    reference_ = std::make_unique<PluginHost>(
        log_, HostOptions{.search_path = {options_.reference}, .threads = 1});
  }
  return *reference_;
}

const SampleSet& Subject::samples(SampleKind kind) {
  auto& set = samples_[static_cast<int>(kind)];
  if (!set) set = make_samples(manifest(), {.kind = kind});
  if (set->list.empty() && kind != SampleKind::kEmpty) {
    if (manifest().patterns.empty()) skip("the manifest declares no pattern");
    skip_undeclared("no sample could be made of any pattern: {}", fmt::join(set->missing, "; "));
  }
  return *set;
}

const Sample& Subject::sample() {
  if (sample_ != nullptr) return *sample_;
  std::string reason;
  for (const Sample& sample : samples().list) {
    const Compiled compiled = compile(device(), sample.region);
    if (compiled.program != nullptr) return *(sample_ = &sample);
    reason = fmt::format("{}: {}", describe(sample), describe(compiled.answer));
  }
  fail("no sample compiles; the last: {}", reason);
}

}  // namespace inlay::check
