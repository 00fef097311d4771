// What helps who writes a plugin: match, doctor, --isolate, quarantine.
#include "tests/end_to_end/cli_fixture.h"

namespace inlay {
namespace {

class CliPlugins : public Cli {
 protected:
  static std::string example() { return INLAY_BINARY_DIR "/examples/template.so"; }

  Json json_of(const std::string& arguments, int status = 0) const {
    const Outcome outcome = inlay(arguments + " --json");
    EXPECT_EQ(outcome.status, status) << outcome.err << outcome.out;
    return Json::parse(outcome.out, nullptr, false);
  }

  // One row that says that a region crashed on the example's build.
  void put_crash() const {
    std::string build;
    for (const Json& plugin : json_of("plugins --with " + example())) {
      if (plugin.value("name", "") == "template") build = plugin["build_id"];
    }
    ASSERT_NE(build, "");
    const Json row{{"kind", "check"},      {"subject", "00ff"},
                   {"plugin", "template"}, {"build_id", build},
                   {"library", ""},        {"fingerprint", ""},
                   {"threads", 1},         {"knobs", ""},
                   {"status", "crashed"},  {"ns", 0.0},
                   {"low_ns", 0.0},        {"high_ns", 0.0},
                   {"samples", 0},         {"reason", "crashed: signal 11, running Relu(x)"},
                   {"detail", ""},         {"time", 1},
                   {"version", "0"}};
    write_file(path("rows.jsonl"), row.dump() + "\n");
    const Outcome imported = inlay("db import " + path("rows.jsonl").string());
    ASSERT_EQ(imported.status, 0) << imported.err;
  }
};

TEST_F(CliPlugins, MatchShowsMatchesAndWhyOthersNearlyMatch) {
  GraphBuilder b("matched");
  const ValueId x = b.input("x", {DType::kF32, {2, 8}});
  const ValueId s = b.constant("s", Tensor::from<float>({1}, {2.0f}));
  const ValueId scaled = b.node("scaled", "Mul", {x, s});
  const ValueId z = b.input("z", {DType::kF32, {2, 8}});
  b.output(b.node("activated", "Relu", {b.node("added", "Add", {scaled, z})}));
  export_onnx(b.build(), path("m.onnx"));
  const std::string command = "match " + example() + " " + path("m.onnx").string();

  const Outcome text = inlay(command);
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_NE(text.out.find("template covers 1 of 3 nodes"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("scaled_add nearly matches\n  Add 'added': "), std::string::npos)
      << text.out;

  const Json json = json_of(command);
  EXPECT_EQ(json["covered"], 1);
  EXPECT_EQ(json["patterns"][0]["matches"][0]["nodes"][0], "activated");
  EXPECT_EQ(json["patterns"][1]["near_misses"][0]["node"], "added");
}

TEST_F(CliPlugins, MatchRefusesWhatIsNoPlugin) {
  const fs::path model = small_model();
  expect_one_clear_error(inlay("match nothing " + model.string()), "found neither");
  expect_one_clear_error(inlay("match " + model.string() + " " + model.string()), "ELF");
}

TEST_F(CliPlugins, DoctorIsContentWithASoundInstallation) {
  const Json json = json_of("doctor --with " + example());
  EXPECT_EQ(json["ok"], true) << json.dump(2);
  EXPECT_FALSE(json["database"]["exists"]);
  EXPECT_NE(json["worker"]["path"].get<std::string>().find("inlay-worker"), std::string::npos);
  bool is_there = false;
  for (const Json& plugin : json["plugins"]) {
    if (plugin["name"] != "template") continue;
    is_there = true;
    EXPECT_EQ(plugin["state"], "used");
    EXPECT_EQ(plugin["device"], "cpu");
  }
  EXPECT_TRUE(is_there);
  const Outcome text = inlay("doctor");
  EXPECT_EQ(text.status, 0);
  EXPECT_NE(text.out.find("all is well"), std::string::npos) << text.out;
}

TEST_F(CliPlugins, DoctorTellsWhatIsRefusedAndWhatIsShadowedByChoice) {
  write_file(path("broken.so"), "not a library");
  fs::copy_file(INLAY_PLUGIN_DIR "/reference.so", path("reference.so"));
  const Json json = json_of("doctor --with " + folder_.string(), 1);
  EXPECT_EQ(json["ok"], false);
  ASSERT_EQ(json["problems"].size(), 1u) << json["problems"].dump(2);
  EXPECT_NE(json["problems"][0].get<std::string>().find("broken.so: refused"), std::string::npos);
  int passed_over = 0;
  for (const Json& plugin : json["plugins"]) {
    if (plugin["state"] != "passed over") continue;
    ++passed_over;
    EXPECT_EQ(plugin["name"], "reference");
    EXPECT_NE(plugin["reason"].get<std::string>().find("shadowed by"), std::string::npos);
  }
  EXPECT_EQ(passed_over, 1);
}

TEST_F(CliPlugins, DoctorTellsOfVariablesThatMatter) {
  ASSERT_EQ(::setenv("OPENBLAS_CORETYPE", "Haswell", 1), 0);
  const Json json = json_of("doctor");
  ASSERT_EQ(::unsetenv("OPENBLAS_CORETYPE"), 0);
  EXPECT_NE(json["environment"].dump().find("Haswell"), std::string::npos) << json.dump(2);
}

TEST_F(CliPlugins, QuarantineIsShownAndCanBeLifted) {
  put_crash();
  const std::string doctor = "doctor --with " + example();
  const Json sick = json_of(doctor, 1);
  EXPECT_NE(sick["problems"].dump().find("in quarantine"), std::string::npos) << sick.dump(2);
  EXPECT_NE(sick["plugins"].dump().find("crashed: signal 11, running Relu(x)"), std::string::npos);
  const Outcome text = inlay(doctor);
  EXPECT_NE(text.out.find("template in quarantine since 1970-01-01"), std::string::npos)
      << text.out;
  EXPECT_EQ(inlay("db clear --quarantine").status, 0);
  EXPECT_EQ(json_of(doctor)["ok"], true);
}

TEST_F(CliPlugins, AnIsolatedPluginIsPlacedAndRun) {
  const fs::path model = small_model();
  const std::string flags = " --with " + example() + " --isolate template";
  const Outcome placed =
      inlay("place " + model.string() + flags + " --pin relu1=template --strategy dynamic -o " +
            path("m.plan").string() + " --budget 1");
  ASSERT_EQ(placed.status, 0) << placed.err;
  const Outcome run =
      inlay("run " + path("m.plan").string() + flags + " --seed 1 --check-against reference");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_NE(run.out.find("agrees"), std::string::npos) << run.out;
  expect_one_clear_error(
      inlay("run " + path("m.plan").string() + " --with " + example() + " --isolate tempalte"),
      "--isolate tempalte: there is no such plugin; nearest: template");
}

}  // namespace
}  // namespace inlay
