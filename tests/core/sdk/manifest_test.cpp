#include "core/sdk/manifest.h"

#include <gtest/gtest.h>

#include <vector>

#include <nlohmann/json.hpp>
#include <string>

namespace inlay::sdk {
namespace {

constexpr PluginInfo kInfo{.name = "acme",
                           .version = "1.0 \"beta\"",
                           .library = "C:\\lib\n\x01",
                           .threads = "capped",
                           .cpu = "  avx2   fma "};
constexpr Pattern kPatterns[] = {{.id = "mm",
                                  .match = "MatMul(A,B)",
                                  .fuse = "2: Relu(.)",
                                  .where = "A: f32[m,k]; B: const",
                                  .layouts = "A:ab|A:ba",
                                  .tolerance = "accum",
                                  .alias = "",
                                  .cpu = "avx512f"},
                                 {.id = "each", .ops = "Relu  Abs Sigmoid", .alias = "out=0"}};
constexpr auto kText = manifest_text<manifest_size(kInfo, kPatterns)>(kInfo, kPatterns);

nlohmann::json parsed() { return nlohmann::json::parse(kText.begin(), kText.end()); }

TEST(ManifestText, IsJsonWithEverythingTheAuthorWrote) {
  const nlohmann::json json = parsed();
  EXPECT_EQ(json["abi"], nlohmann::json::array({INLAY_ABI_MAJOR, INLAY_ABI_MINOR}));
  EXPECT_EQ(json["name"], "acme");
  EXPECT_EQ(json["threads"], "capped");
  EXPECT_EQ(json["patterns"][0]["match"], "MatMul(A,B)");
  EXPECT_EQ(json["patterns"][0]["fuse"], "2: Relu(.)");
  EXPECT_EQ(json["patterns"][0]["where"], "A: f32[m,k]; B: const");
  EXPECT_EQ(json["patterns"][0]["layouts"], "A:ab|A:ba");
  EXPECT_FALSE(json["patterns"][0].contains("ops"));
  EXPECT_FALSE(json["patterns"][1].contains("match"));
  EXPECT_EQ(json["patterns"][1]["alias"], "out=0");
  EXPECT_EQ(json["patterns"][1]["tolerance"], "accum");
}

TEST(ManifestText, SplitsWordsAtAnyNumberOfBlanks) {
  const nlohmann::json json = parsed();
  EXPECT_EQ(json["patterns"][1]["ops"], nlohmann::json::array({"Relu", "Abs", "Sigmoid"}));
  EXPECT_EQ(json["patterns"][0]["cpu"], nlohmann::json::array({"avx512f"}));
  EXPECT_EQ(json["patterns"][1]["cpu"], nlohmann::json::array());
  EXPECT_EQ(json["cpu"], nlohmann::json::array({"avx2", "fma"}));
}

TEST(ManifestText, EscapesQuotesBackslashesAndControlCharacters) {
  EXPECT_EQ(parsed()["version"], "1.0 \"beta\"");
  EXPECT_EQ(parsed()["library"], "C:\\lib\n\x01");
}

TEST(ManifestText, SizeIsWhatIsWritten) {
  std::string text(kText.size() + 1, '#');
  EXPECT_EQ(write_manifest(text.data(), kInfo, kPatterns), kText.size());
  EXPECT_EQ(text.back(), '#');
}

TEST(ManifestText, StatesTheSanitizerOfThisBuild) {
#if defined(__SANITIZE_ADDRESS__)
  EXPECT_EQ(parsed()["sanitizer"], "address");
#elif defined(__SANITIZE_THREAD__)
  EXPECT_EQ(parsed()["sanitizer"], "thread");
#else
  EXPECT_EQ(parsed()["sanitizer"], "none");
#endif
}

// In a constant expression the same throws are compile errors.
TEST(ManifestText, RefusesMistakesThatTheCompilerCanSee) {
  const Pattern good{.id = "a", .ops = "Relu"};
  const auto check = [](const PluginInfo& info, std::vector<Pattern> patterns) {
    check_manifest(info, patterns);
  };
  const PluginInfo info{.name = "a", .version = "1"};
  EXPECT_NO_THROW(check(info, {good}));
  EXPECT_THROW(check({.name = "", .version = "1"}, {good}), const char*);
  EXPECT_THROW(check({.name = "a", .version = "1", .threads = "many"}, {good}), const char*);
  EXPECT_THROW(check(info, {good, good}), const char*);
  EXPECT_THROW(check(info, {{.id = "", .ops = "Relu"}}), const char*);
  EXPECT_THROW(check(info, {{.id = "b"}}), const char*);
  EXPECT_THROW(check(info, {{.id = "b", .match = "Relu(X)", .ops = "Relu"}}), const char*);
}

}  // namespace
}  // namespace inlay::sdk
