// What the inlay program tells a newcomer: names of files and nodes, defaults, counts that add up.
#include <map>
#include <sstream>

#include "tests/end_to_end/cli_fixture.h"

namespace inlay {
namespace {

class CliOutput : public Cli {
 protected:
  // The small model, placed from measurements that all tests here share.
  fs::path small_plan() {
    reuse_measurements();
    const fs::path plan = path("s.plan");
    const Outcome placed = inlay("place " + small_model().string() + " -o " + plan.string());
    EXPECT_EQ(placed.status, 0) << placed.err;
    placed_ = placed.out;
    return plan;
  }

  std::string placed_;  // what placing printed
};

void expect_has(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in:\n" << text;
}

TEST_F(CliOutput, PlaceAndRunNameEveryFileTheyWrite) {
  const std::string plan = small_plan().string();
  for (const char* file : {"s.plan", "s.weights", "s.report.json"}) {
    EXPECT_TRUE(fs::exists(path(file)));
    expect_has(placed_, "wrote " + path(file).string() + ": ");
  }
  const Outcome run = inlay("run " + plan + " --seed 3 --save-inputs " + path("x.npz").string() +
                            " -o " + path("y.npz").string());
  ASSERT_EQ(run.status, 0) << run.err;
  expect_has(run.out, "wrote " + path("x.npz").string() + ": 1 input\n");
  expect_has(run.out, "wrote " + path("y.npz").string() + ": 1 output\n");
}

// By whatever name: through a link, or another way to the folder.
TEST_F(CliOutput, NoFileThatIsReadOrWrittenBesidesIsOverwritten) {
  const std::string plan = small_plan().string();
  const std::string model = small_model().string();
  const std::string npz = path("x.npz").string();
  ASSERT_EQ(inlay("run " + plan + " --save-inputs " + npz).status, 0);
  fs::create_symlink(npz, path("link.npz"));
  const std::string database = (path("c.sqlite")).string();
  ASSERT_EQ(inlay("db export " + path("rows.jsonl").string()).status, 0);
  const std::string before = slurp(model);

  expect_one_clear_error(inlay("place " + model + " -o " + model), "ending in .plan");
  expect_one_clear_error(inlay("run " + plan + " -i " + npz + " -o " + path("link.npz").string()),
                         "is an input itself");
  expect_one_clear_error(inlay("run " + plan + " --save-inputs " + path("z.npz").string() + " -o " +
                               (path("z.npz").parent_path() / "." / "z.npz").string()),
                         "is what --save-inputs writes itself");
  expect_one_clear_error(inlay("db export " + database_.string()), "is the database itself");
  expect_one_clear_error(inlay("db merge " + database_.string()), "is the database itself");
  EXPECT_EQ(slurp(model), before);
  EXPECT_EQ(inlay("db verify").status, 0);
}

TEST_F(CliOutput, AReportOfAnotherPlanOfTheModelIsRefused) {
  const std::string plan = small_plan().string();
  ASSERT_EQ(
      inlay("place " + small_model().string() + " --fuse off -o " + path("other.plan").string())
          .status,
      0);
  fs::copy_file(path("s.report.json"), path("other.report.json"),
                fs::copy_options::overwrite_existing);
  expect_one_clear_error(inlay("explain " + path("other.plan").string()), "is of another plan");
}

TEST_F(CliOutput, SavedInputsGiveTheSameOutputsAgain) {
  const std::string run = "run " + small_plan().string();
  ASSERT_EQ(inlay(run + " --seed 3 --save-inputs " + path("x.npz").string() + " -o " +
                  path("y.npy").string())
                .status,
            0);
  ASSERT_EQ(
      inlay(run + " -i " + path("x.npz").string() + " -o " + path("again.npy").string()).status, 0);
  ASSERT_EQ(inlay(run + " --seed 4 -o " + path("other.npy").string()).status, 0);
  EXPECT_EQ(slurp(path("y.npy")), slurp(path("again.npy")));
  EXPECT_NE(slurp(path("y.npy")), slurp(path("other.npy")));
  expect_one_clear_error(inlay(run + " --save-inputs x.txt"), "ending in .npz");
}

TEST_F(CliOutput, ArrayOfAnotherNameIsRefusedAndAPositionIsTold) {
  const std::string run = "run " + small_plan().string();
  const std::string npz = path("y.npz").string();
  const std::string npy = path("x.npy").string();
  ASSERT_EQ(inlay(run + " -o " + npz).status, 0);  // holds 'fc'
  const Outcome refused = inlay(run + " -i " + npz);
  expect_one_clear_error(refused, npz + ": array 'fc' is no input of the plan");
  expect_one_clear_error(refused, "'x' f32[1x16x12x12]");
  expect_one_clear_error(inlay(run + " -i nosuch=" + npz), "the plan has no input 'nosuch'");

  // NumPy's header of version 1, then zeros: an array without a name.
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 16, 12, 12), }";
  header.append(128 - 10 - header.size() - 1, ' ');
  const std::string data(16 * 12 * 12 * 4, '\0');
  write_file(npy, std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n" + data);
  const Outcome taken = inlay(run + " -i " + npy);
  EXPECT_EQ(taken.status, 0) << taken.err;
  expect_has(taken.out, npy + ": has no name, taken as input 'x' by its position\n");
  const Outcome named = inlay(run + " -i x=" + npy);
  EXPECT_EQ(named.status, 0) << named.err;
  EXPECT_EQ(named.out.find("has no name"), std::string::npos) << named.out;
  expect_one_clear_error(inlay(run + " -i " + npy + " -i " + npy), "every input is given already");
  expect_one_clear_error(inlay(run + " -i x=" + npy + " -i x=" + npy), "given twice");
}

TEST_F(CliOutput, ReadingADatabaseThatIsNotThereMakesNone) {
  const std::string file = path("none.sqlite").string();
  for (const char* command : {"stats", "stats --json", "verify", "export -", "clear --all"}) {
    expect_one_clear_error(inlay("db " + std::string(command) + " --db " + file),
                           file + ": there is no such cost database");
    EXPECT_FALSE(fs::exists(file)) << command;
  }
  expect_one_clear_error(inlay("db merge " + file), file);
  expect_one_clear_error(inlay("explain " + path("none.plan").string()), "none.plan");
  EXPECT_FALSE(fs::exists(database_)) << "merging from nowhere made the database to merge into";
}

TEST_F(CliOutput, DatabaseRowsOfTheHostAreNamed) {
  small_plan();
  const Outcome stats = inlay("db stats --json");
  ASSERT_EQ(stats.status, 0) << stats.err;
  bool has_host = false;
  const Json json = Json::parse(stats.out);
  for (const Json& group : json["groups"]) {
    EXPECT_NE(group["plugin"], "");
    has_host |= group["plugin"] == "host";
  }
  EXPECT_TRUE(has_host) << stats.out;
}

TEST_F(CliOutput, EveryCandidateFallsInExactlyOneColumn) {
  small_plan();
  const Json pricing = Json::parse(slurp(path("s.report.json")))["pricing"];
  int sum = 0;
  for (const char* column :
       {"measured", "from_database", "free", "declined", "failed", "untried"}) {
    sum += pricing[column].get<int>();
  }
  EXPECT_EQ(sum, pricing["candidates"]) << pricing;
  EXPECT_GE(pricing["free"], 1) << "the model has a reshape";
  EXPECT_GE(pricing["declined"], 1);
}

TEST_F(CliOutput, ExplainShowsWhatEachCandidateCoversAndListsNodes) {
  const std::string explain = "explain " + small_plan().string();
  const Outcome conv = inlay(explain + " --node conv1");
  ASSERT_EQ(conv.status, 0) << conv.err;
  expect_has(conv.out, "\nconv1 + relu1\n");
  expect_has(conv.out, "\nconv1\n");
  EXPECT_EQ(conv.out.find("step 0"), std::string::npos) << conv.out;
  EXPECT_EQ(conv.out.find("plugin 'onednn' declines"), std::string::npos) << conv.out;

  const Outcome listed = inlay(explain + " --nodes --json");
  ASSERT_EQ(listed.status, 0) << listed.err;
  const Json nodes = Json::parse(listed.out);
  ASSERT_EQ(nodes.size(), 8u);
  EXPECT_EQ(nodes[0]["name"], "conv1");
  EXPECT_EQ(nodes[0]["op"], "Conv");
  double share = 0;
  for (const Json& node : nodes) share += node.value("share", 0.0);
  EXPECT_NEAR(share, 1, 1e-9);
  expect_has(inlay(explain + " --nodes").out, "conv2");
  expect_one_clear_error(inlay(explain + " --node convolution1"), "nearest: conv1, conv2");
  expect_one_clear_error(inlay(explain + " --node convolution1"), "explain --nodes lists all 8");
  expect_one_clear_error(inlay(explain + " --node conv1 --steps"), "expected one of");
}

// A convolution with batch norm, and GELU as exporters unroll it.
fs::path unrolled_model(const fs::path& file) {
  GraphBuilder b("unrolled");
  const auto filled = [&b](const std::string& name, Shape shape, float value) {
    const auto count = static_cast<std::size_t>(element_count(shape));
    return b.constant(name, Tensor::from<float>(shape, std::vector<float>(count, value)));
  };
  using Ints = std::vector<std::int64_t>;
  const ValueId conv = b.node(
      "conv", "Conv", {b.input("x", {DType::kF32, {1, 2, 4, 4}}), filled("w", {2, 2, 1, 1}, 0.5f)},
      {{"kernel_shape", Ints{1, 1}},
       {"strides", Ints{1, 1}},
       {"pads", Ints{0, 0, 0, 0}},
       {"dilations", Ints{1, 1}},
       {"group", std::int64_t{1}}});
  const ValueId bn = b.node("bn", "BatchNormalization",
                            {conv, filled("scale", {2}, 2), filled("bias", {2}, 1),
                             filled("mean", {2}, 0), filled("var", {2}, 1)},
                            {{"epsilon", 1e-5f}});
  const ValueId erf =
      b.node("erf", "Erf", {b.node("div", "Div", {bn, filled("root", {}, 1.41421356f)})});
  const ValueId one = b.node("one", "Add", {erf, filled("1", {}, 1)});
  b.output(b.node("half", "Mul", {b.node("mul", "Mul", {bn, one}), filled("0.5", {}, 0.5f)}));
  export_onnx(b.build(), file);
  return file;
}

TEST_F(CliOutput, ImportCountsRewritesAndListsThemWithTheirNodesWhenAsked) {
  const std::string import = "import " + unrolled_model(path("u.onnx")).string();
  const Outcome counted = inlay(import);
  ASSERT_EQ(counted.status, 0) << counted.err;
  expect_has(counted.out, "change: fold-batch-norm: 2 nodes; changes rounding\n");
  EXPECT_EQ(counted.out.find("bn"), std::string::npos) << counted.out;

  const Outcome listed = inlay(import + " --show-changes");
  ASSERT_EQ(listed.status, 0) << listed.err;
  expect_has(listed.out, "fold-batch-norm (changes rounding): conv, bn\n");
  const Outcome json = inlay(import + " --json");
  ASSERT_EQ(json.status, 0) << json.err;
  const Json changes = Json::parse(json.out)["changes"];
  std::size_t lines = 0;
  bool has_gelu = false;
  for (const Json& change : changes) {
    const std::string kind = change["kind"];
    expect_has(listed.out, "\n  " + kind);
    for (const Json& node : change["nodes"]) expect_has(listed.out, node.get<std::string>());
    has_gelu |=
        std::find(change["nodes"].begin(), change["nodes"].end(), "erf") != change["nodes"].end();
    ++lines;
  }
  EXPECT_GE(lines, 2u);
  EXPECT_TRUE(has_gelu) << changes;
}

// A network of the zoo is exported as users' files are, and import puts its operators together.
TEST_F(CliOutput, ExportedTransformerIsRecognizedWithTheSameCounts) {
  const auto imported = [&](const std::string& flags) {
    const std::string model = path("vit.onnx").string();
    EXPECT_EQ(inlay("zoo export vit_tiny16 -o " + model + flags).status, 0);
    const Outcome outcome = inlay("import " + model + " --json");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return Json::parse(outcome.out);
  };
  const Json unrolled = imported("");
  const Json whole = imported(" --opset 20");
  EXPECT_EQ(unrolled["opset"], 16);
  std::map<std::string, int> kinds;
  for (const Json& change : unrolled["changes"]) ++kinds[change["kind"].get<std::string>()];
  EXPECT_EQ(kinds["recognize-gelu"], 12);
  EXPECT_EQ(kinds["recognize-layer-normalization"], 25);
  EXPECT_TRUE(whole["changes"].empty());
  for (const char* same : {"nodes", "operators", "parameters", "flops"}) {
    EXPECT_EQ(unrolled[same], whole[same]) << same;
  }
  expect_one_clear_error(inlay("zoo export vit_tiny16 --opset 15 -o " + path("v.onnx").string()),
                         "16");
}

TEST_F(CliOutput, ValueMakesAnInputAConstant) {
  GraphBuilder b("scaled");
  const ValueId x = b.input("x", {DType::kF32, {2}});
  b.output(b.node("mul", "Mul", {x, b.input("factor", {DType::kF32, {}})}));
  export_onnx(b.build(), path("scaled.onnx"));
  const std::string model = path("scaled.onnx").string();
  const Outcome imported = inlay("import " + model + " --value factor=2.5 --json");
  ASSERT_EQ(imported.status, 0) << imported.err;
  const Json inputs = Json::parse(imported.out)["inputs"];
  ASSERT_EQ(inputs.size(), 1u);
  EXPECT_EQ(inputs[0]["name"], "x");
  const Outcome placed =
      inlay("place " + model + " --value factor=2.5 -o " + path("v.plan").string());
  ASSERT_EQ(placed.status, 0) << placed.err;
  EXPECT_EQ(inlay("run " + path("v.plan").string() + " --check-against reference").status, 0);
  expect_one_clear_error(inlay("import " + model + " --value faktor=2"), "no input 'faktor'");
  expect_one_clear_error(inlay("import " + model + " --value factor=two"), "expected a number");
}

TEST_F(CliOutput, HelpNamesEveryDefault) {
  struct Case {
    const char* command;
    std::vector<const char*> defaults;
  };
  const Case cases[] = {
      {"place",
       {"mix (default: dynamic)", "measure and check (default: 1)", "measuring (default: no limit)",
        "to use (default: all there are)", "(default: on)", "(default: the model's name"}},
      {"run",
       {"random inputs (default: 1)", "after the first (default: 1)", "(default: 0.001)",
        "to use (default: the plan's)", "(default: random)"}},
      {"zoo export",
       {"size (default: 1)", "weights (default: 1)", "(default: as published)", "(default: 16)"}},
      {"explain", {"(default: a summary of the plan)"}},
      {"db stats", {"(default: $INLAY_DB, else"}}};
  for (const auto& [command, defaults] : cases) {
    const Outcome help = inlay(std::string(command) + " --help");
    EXPECT_EQ(help.status, 0) << command;
    for (const char* text : defaults) expect_has(help.out, text);
  }
  expect_has(inlay("db --help").out, "--json");
  expect_has(inlay("zoo --help").out, "--json");
}

TEST_F(CliOutput, ExamplePluginServesOnlyWhoAsksForIt) {
  EXPECT_EQ(inlay("plugins --json").out.find("\"template\""), std::string::npos);
  const Outcome asked = inlay("plugins --json --with '" INLAY_BINARY_DIR "/examples'");
  ASSERT_EQ(asked.status, 0) << asked.err;
  expect_has(asked.out, "\"template\"");
}

TEST_F(CliOutput, ExcludingAPluginThatIsNotThereIsTold) {
  const Outcome outcome = inlay("plugins --exclude onedmm");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  expect_has(outcome.err, "plugin=onedmm");
}

TEST_F(CliOutput, PatternsFitATerminal) {
  const Outcome outcome = inlay("plugins --patterns");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  std::istringstream lines(outcome.out.substr(outcome.out.find("\n\n")));  // after the table
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

}  // namespace
}  // namespace inlay
