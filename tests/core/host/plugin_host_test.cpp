#include "core/host/plugin_host.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/base/file.h"
#include "tests/core/host/elf_builder.h"

namespace inlay {
namespace {

namespace fs = std::filesystem;

const fs::path kTemplate = fs::path(INLAY_BINARY_DIR) / "examples/template.so";

fs::path mutant(const std::string& name) {
  return fs::path(INLAY_BINARY_DIR) / "mutants" / (name + ".so");
}

class WarningCount : public Log {
 public:
  void write(LogLevel level, std::string_view, const std::vector<LogField>&) override {
    warnings += level == LogLevel::kWarning;
  }
  int warnings = 0;
};

HostOptions only(std::vector<fs::path> path) {
  HostOptions options;
  options.search_path = std::move(path);
  return options;
}

// Why a file with these bytes is refused.
std::string refusal(const std::string& bytes) {
  const ScratchFolder folder;
  write_file(folder.path() / "acme.so", bytes);
  NullLog log;
  const PluginHost host(log, only({folder.path()}));
  EXPECT_EQ(host.plugins().size(), 1u);
  EXPECT_EQ(host.find("acme"), nullptr);
  return host.plugins().at(0).refused.value_or("not refused");
}

std::string open_error(const fs::path& file, const std::string& name) {
  NullLog log;
  PluginHost host(log, only({file}));
  try {
    host.open_device(name);
  } catch (const Error& error) {
    return std::string(code_name(error.code())) + ": " + error.what();
  }
  return "opened";
}

#define EXPECT_HAS(text, part)                               \
  EXPECT_NE(std::string(text).find(part), std::string::npos) \
      << "'" << (part) << "' is not in: " << (text)

TEST(PluginHost, ListsAGoodPluginWithoutRefusal) {
  NullLog log;
  const PluginHost host(log, only({kTemplate}));
  ASSERT_EQ(host.plugins().size(), 1u);
  EXPECT_FALSE(host.plugins()[0].refused) << *host.plugins()[0].refused;
  EXPECT_TRUE(host.plugins()[0].path.is_absolute());
  EXPECT_EQ(host.plugins()[0].build_id.size(), 40u);
  EXPECT_EQ(host.find("template"), &host.plugins()[0]);
  EXPECT_EQ(host.find("no_such"), nullptr);
}

TEST(PluginHost, RefusesWhatIsNoPlugin) {
  EXPECT_HAS(refusal("hello"), "expected an ELF file");
  EXPECT_HAS(refusal(make_elf("{}")), "abi");
  NullLog log;
  const PluginHost host(log, only({mutant("no_manifest")}));
  EXPECT_HAS(host.plugins().at(0).refused.value_or(""), "expected a section .inlay.manifest");
}

TEST(PluginHost, RefusesPluginWithNewerMajorVersion) {
  const std::string reason = refusal(make_elf(manifest_json({.abi = "[2,0]"})));
  EXPECT_HAS(reason, "expected ABI major 1, found 2");
}

TEST(PluginHost, AcceptsPluginWithNewerMinorVersion) {
  EXPECT_EQ(refusal(make_elf(manifest_json({.name = "other", .abi = "[1,99]"}))), "not refused");
}

TEST(PluginHost, RefusesMissingCpuFeatures) {
  EXPECT_HAS(refusal(make_elf(manifest_json({.cpu = R"(["sse3","avx4096"])"}))), "avx4096");
  const std::string all =
      R"([{"id":"a","ops":["R"],"cpu":["avx4096"]},{"id":"b","ops":["R"],"cpu":["avx8192"]}])";
  EXPECT_HAS(refusal(make_elf(manifest_json({.patterns = all}))), "every pattern needs");
  const std::string some =
      R"([{"id":"a","ops":["R"],"cpu":["avx4096"]},{"id":"b","ops":["R"],"cpu":["sse3"]}])";
  EXPECT_EQ(refusal(make_elf(manifest_json({.name = "other", .patterns = some}))), "not refused");
}

TEST(PluginHost, RefusesASanitizerThatTheHostLacks) {
#if defined(__SANITIZE_THREAD__)
  const char* foreign = "address";
#else
  const char* foreign = "thread";
#endif
  EXPECT_HAS(refusal(make_elf(manifest_json({.sanitizer = foreign}))), "sanitizer");
}

TEST(PluginHost, RefusesWhatTheCallerFindsFaultWithAndTellsOnce) {
  const ScratchFolder folder;
  write_file(folder.path() / "a.so", make_elf(manifest_json({.name = "acme"})));
  write_file(folder.path() / "b.so", make_elf(manifest_json({.name = "other"})));
  write_file(folder.path() / "c.so", make_elf(manifest_json({.name = "left_out"})));
  HostOptions options = only({folder.path()});
  options.exclude = {"left_out"};
  options.find_fault = [](const Manifest& manifest) {
    return manifest.name == "other" ? "" : "pattern 'p': cannot be read";
  };
  WarningCount log;
  PluginHost host(log, options);
  EXPECT_EQ(host.plugins().at(0).refused, "pattern 'p': cannot be read");
  EXPECT_FALSE(host.plugins().at(1).refused);
  EXPECT_EQ(host.plugins().at(2).refused, "excluded by the user");
  EXPECT_EQ(log.warnings, 1);
  EXPECT_EQ(host.find("acme"), nullptr);
}

TEST(PluginHost, RefusesAFileThatAnybodyMayWrite) {
  const ScratchFolder folder;
  fs::copy_file(kTemplate, folder.path() / "template.so");
  fs::permissions(folder.path() / "template.so", fs::perms::others_write, fs::perm_options::add);
  NullLog log;
  const PluginHost host(log, only({folder.path()}));
  EXPECT_HAS(host.plugins().at(0).refused.value_or(""), "anybody may write");
}

TEST(PluginHost, RefusesTheSecondOfTwoPluginsWithOneName) {
  const ScratchFolder first;
  const ScratchFolder second;
  write_file(first.path() / "a.so", make_elf(manifest_json({})));
  write_file(second.path() / "b.so", make_elf(manifest_json({})));
  NullLog log;
  const PluginHost host(log, only({first.path(), second.path()}));
  ASSERT_EQ(host.plugins().size(), 2u);
  EXPECT_FALSE(host.plugins()[0].refused);
  EXPECT_HAS(host.plugins()[1].refused.value_or(""),
             "shadowed by " + host.plugins()[0].path.string());
}

// A plugin in a folder that comes first replaces its namesake on purpose; two in one folder are a
// mistake.
TEST(PluginHost, WarnsOfShadowingOnlyWithinOneFolder) {
  const ScratchFolder first;
  const ScratchFolder second;
  write_file(first.path() / "a.so", make_elf(manifest_json({})));
  write_file(second.path() / "b.so", make_elf(manifest_json({})));
  WarningCount log;
  const PluginHost replaced(log, only({first.path() / "a.so", second.path()}));
  EXPECT_TRUE(replaced.plugins().at(1).refused);
  EXPECT_EQ(log.warnings, 0);
  write_file(second.path() / "c.so", make_elf(manifest_json({})));
  const PluginHost doubled(log, only({second.path()}));
  EXPECT_TRUE(doubled.plugins().at(1).refused);
  EXPECT_EQ(log.warnings, 1);
}

TEST(PluginHost, ARefusedPluginShadowsNothing) {
  const ScratchFolder folder;
  write_file(folder.path() / "a.so", make_elf(manifest_json({.abi = "[2,0]"})));
  write_file(folder.path() / "b.so", make_elf(manifest_json({})));
  NullLog log;
  const PluginHost host(log, only({folder.path()}));
  ASSERT_NE(host.find("acme"), nullptr);
  EXPECT_EQ(host.find("acme")->path, folder.path() / "b.so");
}

TEST(PluginHost, ExcludesByName) {
  NullLog log;
  HostOptions options = only({kTemplate});
  options.exclude = {"template"};
  PluginHost host(log, options);
  EXPECT_HAS(host.plugins().at(0).refused.value_or(""), "excluded");
  try {
    host.open_device("template");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kNotFound);
    EXPECT_HAS(error.what(), "excluded");
  }
}

TEST(PluginHost, LinksToOneFileAreOnePlugin) {
  const ScratchFolder folder;
  write_file(folder.path() / "a.so", make_elf(manifest_json({})));
  fs::create_symlink("a.so", folder.path() / "b.so");
  fs::create_hard_link(folder.path() / "a.so", folder.path() / "c.so");
  NullLog log;
  const PluginHost host(log, only({folder.path(), folder.path() / "b.so"}));
  EXPECT_EQ(host.plugins().size(), 1u);
}

TEST(PluginHost, PassesOverOtherFilesAndNamesBrokenLinks) {
  const ScratchFolder folder;
  write_file(folder.path() / "notes.txt", "hello");
  fs::create_directory(folder.path() / "folder.so.d");
  fs::create_symlink("nowhere.so", folder.path() / "dangling.so");
  NullLog log;
  const PluginHost host(log, only({folder.path(), folder.path() / "no_such_folder"}));
  ASSERT_EQ(host.plugins().size(), 1u);
  EXPECT_HAS(host.plugins()[0].refused.value_or(""), "cannot be opened");
}

TEST(PluginHost, SaysWhichPluginIsMissing) {
  EXPECT_HAS(open_error(kTemplate, "no_such"), "not_found: plugin 'no_such'");
}

TEST(PluginHost, RefusesToLoadFaultyPluginsNamingCallAndReason) {
  const std::pair<const char*, const char*> cases[] = {
      {"wrong_major", "inlay_plugin_query: expected ABI major 1, found 2"},
      {"null_query", "inlay_plugin_query: no table for ABI major 1"},
      {"missing_entry", "inlay_plugin_query: expected the required entry enqueue"},
      {"short_table", "inlay_plugin_query: expected the required entry create_instance"},
      {"fails_init", "init: internal error: the licence is missing"},
      {"other_name", "expected the manifest's name 'mutant', found 'somebody_else'"}};
  for (const auto& [file, expected] : cases) {
    const std::string error = open_error(mutant(file), "mutant");
    EXPECT_HAS(error, "plugin_failed: plugin 'mutant': ");
    EXPECT_HAS(error, expected);
    EXPECT_EQ(open_error(mutant(file), "mutant"), error) << "the second try differs";
  }
}

TEST(PluginHost, ReportsAFileThatCannotBeLoaded) {
  const ScratchFolder folder;
  write_file(folder.path() / "acme.so", make_elf(manifest_json({})));
  EXPECT_HAS(open_error(folder.path(), "acme"), "plugin_failed: plugin 'acme': load: ");
}

TEST(PluginHost, GivesTheSameDeviceForTheSameArguments) {
  NullLog log;
  PluginHost host(log, only({kTemplate}));
  const std::shared_ptr<Device> device = host.open_device("template");
  EXPECT_EQ(host.open_device("template"), device);
  EXPECT_EQ(device->plugin(), "template");
  EXPECT_EQ(device->name(), "cpu");
  EXPECT_EQ(device->space(), "host");
  EXPECT_GT(device->fingerprint().size(), 5u);
  try {
    host.open_device("template", 1);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_HAS(error.what(), "device_info: declined: there is one device");
  }
}

TEST(PluginHost, DefaultSearchPathIsTheVariableWithoutTheWorkingDirectory) {
  ASSERT_EQ(::setenv("INLAY_PLUGIN_PATH", "/a/b::relative:/c.so:.", 1), 0);
  EXPECT_EQ(default_search_path(), (std::vector<fs::path>{"/a/b", "/c.so"}));
  ASSERT_EQ(::unsetenv("INLAY_PLUGIN_PATH"), 0);
  const std::vector<fs::path> found = default_search_path();
  const fs::path built = fs::canonical(INLAY_PLUGIN_DIR);
  EXPECT_TRUE(std::any_of(found.begin(), found.end(),
                          [&](const fs::path& path) { return fs::canonical(path) == built; }));
}

}  // namespace
}  // namespace inlay
