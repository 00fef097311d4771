// The plugin under check, for one check: read, loaded and opened as far as the check asks.
//
//   void outputs_untouched(Subject& subject) {
//     const Plugin& plugin = subject.plugin();   // loaded and initialised by now
//     ...
//   }
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/log.h"
#include "core/host/manifest.h"
#include "core/host/plugin_host.h"
#include "search/check/elf_image.h"
#include "search/check/plugin.h"
#include "search/check/samples.h"

namespace inlay::check {

struct SubjectOptions {
  std::filesystem::path plugin;     // absolute
  std::filesystem::path reference;  // the reference plugin's file; empty: none
  int threads = 2;
};

class Subject {
 public:
  explicit Subject(SubjectOptions options) : options_(std::move(options)) {}

  const std::filesystem::path& path() const { return options_.plugin; }
  const ElfImage& elf();
  std::string manifest_text();   // throws  Failure if there is no such section
  const nlohmann::json& json();  // throws  Failure if it is no JSON
  const Manifest& manifest();    // throws  Failure if it is none
  TestHost& host();
  Plugin& loaded();            // not initialised by this
  Plugin& plugin();            // initialised
  const OpenDevice& device();  // the first one, opened once
  PluginHost& reference();     // a host with the reference plugin; throws  Skipped

  // Regions that the manifest says the plugin can run. Never empty.
  // throws  Skipped (undeclared) if none could be made
  const SampleSet& samples(SampleKind kind = SampleKind::kPlain);
  // The first sample that compiles on the first device, for checks that need just one.
  const Sample& sample();

 private:
  SubjectOptions options_;
  std::optional<ElfImage> elf_;
  std::optional<nlohmann::json> json_;
  std::optional<Manifest> manifest_;
  std::unique_ptr<TestHost> host_;
  std::unique_ptr<Plugin> plugin_;
  bool is_initialised_ = false;
  std::optional<OpenDevice> device_;
  NullLog log_;
  std::unique_ptr<PluginHost> reference_;
  std::optional<SampleSet> samples_[kSampleKinds];
  const Sample* sample_ = nullptr;
};

}  // namespace inlay::check
