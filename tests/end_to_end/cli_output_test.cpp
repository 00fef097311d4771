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
  for (const char* command : {"stats", "verify", "export -", "clear --all"}) {
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
       {"measured", "from_database", "free", "declined", "failed", "untried", "hopeless"}) {
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
  // The rest is conversions and dispatch.
  const Json report = Json::parse(slurp(path("s.report.json")));
  double total_ns = 0;
  double regions_ns = 0;
  for (const Json& contender : report["contenders"]) {
    if (contender["name"] == report["winner"]) total_ns = contender["predicted_ns"];
  }
  for (const Json& row : report["by_plugin"]) regions_ns += row["predicted_ns"].get<double>();
  EXPECT_NEAR(share, regions_ns / total_ns, 1e-9);
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
       {"random inputs (default: 1)", "after the first (default: 10)", "(default: 0.001)",
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

TEST_F(CliOutput, MistypedPluginsAndPathsAreRefusedBeforeTheWork) {
  const std::string place = "place " + small_model().string();
  expect_one_clear_error(inlay("plugins --exclude onedmm"),
                         "--exclude onedmm: there is no such plugin; nearest: onednn");
  expect_one_clear_error(inlay("plugins --with " + path("nosuch.so").string()),
                         "nosuch.so: there is no such file or folder");
  fs::create_directory(path("empty"));
  expect_one_clear_error(inlay("plugins --with " + path("empty").string()), "found none in this");
  expect_one_clear_error(inlay(place + " --pin conv1=onedmm"), "nearest: onednn");
  expect_one_clear_error(inlay(place + " --pin conv_1=onednn"), "nearest: conv1");
  expect_one_clear_error(inlay(place + " --exclude onednn --pin conv1=onednn"), "is excluded");
  expect_one_clear_error(inlay(place + " --db " + path("nosuch/x.sqlite").string()),
                         "' does not exist");
  EXPECT_FALSE(fs::exists(path("nosuch")));
  for (const char* seed : {"-1", "1.5", "18446744073709551616", "one", "010"}) {
    const Outcome refused = inlay(place + " --seed " + seed);
    expect_one_clear_error(refused, "expected a whole number from 0");
    EXPECT_EQ(refused.status, 2);
  }
}

TEST_F(CliOutput, WhatIsNoDatabaseOfRowsIsToldAndLeftAlone) {
  small_plan();
  const std::string rows = path("rows.jsonl").string();
  ASSERT_EQ(inlay("db export " + rows).status, 0);
  const std::string before = slurp(rows);
  expect_one_clear_error(inlay("db merge " + rows), "db import takes over its rows");
  write_file(path("empty"), "");
  expect_one_clear_error(inlay("db merge " + path("empty").string()), "expected a cost database");
  EXPECT_EQ(slurp(path("empty")), "");
  expect_one_clear_error(inlay("db import " + database_.string()), "db merge takes over its rows");
  const Outcome foreign = inlay("db stats --db " + rows);
  expect_one_clear_error(foreign, "is not a cost database; it is left as it is");
  EXPECT_EQ(foreign.err.find("delete"), std::string::npos) << foreign.err;
  EXPECT_EQ(slurp(rows), before);
  expect_one_clear_error(inlay("db clear --plugin onedmm"), "holds no rows of it; nearest: onednn");
}

TEST_F(CliOutput, MistypedCommandsAndFlagsSuggestTheNearest) {
  const std::pair<const char*, const char*> cases[] = {
      {"plce m.onnx", "inlay: no command 'plce'; nearest: place"},
      {"place m.onnx --remesure", "inlay place: no flag '--remesure'; nearest: --remeasure"},
      {"place m.onnx --budget 1 --sede=3", "inlay place: no flag '--sede'; nearest: --seed"},
      {"db stat", "inlay db: no command 'stat'; nearest: stats"},
      {"zoo lst", "nearest: list"}};
  for (const auto& [arguments, message] : cases) {
    const Outcome outcome = inlay(arguments);
    EXPECT_EQ(outcome.status, 2) << arguments;
    expect_one_clear_error(outcome, message);
  }
}

TEST_F(CliOutput, ErrorsAreJsonWhereJsonIsAskedFor) {
  const Outcome missing = inlay("import " + path("none.onnx").string() + " --json");
  EXPECT_EQ(missing.status, 1);
  expect_has(missing.err, "inlay: error: ");
  const Json error = Json::parse(missing.out)["error"];
  EXPECT_EQ(error["code"], "not_found");
  EXPECT_EQ(error["status"], 1);
  expect_has(error["message"], "none.onnx");
  const Outcome usage = inlay("place m.onnx --json --nosuch");
  EXPECT_EQ(usage.status, 2);
  EXPECT_EQ(Json::parse(usage.out)["error"]["code"], "usage");
}

TEST_F(CliOutput, ACheckSaysWhatWasComparedHowAndWhatIsFurthestOff) {
  const std::string run = "run " + small_plan().string() + " --check-against reference";
  const Outcome right = inlay(run);
  ASSERT_EQ(right.status, 0) << right.err;
  expect_has(right.out, " of 10 runs, best ");
  expect_has(right.out,
             "output fc: agrees with the whole model run on reference: 10 elements, each within ");
  expect_has(right.out, ", 0.001 of the largest; furthest off is element ");
}

// What was measured before is measured again and replaced.
TEST_F(CliOutput, RemeasuringTakesNothingFromTheDatabase) {
  small_plan();
  const Outcome again = inlay("place " + small_model().string() + " -o " + path("r.plan").string() +
                              " --remeasure --json");
  ASSERT_EQ(again.status, 0) << again.err;
  const Json report = Json::parse(again.out);
  EXPECT_EQ(report["pricing"]["from_database"], 0);
  EXPECT_GT(report["pricing"]["measured"], 0);
  for (const Json& race : report["races"]) EXPECT_FALSE(race["from_database"].get<bool>());
}

// out/run does with a plan what inlay run does.
TEST_F(CliOutput, ABundlesOwnProgramTakesAndTellsTheSame) {
  const std::string plan = small_plan().string();
  ASSERT_EQ(inlay("bundle " + plan + " -o " + path("b").string()).status, 0);
  const auto bundle = [&](const std::string& arguments) {
    const std::string command = "'" + path("b/run").string() + "' " + arguments + " >'" +
                                path("out").string() + "' 2>'" + path("err").string() + "'";
    const int status = std::system(command.c_str());
    return Outcome{WEXITSTATUS(status), slurp(path("out")), slurp(path("err"))};
  };
  const std::string npz = path("x.npz").string();
  ASSERT_EQ(inlay("run " + plan + " --save-inputs " + npz + " -o " + path("y.npy").string()).status,
            0);
  const Outcome array = bundle("-i " + npz + " -o " + path("b.npy").string() + " --repeat 2");
  ASSERT_EQ(array.status, 0) << array.err;
  EXPECT_EQ(slurp(path("b.npy")), slurp(path("y.npy")));
  expect_has(array.out, " of 2 runs, best ");
  ASSERT_EQ(bundle("-i " + npz + " -o " + path("b.npz").string()).status, 0);
  EXPECT_TRUE(slurp(path("b.npz")).starts_with("PK"));
  const Outcome json = bundle("--seed 2 --json");
  ASSERT_EQ(json.status, 0) << json.err;
  EXPECT_EQ(Json::parse(json.out)["outputs"][0]["name"], "fc");
  EXPECT_EQ(Json::parse(json.out)["runs"], 10);
  EXPECT_EQ(bundle("-o y.txt").status, 1);
  EXPECT_EQ(bundle("--nosuch").status, 2);
  EXPECT_EQ(bundle("--seed -1").status, 2);
  expect_has(bundle("-i " + path("y.npy").string()).err, "input 'x' expects f32[1x16x12x12]");
  EXPECT_EQ(Json::parse(bundle("-i none.npy --json").out)["error"]["code"], "not_found");
}

TEST_F(CliOutput, PatternsFitATerminal) {
  const Outcome outcome = inlay("plugins --patterns");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  std::istringstream lines(outcome.out.substr(outcome.out.find("\n\n")));  // after the table
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

}  // namespace
}  // namespace inlay
