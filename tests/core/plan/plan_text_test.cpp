#include "core/plan/plan_text.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/core/plan/sample_plan.h"

namespace inlay {
namespace {

// Parses, expects a refusal, and returns its message.
std::string refusal(const std::string& text) {
  try {
    parse_plan(text, "m.plan");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kCorrupt) << error.what();
    return error.what();
  }
  return "accepted";
}

std::string refusal_after(const std::function<void(Plan&)>& change, Plan plan = sample_plan()) {
  change(plan);
  return refusal(to_text(plan));
}

std::string replaced(const std::string& from, const std::string& to) {
  std::string text = to_text(sample_plan());
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(PlanText, ComesBackEqual) {
  for (const Plan& plan : {sample_plan(), sample_plan_with_parts()}) {
    EXPECT_EQ(parse_plan(to_text(plan), "m.plan"), plan);
  }
}

TEST(PlanText, IsTheSameForEqualPlans) {
  const std::string text = to_text(sample_plan());
  EXPECT_EQ(text, to_text(sample_plan()));
  EXPECT_EQ(text, to_text(parse_plan(text, "m.plan")));
}

TEST(PlanText, KeepsShortThingsOnOneLine) {
  const std::string text = to_text(sample_plan());
  EXPECT_NE(
      text.find("\n    {\"kind\":\"convert\",\"inputs\":[1],\"outputs\":[3],\"nodes\":[]},\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("[\"alpha\",{\"float\":0.1}]"), std::string::npos) << text;
}

TEST(PlanText, NamesThePlaceOfABadIndex) {
  EXPECT_EQ(refusal_after([](Plan& p) { p.steps[3].inputs[0] = 99; }),
            "m.plan: steps[3].inputs[0]: expected an index below 7, found 99");
  EXPECT_EQ(refusal_after([](Plan& p) { p.regions[0].nodes[1].inputs[0] = -2; }),
            "m.plan: regions[0].nodes[1].inputs[0]: expected an integer from -1 to 5, found -2");
}

TEST(PlanText, RefusesWhatIsNoPlan) {
  EXPECT_NE(refusal("").find("not JSON"), std::string::npos);
  EXPECT_NE(refusal("{").find("not JSON"), std::string::npos);
  EXPECT_EQ(refusal("[]"), "m.plan: format: expected \"inlay plan 1\"");
  EXPECT_EQ(refusal("{\"format\": \"inlay plan 2\"}"), "m.plan: format: expected \"inlay plan 1\"");
}

TEST(PlanText, RefusesMissingAndUnknownKeys) {
  EXPECT_EQ(refusal(replaced("\"threads\"", "\"heads\"")), "m.plan: expected the key 'threads'");
  EXPECT_EQ(refusal(replaced("{\"kind\":\"copy\",", "{\"kind\":\"copy\",\"extra\":1,")),
            "m.plan: steps[3]: unexpected key 'extra'");
}

// Both plugins exist and the plan stays well-formed, but a plugin may be handed what it never
// claimed.
TEST(PlanText, RefusesAPlanThatWasChangedAfterItWasWritten) {
  Plan changed = sample_plan();
  changed.model += "'";
  const std::string text = to_text(sample_plan());
  const std::size_t at = text.find("\"content_hash\"");
  ASSERT_NE(at, std::string::npos);
  const std::string mixed = to_text(changed).substr(0, to_text(changed).find("\"content_hash\""));
  EXPECT_NE(refusal(mixed + text.substr(at)).find("changed after it was written"),
            std::string::npos);
  // By hand, without the key: what is well-formed is accepted.
  const std::string by_hand = mixed.substr(0, mixed.rfind(',')) + "}";
  EXPECT_EQ(refusal(by_hand), "accepted");
}

TEST(PlanText, LeavesBuildsAndDevicesToTheirOwnCheck) {
  Plan plan = sample_plan();
  const std::string text = replaced(plan.plugins[0].build_id, "0000");
  plan.plugins[0].build_id = "0000";
  EXPECT_EQ(parse_plan(text, "m.plan"), plan);
}

TEST(PlanText, QuotesNothingOfWhatIsNoJson) {
  const std::string message = refusal("\x1b[2J\xff" + std::string(100000, 'x'));
  EXPECT_LT(message.size(), 100u) << message;
  EXPECT_EQ(message.find('\x1b'), std::string::npos);
}

TEST(PlanText, RefusesAKeyThatIsThereTwice) {
  EXPECT_EQ(refusal(replaced("{\"kind\":\"copy\",", "{\"kind\":\"copy\",\"kind\":\"copy\",")),
            "m.plan: document: the key 'kind' is there twice");
}

TEST(PlanText, RefusesDeepNesting) {
  const std::string deep(1000000, '[');
  EXPECT_NE(refusal(deep).find("nested deeper"), std::string::npos);
  EXPECT_NE(refusal("{\"format\":" + deep).find("nested deeper"), std::string::npos);
}

TEST(PlanText, RefusesNumbersOutOfRange) {
  for (const char* number : {"-1", "1e3", "1.5", "9223372036854775808", "99999999999999999999",
                             "1e999", "null", "\"512\"", "true"}) {
    const std::string text =
        replaced("\"arena_bytes\": 512", "\"arena_bytes\": " + std::string(number));
    EXPECT_NE(refusal(text), "accepted") << number;
  }
}

TEST(PlanText, RefusesShapesThatOverflow) {
  for (const char* type :
       {"f32[9223372036854775807x9223372036854775807]", "f32[99999999999999999999]", "f32[-1]",
        "f32[]", "f32[4x]", "f32[04]", "f32 [4]", "f33[4]", "string[4]", "none[4]", "f32[4", "f32",
        "f32[1099511627776x1099511627776]", "f32[1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1]"}) {
    EXPECT_NE(refusal(replaced("f32[4x32]", type)), "accepted") << type;
  }
  EXPECT_NE(refusal(replaced("\"aB8b\"", "\"aB9999b9999b9999b9999b9999b9999b\"")), "accepted");
}

TEST(PlanText, RefusesSizesThatDoNotFit) {
  EXPECT_EQ(refusal_after([](Plan& p) { p.values[3].offset_bytes = 320; }),
            "m.plan: values[3]: 256 bytes at 320 do not lie in the arena of 512, aligned to 64");
  EXPECT_NE(refusal_after([](Plan& p) { p.values[3].offset_bytes = 32; }), "accepted");
  EXPECT_NE(refusal_after([](Plan& p) { p.values[3].offset_bytes = ~std::uint64_t{63}; }),
            "accepted");
  EXPECT_NE(refusal_after([](Plan& p) { p.constants[0].size_bytes = 2044; }), "accepted");
  EXPECT_NE(refusal_after([](Plan& p) { p.constants[0].offset_bytes = 63; }), "accepted");
}

TEST(PlanText, RefusesMemoryThatIsStillNeeded) {
  EXPECT_EQ(refusal_after([](Plan& p) { p.values[3].offset_bytes = 0; }),
            "m.plan: steps[1].outputs[0]: value 3 overlaps value 1, which is still needed");
  EXPECT_EQ(refusal_after([](Plan& p) { p.values[3].offset_bytes = 192; }),
            "m.plan: steps[1].outputs[0]: value 3 overlaps value 1, which is still needed");
}

TEST(PlanText, AcceptsARunInPlaceOfAnInputThatDies) {
  Plan plan = sample_plan();
  // A second run, of Relu only, from value 1 into a new temporary at the same offset.
  Region relu;
  relu.values = {plan.regions[0].values[2], plan.regions[0].values[3]};
  relu.nodes = {{"relu", "", "Relu", {0}, {1}, {}}};
  relu.inputs = {0};
  relu.outputs = {1};
  plan.regions.push_back(relu);
  PlanValue in_place = plan.values[1];
  plan.values.push_back(in_place);
  plan.steps[1].inputs = {7};
  plan.steps[3] = {StepKind::kConvert, -1, -1, {3}, {4}, {}, {}};
  plan.steps[2] = plan.steps[1];
  plan.steps[1] = {StepKind::kRun, 0, 1, {1}, {7}, {}, {}};
  plan.values[5].storage = Storage::kTemporary;  // unused now
  plan.outputs = {4};
  EXPECT_EQ(parse_plan(to_text(plan), "m.plan"), plan);
  plan.steps.push_back({StepKind::kCopy, -1, -1, {2}, {5}, {}, {}});  // reads the old value again
  EXPECT_EQ(refusal(to_text(plan)),
            "m.plan: steps[1].outputs[0]: value 7 overlaps value 1, which is still needed");
}

TEST(PlanText, RefusesStepsOutOfOrder) {
  EXPECT_EQ(refusal_after([](Plan& p) { std::swap(p.steps[1], p.steps[2]); }),
            "m.plan: steps[1].inputs[0]: value 3 is read before it is written");
  EXPECT_EQ(refusal_after([](Plan& p) { p.steps.pop_back(); }),
            "m.plan: outputs: no step writes value 5");
  EXPECT_EQ(refusal_after([](Plan& p) { p.steps.push_back(p.steps.back()); }),
            "m.plan: steps[4].outputs[0]: value 5 is written twice");
  EXPECT_EQ(refusal_after([](Plan& p) { p.steps[0].outputs[0] = 6; }).substr(0, 34),
            "m.plan: steps[0].outputs[0]: the r");
  EXPECT_EQ(refusal_after([](Plan& p) { p.steps[3].outputs[0] = 2; }),
            "m.plan: steps[3].outputs[0]: value 2 of storage view cannot be written");
}

TEST(PlanText, RefusesStepsThatDoNotFitTheirRegion) {
  EXPECT_EQ(refusal_after([](Plan& p) { p.steps[0].inputs = {6}; }),
            "m.plan: steps[0].inputs[0]: the region expects f32[4x32] ab, found f32[32x16] ab");
  EXPECT_EQ(refusal_after([](Plan& p) { p.steps[0].inputs = {}; }),
            "m.plan: steps[0].inputs: the region has 1, found 0");
  EXPECT_EQ(
      refusal_after([](Plan& p) { p.steps[0].constants = {}; }),
      "m.plan: steps[0].constants: expected one for each constant of the region without bytes");
  EXPECT_EQ(refusal_after([](Plan& p) {
              p.steps[0].constants = {0, 0};
            }),
            "m.plan: steps[0].constants: expected 1, found 2");
}

TEST(PlanText, KeepsARegionsThreadsAndRefusesNone) {
  Plan plan = sample_plan();
  plan.regions[0].most_threads = 1;
  EXPECT_EQ(parse_plan(to_text(plan), "m.plan"), plan);
  EXPECT_EQ(to_text(sample_plan()).find("most_threads"), std::string::npos);
  EXPECT_NE(refusal_after([](Plan& p) { p.regions[0].most_threads = -1; }), "accepted");
}

TEST(PlanText, RefusesViewsOfOtherBytes) {
  EXPECT_NE(refusal_after([](Plan& p) { p.values[2].type.shape = {65}; }), "accepted");
  EXPECT_NE(refusal_after([](Plan& p) { p.values[2].view_of = 2; }), "accepted");
  EXPECT_NE(refusal_after([](Plan& p) { p.values[2].view_of = 3; }), "accepted");
  EXPECT_NE(refusal_after([](Plan& p) { p.values[2].type.dtype = DType::kI32; }), "accepted");
}

TEST(PlanText, RefusesPartsThatDoNotFillTheirValueOrAreStillNeeded) {
  const auto broken = [](const std::function<void(Plan&)>& change) {
    return refusal_after(change, sample_plan_with_parts());
  };
  EXPECT_EQ(broken([](Plan& p) { p.values[7].parts = {1}; }),
            "m.plan: values[7]: expected parts of 512 bytes together, found 256");
  EXPECT_EQ(broken([](Plan& p) {
              p.values[7].parts = {3, 1};
            }),
            "m.plan: values[7]: value 3 is no part of it at byte 0 of the arena");
  EXPECT_EQ(broken([](Plan& p) {
              p.values[7].parts = {1, 7};
            }),
            "m.plan: values[7]: expected parts that come earlier, found 7");
  EXPECT_EQ(broken([](Plan& p) {
              p.values[7].parts = {1, 1};
            }),
            "m.plan: values[7]: value 1 is no part of it at byte 256 of the arena");
  EXPECT_EQ(broken([](Plan& p) { std::swap(p.steps[1], p.steps[4]); }),
            "m.plan: steps[1].inputs[0]: value 3 is read before it is written");
  EXPECT_EQ(broken([](Plan& p) { p.steps[4].outputs = {7}; }),
            "m.plan: steps[4].outputs[0]: value 7 is made of its parts");
}

TEST(PlanText, RefusesBrokenRegions) {
  const auto broken = [](const std::function<void(Region&)>& change) {
    return refusal_after([&](Plan& p) { change(p.regions[0]); });
  };
  EXPECT_EQ(broken([](Region& r) { std::swap(r.nodes[0], r.nodes[1]); }),
            "m.plan: regions[0].nodes[0]: value 2 is read before it is written");
  EXPECT_EQ(broken([](Region& r) { r.values[4].constant.reset(); }),
            "m.plan: regions[0].values[4]: expected the bytes of a constant of up to 64 elements");
  EXPECT_NE(broken([](Region& r) { r.nodes[1].outputs = {2}; }), "accepted");
  EXPECT_NE(broken([](Region& r) { r.outputs = {0}; }), "accepted");
  EXPECT_NE(broken([](Region& r) { r.outputs = {}; }), "accepted");
  EXPECT_NE(broken([](Region& r) { r.inputs = {0, 0}; }), "accepted");
  EXPECT_NE(broken([](Region& r) { r.nodes[1].op = ""; }), "accepted");
}

TEST(PlanText, RefusesBytesOfAnotherLength) {
  EXPECT_EQ(refusal(replaced("\"bytes\":\"00000040\"", "\"bytes\":\"0000\"")),
            "m.plan: regions[0].values[4].bytes: expected the 4 bytes of f32[scalar], found "
            "\"0000\"");
  EXPECT_NE(refusal(replaced("\"bytes\":\"00000040\"", "\"bytes\":\"0000004g\"")), "accepted");
}

}  // namespace
}  // namespace inlay
