#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/plan/onnx_constant.h"
#include "graphs/onnx/import.h"
#include "search/candidates/candidates.h"

namespace inlay {
namespace {

TensorType f32(Shape shape) { return {DType::kF32, std::move(shape)}; }

// x → MatMul 'mm' → Relu 'act' → Cast to f64 'wide' → Cast back 'narrow' → Tanh 'out'
Graph small_net() {
  GraphBuilder b("net");
  const ValueId x = b.input("x", f32({512, 256}));
  const ValueId w = b.constant("w", Tensor::zeros(f32({256, 256})));
  const ValueId h = b.node("act", "Relu", {b.node("mm", "MatMul", {x, w})});
  const auto to = [](DType type) { return Attributes{{"to", static_cast<std::int64_t>(type)}}; };
  const ValueId wide = b.node("wide", "Cast", {h}, to(DType::kF64));
  b.output(b.node("out", "Tanh", {b.node("narrow", "Cast", {wide}, to(DType::kF32))}));
  return b.build();
}

Manifest engine(EngineRule rule) {
  Manifest m;
  m.name = "engine";
  m.patterns.push_back({.id = "region", .any = std::move(rule), .tolerance = "region"});
  return m;
}

Manifest reference() {
  Manifest m;
  m.name = "reference";
  m.patterns.push_back({.id = "all", .ops = {"MatMul", "Relu", "Cast", "Tanh"}});
  return m;
}

Candidates find(const Graph& graph, EngineRule rule, const CandidateFilter& filter = {}) {
  return find_candidates(graph, {engine(std::move(rule)), reference()}, filter);
}

// The names of each region's nodes.
std::vector<std::string> regions_of(const Graph& graph, const Candidates& candidates) {
  std::vector<std::string> regions;
  for (const Candidate& c : candidates.list) {
    if (c.plugin != "engine") continue;
    std::string names;
    for (const NodeId id : c.nodes) names += (names.empty() ? "" : " ") + graph.node(id).name;
    regions.push_back(names);
  }
  std::sort(regions.begin(), regions.end());
  return regions;
}

std::string why_not(const Graph& graph, const Candidates& candidates, const std::string& node) {
  for (const WhyNot& why : candidates.why_not) {
    if (why.plugin == "engine" && graph.node(why.node).name == node) return why.reason;
  }
  return "";
}

using Names = std::vector<std::string>;

bool has(const Names& regions, const std::string& region) {
  return std::find(regions.begin(), regions.end(), region) != regions.end();
}

bool mentions(const Names& regions, const std::string& node) {
  return std::any_of(regions.begin(), regions.end(), [&node](const std::string& region) {
    return (" " + region + " ").find(" " + node + " ") != std::string::npos;
  });
}

TEST(FindEngines, OffersTheWholeGraphAndItsHeavyNodes) {
  const Graph graph = small_net();
  const Candidates found = find(graph, {.opset = 20});
  const Names regions = regions_of(graph, found);
  EXPECT_EQ(std::count(regions.begin(), regions.end(), "mm act wide narrow out"), 1);
  EXPECT_EQ(std::count(regions.begin(), regions.end(), "mm"), 1);
  ASSERT_EQ(found.engines.size(), 1u);
  EXPECT_EQ(found.engines[0].plugin, "engine");
  EXPECT_GE(found.engines[0].offered, 2);
  EXPECT_EQ(found.engines[0].left_out, 0);
}

TEST(FindEngines, DenyAllowAndTypesKeepNodesOutWithTheReason) {
  const Graph graph = small_net();
  const Candidates denied = find(graph, {.opset = 20, .deny = {"Relu"}});
  EXPECT_EQ(why_not(graph, denied, "act"), "it does not take Relu");
  const Candidates allowed = find(graph, {.opset = 20, .allow = {"MatMul", "Relu"}});
  EXPECT_TRUE(has(regions_of(graph, allowed), "mm act"));
  EXPECT_FALSE(mentions(regions_of(graph, allowed), "wide"));
  EXPECT_EQ(why_not(graph, allowed, "out"), "it does not take Tanh");
  const Candidates typed = find(graph, {.opset = 20, .dtypes = {"f32"}});
  EXPECT_TRUE(has(regions_of(graph, typed), "mm act"));
  EXPECT_TRUE(has(regions_of(graph, typed), "out"));
  EXPECT_FALSE(mentions(regions_of(graph, typed), "narrow"));
  EXPECT_NE(why_not(graph, typed, "wide").find("f64[512x256]: it takes f32"), std::string::npos)
      << why_not(graph, typed, "wide");
}

TEST(FindEngines, OpsetThatIsNotWrittenIsNamed) {
  const Graph graph = small_net();
  const Candidates found = find(graph, {.opset = 25});
  EXPECT_TRUE(regions_of(graph, found).empty());
  EXPECT_EQ(why_not(graph, found, "mm"), "it wants opset 25, 16 to 20 are written");
}

TEST(FindEngines, NodePinnedToAnotherPluginStaysOutside) {
  const Graph graph = small_net();
  const Candidates found = find(graph, {.opset = 20}, {.pins = {{"act", "reference"}}});
  EXPECT_TRUE(has(regions_of(graph, found), "mm"));
  EXPECT_TRUE(has(regions_of(graph, found), "wide narrow out"));
  EXPECT_FALSE(mentions(regions_of(graph, found), "act"));
  EXPECT_EQ(why_not(graph, found, "act"), "'act' is pinned to reference");
}

TEST(FindEngines, PartsTooLightForACallAreNotOffered) {
  GraphBuilder b("light");
  const ValueId x = b.input("x", f32({4, 16}));
  const ValueId w = b.constant("w", Tensor::zeros(f32({16, 16})));
  b.output(b.node("act", "Relu", {b.node("mm", "MatMul", {x, w})}));
  const Graph graph = b.build();
  EXPECT_EQ(regions_of(graph, find(graph, {.opset = 20})), Names{"mm act"});
}

TEST(FindEngines, LimitsOfTheManifestHold) {
  const Graph graph = small_net();
  const Candidates one = find(graph, {.opset = 20, .max_regions = 1});
  EXPECT_EQ(regions_of(graph, one), Names{"mm act wide narrow out"});
  EXPECT_GE(one.engines[0].left_out, 1);
  for (const std::string& region : regions_of(graph, find(graph, {.opset = 20, .max_nodes = 2}))) {
    EXPECT_LE(std::count(region.begin(), region.end(), ' '), 1) << region;
  }
}

TEST(FindEngines, RegionCarriesItsOnnxFormAsAConstantThatDoesNotCountInItsHash) {
  const Graph graph = small_net();
  const Candidates found = find(graph, {.opset = 18});
  const auto whole = std::find_if(found.list.begin(), found.list.end(), [](const Candidate& c) {
    return c.plugin == "engine" && c.nodes.size() == 5;
  });
  ASSERT_NE(whole, found.list.end());
  const Region region = make_region(graph, *whole);
  ASSERT_TRUE(is_onnx(region.values.back()));
  const auto [plain, onnx] = split_onnx(region);
  EXPECT_EQ(plain.values.size() + 1, region.values.size());
  EXPECT_EQ(region_hash(plain, false), region_hash(region, false));
  // The weight is named in it and left out of it.
  const std::string bytes(reinterpret_cast<const char*>(onnx.data()), onnx.size_bytes());
  EXPECT_LT(bytes.size(), 1024u);
  EXPECT_NE(bytes.find("v1"), std::string::npos);
  EXPECT_EQ(bytes.find("mm"), std::string::npos);  // equal regions give equal bytes
}

}  // namespace
}  // namespace inlay
