// What the texts made from a report say.
#include <gtest/gtest.h>

#include <string>

#include "core/base/error.h"
#include "search/report/report.h"

namespace inlay {
namespace {

Report cost(double ns) {
  return {{"ns", ns}, {"low_ns", 0.99 * ns}, {"high_ns", 1.01 * ns}, {"samples", 10}};
}

Report candidate(const char* plugin, const std::vector<std::string>& nodes, double ns,
                 bool is_chosen = false) {
  return {{"plugin", plugin},        {"pattern", "p"},           {"nodes", nodes},
          {"input_layouts", {"ab"}}, {"output_layouts", {"ab"}}, {"chosen", is_chosen},
          {"cost", cost(ns)},        {"most_threads", 0}};
}

Report refusal(const char* plugin, const std::vector<std::string>& nodes, const char* reason) {
  Report json = candidate(plugin, nodes, 0);
  json.erase("cost");
  json["reason"] = reason;
  return json;
}

// conv and relu fused on fast: cheaper than the two alone, dearer than either.
Report fused_report() {
  const Report whole = candidate("fast", {"conv", "relu"}, 1000, true);
  // 1000 and 3000 in regions, 800 of conversions, 200 of dispatch.
  Report report{{"inlay_report", kReportVersion},
                {"winner", "placement"},
                {"contenders", {{{"name", "placement"}, {"predicted_ns", 5000}}}},
                {"boundaries",
                 {{"dispatch_ns_per_step", 100}, {"conversion_ns", 800}, {"dispatch_ns", 200}}},
                {"nodes", Report::array()}};
  report["nodes"].push_back(
      {{"name", "conv"},
       {"op", "Conv"},
       {"output", "f32[2]"},
       {"candidates",
        {whole, candidate("fast", {"conv"}, 800), candidate("slow", {"conv"}, 900),
         refusal("picky", {"conv"}, "declined: no"), refusal("picky", {"conv"}, "declined: no")}},
       {"why_not", {{{"plugin", "blas"}, {"pattern", "gemm"}, {"reason", "it is no Gemm"}}}}});
  report["nodes"].push_back({{"name", "relu"},
                             {"op", "Relu"},
                             {"output", "f32[2]"},
                             {"candidates", {whole, candidate("slow", {"relu"}, 700)}},
                             {"why_not", Report::array()}});
  report["nodes"].push_back({{"name", "last"},
                             {"op", "Relu"},
                             {"output", "f32[2]"},
                             {"candidates", {candidate("slow", {"last"}, 3000, true)}},
                             {"why_not", Report::array()}});
  return report;
}

void expect_has(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in:\n" << text;
}

TEST(ExplainNode, SetsAFusedRegionBesideTheCheapestPieces) {
  const Report region = explain_node(fused_report(), "conv")["region"];
  EXPECT_EQ(region["nodes"], (Report{"conv", "relu"}));
  EXPECT_EQ(region["ns"], 1100);                  // one dispatch
  EXPECT_EQ(region["in_pieces_ns"], 1500 + 200);  // two
  ASSERT_EQ(region["pieces"].size(), 2u);
  EXPECT_EQ(region["pieces"][0]["plugin"], "fast");
  EXPECT_EQ(region["pieces"][1]["plugin"], "slow");
  EXPECT_FALSE(explain_node(fused_report(), "last").contains("region"));
}

TEST(ExplainNode, IsFusedWithTheOthersOnly) {
  const std::string text = render_node(fused_report(), "relu");
  expect_has(text, "fused with conv: 1.10 us for 2 nodes, against 1.70 us for the cheapest pieces");
  EXPECT_EQ(text.find("fused with conv, relu"), std::string::npos) << text;
}

TEST(ExplainNode, ShowsWhatEachCandidateCoversTheChosenSetFirst) {
  const std::string text = render_node(fused_report(), "conv");
  const std::size_t whole = text.find("\nconv + relu\n");
  const std::size_t alone = text.find("\nconv\n");
  ASSERT_NE(whole, std::string::npos) << text;
  ASSERT_NE(alone, std::string::npos) << text;
  EXPECT_LT(whole, alone);
  EXPECT_LT(text.find("800 ns"), text.find("900 ns")) << "the cheapest of a set first\n" << text;
}

TEST(ExplainNode, ClaimsNoTimeBelowWhatAStepCosts) {
  Report report = fused_report();
  report["nodes"][2]["candidates"][0]["cost"] = cost(1);
  const std::string text = render_node(report, "last");
  expect_has(text, "  ≈0 ");
  EXPECT_EQ(text.find("1.00 ns"), std::string::npos) << text;
}

TEST(ExplainNode, TellsEqualRefusalsOnce) {
  expect_has(render_node(fused_report(), "conv"), "picky p (conv): declined: no (2 layouts)\n");
}

TEST(ExplainNode, NamesOfTheFileStayInTheirLine) {
  std::string json = fused_report().dump();
  const std::string odd = "c\x1b[2J\n" + std::string(5000, 'n');
  for (std::size_t at = 0; (at = json.find("\"conv\"", at)) != std::string::npos; ++at) {
    json.replace(at, 6, Report(odd).dump());
  }
  const Report report = Report::parse(json);
  for (const std::string& text : {render_node(report, odd), render_node(report, "relu"),
                                  render_nodes(report)}) {
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
    EXPECT_EQ(text.find("\nn"), std::string::npos) << text;
    EXPECT_EQ(text.find(std::string(500, 'n')), std::string::npos);
    expect_has(text, "c\\x1b[2J; n");
  }
  EXPECT_EQ(render_node(report, odd).find("fused with c"), std::string::npos);
}

TEST(ExplainNode, NamesTheNearestNodesOfAWrongName) {
  try {
    render_node(fused_report(), "Conv_0");
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kNotFound);
    expect_has(error.what(), "nearest: conv, ");
    expect_has(error.what(), "explain --nodes lists all 3");
  }
}

TEST(ListNodes, SharesAreOfTheWholePlanAndFusedNodesPointToTheirRegion) {
  const Report rows = list_nodes(fused_report());
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0]["share"], 0.2);
  EXPECT_EQ(rows[1]["fused_into"], "conv");
  EXPECT_FALSE(rows[1].contains("share"));
  EXPECT_EQ(rows[2]["share"], 0.6);
  expect_has(render_nodes(fused_report()),
             "shares are of the plan's predicted 5.00 us, in which layout conversions are 16.0% and "
             "dispatch is 4.0%\n");
}

// Three contenders, of which the third is raced and not told apart.
Report raced_report(double low, double high) {
  const auto contender = [](const char* name, Report nodes, bool is_raced) {
    Report json{{"name", name},     {"strategy", "single"}, {"predicted_ns", 1000},
                {"bound_ns", 1000}, {"stop", "optimal"},    {"states", 1},
                {"steps", 1},       {"plugins", {name}},    {"nodes_by_plugin", std::move(nodes)}};
    if (is_raced) json["measured"] = cost(1000);
    if (!is_raced) json["why_not_raced"] = "predicted 9.0 times slower";
    return json;
  };
  return {
      {"inlay_report", kReportVersion},
      {"model", "m"},
      {"threads", 1},
      {"nodes_total", 1},
      {"winner", "placement"},
      {"contenders",
       {contender("placement", {{"onednn", 4}, {"openblas", 1}}, true),
        contender("onednn", {{"onednn", 2}, {"reference", 3}}, true),
        contender("openblas", {{"openblas", 4}, {"reference", 1}}, false)}},
      {"not_considered", {{{"plugin", "acme"}, {"reason", "3 nodes cannot run on it"}}}},
      {"races",
       {{{"first", "placement"},
         {"second", "onednn"},
         {"log_ratio", (low + high) / 2},
         {"log_ratio_low", low},
         {"log_ratio_high", high},
         {"pairs", 1},
         {"from_database", false}}}},
      {"by_plugin", {{{"plugin", "onednn"}, {"nodes", 1}, {"regions", 1}, {"predicted_ns", 1000}}}},
      {"boundaries",
       {{"conversions", 1},
        {"conversion_ns", 10},
        {"copies", 2},
        {"plugin_switches", 1},
        {"dispatch_ns_per_step", 1},
        {"dispatch_ns", 1}}},
      {"memory", {{"arena_bytes", 1}, {"arena_lower_bound_bytes", 1}, {"weight_bytes", 1}}},
      {"pricing",
       {{"candidates", 7},
        {"measured", 1},
        {"from_database", 1},
        {"free", 1},
        {"declined", 1},
        {"failed", 1},
        {"untried", 2},
        {"measurements", 1},
        {"seconds", 1.0}}},
      {"seconds", 1.0}};
}

TEST(Summary, SaysInWordsWhatTheRaceFound) {
  const std::string close = render_summary(raced_report(-0.02, 0.01));
  expect_has(close, "paired races decide");
  expect_has(close,
             "placement is not told apart from onednn: 0.5% less time (95%: 2.0% less to "
             "1.0% more), 1 pair\n");
  expect_has(render_summary(raced_report(-0.02, -0.01)), "placement is faster than onednn: ");
  expect_has(render_summary(raced_report(0.01, 0.02)), "placement is slower than onednn: ");
}

// The first has the lower log ratio, so it is faster, whatever the medians are.
TEST(Summary, MediansThatContradictAVerdictAreNotedAtTheRace) {
  Report report = raced_report(-0.02, -0.01);
  EXPECT_EQ(render_summary(report).find("otherwise"), std::string::npos);
  report["races"][0]["first_ns"] = 1000;
  report["races"][0]["second_ns"] = 1010;
  const std::string agreeing = render_summary(report);
  expect_has(agreeing, "; medians 1.00 us and 1.01 us\n");
  EXPECT_EQ(agreeing.find("otherwise"), std::string::npos) << agreeing;
  report["races"][0]["second_ns"] = 990;
  expect_has(render_summary(report),
             "medians 1.00 us and 990 ns, which order them otherwise: the pairs decide");
  report["contenders"][1]["measured"] = cost(900);
  expect_has(render_summary(report), "the table orders placement and onednn otherwise");
}

TEST(Summary, APredictionFarOffHintsAtMeasuringAgain) {
  Report report = raced_report(-0.02, 0.01);
  EXPECT_EQ(render_summary(report).find("--remeasure"), std::string::npos);
  report["contenders"][1]["measured"] = cost(700);  // predicted: 1000
  expect_has(render_summary(report), "hint: the prediction of onednn is off by more than 30%");
  expect_has(render_summary(report), "--remeasure");
}

TEST(Summary, SaysWhoWasNotConsideredAndWhatWasNotTried) {
  Report report = raced_report(-0.02, 0.01);
  report["contenders"][0]["stop"] = "incomplete";
  const std::string text = render_summary(report);
  expect_has(text, "acme alone was not considered: 3 nodes cannot run on it\n");
  expect_has(text, "search: single, best among what was measured (2 of 7 candidates untried: place again to go on)");
  report["pricing"]["untried"] = 0;
  EXPECT_EQ(render_summary(report).find("among what was measured"), std::string::npos);
}

TEST(Summary, NamesTheHelpThatABackendAloneHas) {
  const std::string text = render_summary(raced_report(-0.02, 0.01));
  expect_has(text, "onednn (+ reference for 3 nodes)");
  expect_has(text, "openblas (+ reference for 1 node)");
  expect_has(text, "openblas was not raced: predicted 9.0 times slower\n");
  EXPECT_EQ(text.find("placement ("), std::string::npos) << text;
}

TEST(Summary, CountsInTheSingularAndThePlural) {
  const std::string text = render_summary(raced_report(-0.02, 0.01));
  expect_has(text, "m: 1 node, 1 thread\n");
  expect_has(text, "1 layout conversion (10.0 ns), 2 copies, 1 plugin switch,");
  expect_has(
      text,
      "7 candidates: 1 measured now, 1 from the database, 1 free view, 1 declined, 1 failed, "
      "2 untried\n");
}

TEST(Summary, TellsWhatEnginesWereOffered) {
  Report report = raced_report(-0.02, 0.01);
  report["pricing"]["hopeless"] = 1;
  report["pricing"]["engines"] = {{{"plugin", "ov"}, {"regions", 24}, {"left_out", 3}},
                                  {{"plugin", "ort"}, {"regions", 1}, {"left_out", 0}}};
  const std::string text = render_summary(report);
  expect_has(text, "ov was offered 24 different regions, 3 more are beyond the limit\n");
  expect_has(text, "ort was offered 1 different region\n");
  expect_has(text, "1 part of a region on which an engine was far slower than others was not ");
}

TEST(ExplainNode, NamesTheFirstOfManyNodes) {
  Report report = fused_report();
  Report many = candidate("engine", {"conv", "relu", "a", "b", "c", "d", "e", "f"}, 9000);
  many["more_nodes"] = 92;
  report["nodes"][0]["candidates"].push_back(many);
  expect_has(render_node(report, "conv"), "conv + relu + a + b + c + 95 more\n");
}

TEST(ParseReport, RefusesAReportOfAnotherVersion) {
  EXPECT_NO_THROW(parse_report(fused_report().dump(), "r"));
  Report old = fused_report();
  old["inlay_report"] = 1;
  try {
    parse_report(old.dump(), "old.report.json");
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kStale);
    expect_has(error.what(), "old.report.json");
  }
}

}  // namespace
}  // namespace inlay
