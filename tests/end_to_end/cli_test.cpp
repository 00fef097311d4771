// The inlay program as a user meets it: what it does, what it writes, how it fails.
#include "tests/end_to_end/cli_fixture.h"

#include <signal.h>

#include <chrono>
#include <sstream>
#include <thread>

namespace inlay {
namespace {

TEST_F(Cli, PlacesRunsAndExplainsASmallModel) {
  reuse_measurements();
  const fs::path model = small_model();
  const Outcome placed = inlay("place " + model.string() + " -o " + path("s.plan").string());
  ASSERT_EQ(placed.status, 0) << placed.err;
  EXPECT_NE(placed.out.find("placement"), std::string::npos) << placed.out;
  EXPECT_NE(placed.out.find("reference"), std::string::npos) << placed.out;
  EXPECT_EQ(placed.out.find('\x1b'), std::string::npos) << "no escape codes when piped";
  EXPECT_EQ(placed.err, "");

  const Outcome run =
      inlay("run " + path("s.plan").string() + " --seed 1 --check-against reference");
  EXPECT_EQ(run.status, 0) << run.out << run.err;
  const Outcome explained = inlay("explain " + path("s.plan").string() + " --node conv1");
  ASSERT_EQ(explained.status, 0) << explained.err;
  EXPECT_NE(explained.out.find("onednn"), std::string::npos) << explained.out;
  EXPECT_NE(explained.out.find("reference"), std::string::npos) << explained.out;
}

TEST_F(Cli, SecondPlacementMeasuresNothingAndWritesTheSameBytes) {
  const fs::path model = small_model();
  ASSERT_EQ(inlay("place " + model.string() + " -o " + path("a.plan").string()).status, 0);
  const Outcome second =
      inlay("place " + model.string() + " -o " + path("b.plan").string() + " --json");
  ASSERT_EQ(second.status, 0) << second.err;
  EXPECT_EQ(Json::parse(second.out)["pricing"]["measured"], 0);
  EXPECT_EQ(Json::parse(second.out)["pricing"]["measurements"], 0);
  EXPECT_EQ(slurp(path("a.plan")), slurp(path("b.plan")));
  EXPECT_EQ(slurp(path("a.weights")), slurp(path("b.weights")));
}

TEST_F(Cli, WinnerIsNeverShownSlowerThanARacedSingleBackend) {
  reuse_measurements();
  const Outcome placed =
      inlay("place " + small_model().string() + " -o " + path("s.plan").string() + " --json");
  ASSERT_EQ(placed.status, 0) << placed.err;
  const Json report = Json::parse(placed.out);
  const std::string winner = report["winner"];
  ASSERT_FALSE(report["contenders"].empty());
  for (const Json& race : report["races"]) {
    if (race["first"] == winner) {
      EXPECT_LE(race["log_ratio_low"].get<double>(), 0) << race;
    }
    if (race["second"] == winner) {
      EXPECT_GT(race["log_ratio_low"].get<double>(), 0) << race;
    }
  }
}

TEST_F(Cli, PinPutsTheNodeOnThePlugin) {
  reuse_measurements();
  const fs::path model = small_model();
  const Outcome placed = inlay("place " + model.string() + " -o " + path("s.plan").string() +
                               " --pin conv2=reference --json");
  ASSERT_EQ(placed.status, 0) << placed.err;
  const Json report = Json::parse(placed.out);
  for (const Json& step : report["steps"]) {
    for (const Json& node : step["nodes"]) {
      if (node == "conv2") {
        EXPECT_EQ(step["plugin"], "reference");
      }
    }
  }
  expect_one_clear_error(inlay("place " + model.string() + " --pin nosuch=reference"), "nosuch");
  expect_one_clear_error(inlay("place " + model.string() + " --pin conv2=nosuch"), "nosuch");
}

TEST_F(Cli, ExcludedPluginTakesNoStep) {
  reuse_measurements();
  const Outcome placed = inlay("place " + small_model().string() + " -o " +
                               path("s.plan").string() + " --exclude onednn --json");
  ASSERT_EQ(placed.status, 0) << placed.err;
  const Json report = Json::parse(placed.out);
  for (const Json& step : report["steps"]) EXPECT_NE(step["plugin"], "onednn");
}

TEST_F(Cli, RunReadsAndWritesNumpyFiles) {
  reuse_measurements();
  ASSERT_EQ(inlay("place " + small_model().string() + " -o " + path("s.plan").string()).status, 0);
  const Outcome run =
      inlay("run " + path("s.plan").string() + " --seed 3 -o " + path("y.npz").string());
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_GT(fs::file_size(path("y.npz")), 40u);
  write_file(path("bad.npy"), "not numpy at all");
  expect_one_clear_error(
      inlay("run " + path("s.plan").string() + " -i " + path("bad.npy").string()), "NumPy");
  write_file(path("bad.npz"), "not a zip at all");
  expect_one_clear_error(
      inlay("run " + path("s.plan").string() + " -i " + path("bad.npz").string()), "bad.npz");
}

TEST_F(Cli, DamagedModelIsOneClearError) {
  const std::string bytes = slurp(small_model());
  write_file(path("cut.onnx"), std::string_view(bytes).substr(0, bytes.size() / 2));
  expect_one_clear_error(inlay("place " + path("cut.onnx").string()), "cut.onnx");
  write_file(path("text.onnx"), "this is not a model");
  expect_one_clear_error(inlay("import " + path("text.onnx").string()), "text.onnx");
  write_file(path("empty.onnx"), "");
  expect_one_clear_error(inlay("import " + path("empty.onnx").string()), "empty.onnx");
  expect_one_clear_error(inlay("import " + path("none.onnx").string()), "none.onnx");
  expect_one_clear_error(inlay("import " + folder_.string()), folder_.string());
  EXPECT_FALSE(fs::exists(path("cut.plan")));
}

TEST_F(Cli, DamagedPlanOrWeightsAreOneClearError) {
  reuse_measurements();
  ASSERT_EQ(inlay("place " + small_model().string() + " -o " + path("s.plan").string()).status, 0);
  const std::string plan = slurp(path("s.plan"));
  write_file(path("s.plan"), std::string_view(plan).substr(0, plan.size() / 3));
  expect_one_clear_error(inlay("run " + path("s.plan").string()), "s.plan");
  write_file(path("s.plan"), plan);
  std::string weights = slurp(path("s.weights"));
  weights[weights.size() / 2] ^= 0x10;
  write_file(path("s.weights"), weights);
  expect_one_clear_error(inlay("run " + path("s.plan").string()), "s.weights");
  fs::remove(path("s.weights"));
  expect_one_clear_error(inlay("run " + path("s.plan").string()), "s.weights");
}

TEST_F(Cli, PlanOfAnotherBuildIsRefusedNamingBoth) {
  reuse_measurements();
  ASSERT_EQ(inlay("place " + small_model().string() + " -o " + path("s.plan").string()).status, 0);
  Json plan = Json::parse(slurp(path("s.plan")));
  plan["plugins"][0]["build_id"] = "0123456789abcdef";
  plan.erase("content_hash");  // else the plan is refused because it was changed
  write_file(path("s.plan"), plan.dump(1));
  expect_one_clear_error(inlay("run " + path("s.plan").string()), "0123456789abcdef");
}

TEST_F(Cli, CorruptDatabaseIsOneClearError) {
  write_file(path("costs.sqlite"), std::string(8192, 'x'));
  expect_one_clear_error(inlay("place " + small_model().string()), "costs.sqlite");
  expect_one_clear_error(inlay("db stats"), "costs.sqlite");
}

TEST_F(Cli, UnwritableOutputIsRefusedBeforeTheWork) {
  expect_one_clear_error(
      inlay("place " + small_model().string() + " -o " + path("no/such/folder/m.plan").string()),
      "no/such/folder");
}

TEST_F(Cli, NamesWithControlCharactersStayOnOneLineAndOffTheTerminal) {
  GraphBuilder b("odd");
  const ValueId x = b.input("in\n\x1b[2Jput", {DType::kF32, {2}});
  b.output(b.node("odd\r\n\x07node", "Relu", {x}));
  export_onnx(b.build(), path("odd.onnx"));
  const Outcome outcome =
      inlay("place " + path("odd.onnx").string() + " --pin nosuch=reference --shape nosuch=1");
  expect_one_clear_error(outcome, "in; \\x1b[2Jput");
  EXPECT_EQ(outcome.err.find('\x1b'), std::string::npos);
}

TEST_F(Cli, NamesThatAreNotUtf8DoNotBreakJson) {
  GraphBuilder b("latin");
  b.output(b.node("caf\xe9", "Relu", {b.input("x", {DType::kF32, {2}})}));
  export_onnx(b.build(), path("latin.onnx"));
  for (const char* command : {"import ", "place "}) {
    const Outcome outcome = inlay(command + path("latin.onnx").string() + " --json");
    EXPECT_EQ(outcome.status, 0) << command << outcome.err;
    EXPECT_FALSE(Json::parse(outcome.out, nullptr, false).is_discarded()) << command;
  }
}

TEST_F(Cli, FullStandardOutputIsAnError) {
  fs::create_symlink("/dev/full", path("out"));
  const pid_t pid = start("plugins");
  int status = 0;
  ::waitpid(pid, &status, 0);
  fs::remove(path("out"));
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << status;
  EXPECT_NE(slurp(path("err")).find("inlay: error: standard output"), std::string::npos);
}

TEST_F(Cli, FlagsThatRepeatLeaveTheModelAlone) {
  write_file(path("text.onnx"), "this is not a model");
  for (const char* flag : {"--exclude openblas ", "--pin a=reference ", "--shape x=1 "}) {
    expect_one_clear_error(inlay(std::string("place ") + flag + path("text.onnx").string()),
                           "text.onnx");
  }
}

TEST_F(Cli, MisusedFlagsExitWithUsage) {
  EXPECT_EQ(inlay("").status, 2);
  expect_one_clear_error(inlay("place x.onnx --budget nan"), "--budget");
  expect_one_clear_error(inlay("run x.plan --tolerance nan"), "--tolerance");
  EXPECT_EQ(inlay("place").status, 2);
  EXPECT_EQ(inlay("place x.onnx --strategy magic").status, 2);
  EXPECT_EQ(inlay("place x.onnx --threads 0").status, 2);
  EXPECT_EQ(inlay("nosuch").status, 2);
  expect_one_clear_error(inlay("place x.onnx --shape x=1xtwo"), "1xtwo");
  expect_one_clear_error(inlay("place x.onnx --shape x"), "--shape");
  expect_one_clear_error(inlay("zoo export nosuch -o " + path("n.onnx").string()), "resnet50");
}

TEST_F(Cli, BrokenPluginFileIsListedAsRefusedAndHurtsNothing) {
  write_file(path("broken.so"), "not a library");
  const Outcome listed = inlay("plugins --with " + path("broken.so").string());
  EXPECT_EQ(listed.status, 0) << listed.err;
  EXPECT_NE(listed.out.find("refused"), std::string::npos) << listed.out;
  EXPECT_NE(listed.out.find("reference"), std::string::npos) << listed.out;
}

// Rows of the database that time a region.
int count_measurements(const Json& stats) {
  int rows = 0;
  for (const Json& group : stats["groups"]) {
    if (group["kind"] == "measure") rows += group["rows"].get<int>();
  }
  return rows;
}

TEST_F(Cli, InterruptedPlacingKeepsWhatItMeasured) {
  constexpr int kSome = 3;
  const fs::path model = small_model();
  for (const int signal : {SIGINT, SIGKILL}) {
    fs::remove(path("costs.sqlite"));
    const pid_t pid = start("place " + model.string() + " -o " + path("k.plan").string());
    int measured = 0;
    for (int attempt = 0; attempt < 3000 && measured < kSome; ++attempt) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      int ignored = 0;
      if (::waitpid(pid, &ignored, WNOHANG) != 0) break;
      if (!fs::exists(path("costs.sqlite"))) continue;
      const std::string probe = "INLAY_DB='" + path("costs.sqlite").string() +
                                "' '" INLAY_BINARY_DIR "/bin/inlay' db stats --json >'" +
                                path("stats").string() + "' 2>/dev/null";
      if (std::system(probe.c_str()) != 0) continue;
      measured = count_measurements(Json::parse(slurp(path("stats"))));
    }
    ASSERT_GE(measured, kSome) << "placing ended before it could be interrupted";
    ::kill(pid, signal);
    finish(pid);
    EXPECT_FALSE(fs::exists(path("k.plan")));
    const Outcome again =
        inlay("place " + model.string() + " -o " + path("k2.plan").string() + " --json");
    ASSERT_EQ(again.status, 0) << again.err;
    EXPECT_GE(Json::parse(again.out)["pricing"]["from_database"].get<int>(), measured);
    fs::remove(path("k2.plan"));
  }
}

TEST_F(Cli, JsonOutputsParse) {
  for (const char* command : {"devices --json", "plugins --json", "zoo list --json"}) {
    const Outcome outcome = inlay(command);
    EXPECT_EQ(outcome.status, 0) << command << outcome.err;
    EXPECT_FALSE(Json::parse(outcome.out, nullptr, false).is_discarded()) << command;
  }
}

}  // namespace
}  // namespace inlay
