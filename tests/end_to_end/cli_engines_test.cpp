// Engines from the command line: a model placed on one alone, run, checked, and carried elsewhere.
#include "tests/end_to_end/cli_fixture.h"

namespace inlay {
namespace {

class CliEngines : public Cli, public ::testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    Cli::SetUp();
    if (!fs::exists(fs::path(INLAY_PLUGIN_DIR) / (GetParam() + ".so"))) {
      GTEST_SKIP() << "plugin " << GetParam() << " was left out: its library is not here";
    }
  }

  // Flags that leave the engine and the reference.
  static std::string alone() {
    std::string flags;
    for (const std::string name : {"onednn", "openblas", "openvino", "onnxruntime"}) {
      if (name != GetParam() && fs::exists(fs::path(INLAY_PLUGIN_DIR) / (name + ".so"))) {
        flags += " --exclude " + name;
      }
    }
    return flags;
  }
};

TEST_P(CliEngines, TakesTheWholeModelAlone) {
  const std::string plan = path("e.plan").string();
  const Outcome placed =
      inlay("place " + small_model().string() + alone() + " --strategy single --json -o " + plan);
  ASSERT_EQ(placed.status, 0) << placed.err;
  const Json report = Json::parse(placed.out);
  EXPECT_EQ(report["pricing"]["engines"][0]["plugin"], GetParam());
  const auto contender = std::find_if(report["contenders"].begin(), report["contenders"].end(),
                                      [](const Json& c) { return c["name"] == GetParam(); });
  ASSERT_NE(contender, report["contenders"].end()) << placed.out;
  EXPECT_EQ((*contender)["nodes_by_plugin"][GetParam()], 8);  // all of them
  const Outcome explained = inlay("explain " + plan + " --node conv1");
  ASSERT_EQ(explained.status, 0) << explained.err;
  EXPECT_NE(explained.out.find("conv1 + relu1 + conv2 + sum + relu2 + 3 more\n"), std::string::npos)
      << explained.out;
}

TEST_P(CliEngines, PinnedRegionRunsAndTravelsInABundle) {
  const std::string plan = path("p.plan").string();
  const Outcome placed =
      inlay("place " + small_model().string() + alone() + " --pin conv1=" + GetParam() +
            " --pin fc=" + GetParam() + " --json -o " + plan);
  ASSERT_EQ(placed.status, 0) << placed.err;
  const Outcome run = inlay("run " + plan + " --check-against reference --repeat 2");
  EXPECT_EQ(run.status, 0) << run.out << run.err;
  // Nothing but the bundle: no plugin path, no home.
  ASSERT_EQ(inlay("bundle " + plan + " -o " + path("b").string()).status, 0);
  const std::string command = "cd / && env -i '" + path("b/run").string() + "' --seed 1 >'" +
                              path("out").string() + "' 2>'" + path("err").string() + "'";
  EXPECT_EQ(std::system(command.c_str()), 0) << slurp(path("err"));
}

INSTANTIATE_TEST_SUITE_P(All, CliEngines, testing::Values("openvino", "onnxruntime"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace inlay
