#include "search/candidates/candidates.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/error.h"

namespace inlay {
namespace {

using Ints = std::vector<std::int64_t>;

TensorType f32(Shape shape) { return {DType::kF32, std::move(shape)}; }

ManifestPattern pattern(std::string id, std::string match, std::string where = "",
                        std::string layouts = "") {
  ManifestPattern p;
  p.id = std::move(id);
  p.match = std::move(match);
  p.where = std::move(where);
  p.layouts = std::move(layouts);
  p.tolerance = "accum";
  return p;
}

Manifest plugin(std::string name, std::vector<ManifestPattern> patterns) {
  Manifest m;
  m.name = std::move(name);
  m.patterns = std::move(patterns);
  return m;
}

TEST(FindCandidates, APatternThatCannotBeReadIsNamedWithItsPlugin) {
  EXPECT_EQ(pattern_fault(plugin("acme", {pattern("mm", "MatMul(A,B)", "A: f32[m,k]")})), "");
  const auto expect_fault = [](const ManifestPattern& bad, const std::string& reason) {
    const std::string fault = pattern_fault(plugin("acme", {pattern("ok", "Relu(X)"), bad}));
    EXPECT_NE(fault.find("plugin 'acme': pattern 'bad': " + reason), std::string::npos) << fault;
  };
  expect_fault(pattern("bad", "MatMul(A,"), "match");
  expect_fault(pattern("bad", "MatMul(A,B)", "A: f33[m,k]"), "where");
  expect_fault(pattern("bad", "MatMul(A,B)", "", "Q:ab"), "layouts");
  ManifestPattern fused = pattern("bad", "MatMul(A,B)");
  fused.fuse = "Relu(Z)";
  expect_fault(fused, "fuse");
}

ManifestPattern any_of(std::vector<std::string> ops) {
  ManifestPattern p = pattern("any", "");
  p.ops = std::move(ops);
  return p;
}

Manifest reference() {
  return plugin("reference", {any_of({"Conv", "Relu", "Add", "Reshape", "MatMul"})});
}

// x → [Conv → Relu] `blocks` times → Reshape 'flat'
Graph conv_net(int blocks, std::int64_t channels = 8) {
  GraphBuilder b("net");
  ValueId x = b.input("x", f32({1, channels, 6, 6}));
  for (int i = 0; i < blocks; ++i) {
    const std::string n = std::to_string(i);
    const ValueId w = b.constant("w" + n, Tensor::zeros(f32({channels, channels, 3, 3})));
    const ValueId c = b.node("conv" + n, "Conv", {x, w},
                             {{"kernel_shape", Ints{3, 3}},
                              {"strides", Ints{1, 1}},
                              {"dilations", Ints{1, 1}},
                              {"pads", Ints{1, 1, 1, 1}},
                              {"group", std::int64_t{1}}});
    x = b.node("relu" + n, "Relu", {c});
  }
  Node flat;
  flat.name = "flat";
  flat.op = "Reshape";
  flat.inputs = {x};
  b.output(b.node_with_types(flat, {f32({1, channels * 36})}, {"y"})[0]);
  return b.build();
}

std::vector<const Candidate*> of_plugin(const Candidates& all, const std::string& name) {
  std::vector<const Candidate*> found;
  for (const Candidate& c : all.list) {
    if (c.plugin == name) found.push_back(&c);
  }
  return found;
}

template <typename Function>
std::string error_of(Code code, const Function& function) {
  try {
    function();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code);
    return e.what();
  }
  return "no error";
}

TEST(FindCandidates, EachLayoutVariantIsACandidate) {
  const Graph g = conv_net(1);
  const Candidates all = find_candidates(
      g,
      {reference(), plugin("fast", {pattern("conv", "Relu?(Conv(X,W))", "",
                                            "dense | X:acdb out:acdb | X:aBcd16b out:aBcd16b")})});
  const auto fast = of_plugin(all, "fast");
  ASSERT_EQ(fast.size(), 6U);  // with and without Relu, three layouts each
  EXPECT_EQ(fast[0]->nodes.size(), 1U);
  EXPECT_EQ(fast[1]->input_layouts[0].text(), "acdb");
  EXPECT_EQ(fast[5]->nodes.size(), 2U);
  EXPECT_EQ(fast[5]->output_layouts[0].text(), "aBcd16b");
  EXPECT_EQ(fast[5]->inputs, (std::vector<ValueId>{g.inputs()[0]}));  // the weight is constant
  EXPECT_EQ(fast[5]->ports.at(g.inputs()[0]), "X");
}

TEST(FindCandidates, AVariantWhoseRankDoesNotFitIsLeftOut) {
  const Graph g = conv_net(1);
  const Candidates all = find_candidates(
      g, {reference(), plugin("fast", {pattern("r", "Relu(X)", "", "X:abc out:abc"),
                                       pattern("c", "Conv(X,W)", "", "dense | X:abc")})});
  EXPECT_EQ(of_plugin(all, "fast").size(), 1U);
  ASSERT_EQ(all.why_not.size(), 1U);
  EXPECT_EQ(all.why_not[0].reason, "layout abc of X does not fit f32[1x8x6x6]");
}

TEST(FindCandidates, ALayoutOfAConstantIsIgnored) {
  const Graph g = conv_net(1);
  const Candidates all = find_candidates(
      g, {reference(), plugin("fast", {pattern("c", "Conv(X,W)", "", "W:ABcd16b16a | W:acdb")})});
  ASSERT_EQ(of_plugin(all, "fast").size(), 1U);
  const Region region = make_region(g, *of_plugin(all, "fast")[0]);
  const auto weight = std::find_if(region.values.begin(), region.values.end(),
                                   [](const RegionValue& v) { return v.port == "W"; });
  ASSERT_NE(weight, region.values.end());
  EXPECT_TRUE(weight->layout.is_dense());
  EXPECT_TRUE(weight->constant.has_value());
}

TEST(FindCandidates, CpuNeedsDecideAboutPatternsAndVariants) {
  const Graph g = conv_net(1);
  ManifestPattern needy = pattern("needy", "Conv(X,W)");
  needy.cpu = {"no_such_feature"};
  const Candidates all = find_candidates(
      g, {reference(),
          plugin("fast", {needy, pattern("v", "Conv(X,W)", "",
                                         "@no_such_feature | X:acdb @!no_such_feature")})});
  const auto fast = of_plugin(all, "fast");
  ASSERT_EQ(fast.size(), 1U);
  EXPECT_EQ(fast[0]->input_layouts[0].text(), "acdb");
  ASSERT_EQ(all.why_not.size(), 1U);
  EXPECT_EQ(all.why_not[0].reason, "this CPU lacks no_such_feature");
}

TEST(FindCandidates, AReshapeIsAFreeView) {
  const Graph g = conv_net(1);
  const Candidates all = find_candidates(g, {reference()});
  const auto views = of_plugin(all, kViewPlugin);
  ASSERT_EQ(views.size(), 1U);
  EXPECT_EQ(g.node(views[0]->nodes[0]).name, "flat");
  EXPECT_EQ(views[0]->aliases, (std::vector<std::pair<int, int>>{{0, 0}}));
  EXPECT_TRUE(views[0]->input_layouts[0].is_dense());
}

TEST(FindCandidates, ByNodeListsTheCandidatesOfEachNodeAscending) {
  const Graph g = conv_net(3);
  const Candidates all =
      find_candidates(g, {plugin("fast", {pattern("c", "Relu?(Conv(X,W))")}), reference()});
  ASSERT_EQ(all.by_node.size(), static_cast<std::size_t>(g.node_count()));
  for (std::int32_t n = 0; n < g.node_count(); ++n) {
    std::vector<int> expected;
    for (int id = 0; id < static_cast<int>(all.list.size()); ++id) {
      const auto& nodes = all.list[static_cast<std::size_t>(id)].nodes;
      if (std::find(nodes.begin(), nodes.end(), NodeId{n}) != nodes.end()) expected.push_back(id);
    }
    EXPECT_EQ(all.by_node[static_cast<std::size_t>(n)], expected);
  }
}

TEST(FindCandidates, TheOrderOfPluginsDoesNotMatter) {
  const Graph g = conv_net(2);
  const Manifest fast =
      plugin("fast", {pattern("c", "Relu?(Conv(X,W))", "", "dense | X:acdb out:acdb")});
  const Candidates a = find_candidates(g, {fast, reference()});
  const Candidates b = find_candidates(g, {reference(), fast});
  ASSERT_EQ(a.list.size(), b.list.size());
  for (std::size_t i = 0; i < a.list.size(); ++i) {
    EXPECT_EQ(a.list[i].plugin, b.list[i].plugin);
    EXPECT_EQ(a.list[i].nodes, b.list[i].nodes);
  }
}

TEST(FindCandidates, ExcludedPluginsGiveNothing) {
  const Candidates all =
      find_candidates(conv_net(1), {reference(), plugin("fast", {pattern("c", "Conv(X,W)")})},
                      {.exclude = {"fast"}, .pins = {}});
  EXPECT_TRUE(of_plugin(all, "fast").empty());
}

TEST(FindCandidates, APinLeavesOnlyThePluginsCandidates) {
  const Graph g = conv_net(1);
  const Candidates all =
      find_candidates(g, {reference(), plugin("fast", {pattern("c", "Relu?(Conv(X,W))")})},
                      {.exclude = {}, .pins = {{"relu0", "reference"}}});
  const auto relu = static_cast<std::size_t>(g.find_node("relu0")->index);
  ASSERT_EQ(all.by_node[relu].size(), 1U);
  EXPECT_EQ(all.list[static_cast<std::size_t>(all.by_node[relu][0])].plugin, "reference");
  ASSERT_EQ(all.why_not.size(), 1U);
  EXPECT_EQ(all.why_not[0].reason, "'relu0' is pinned to reference");
}

TEST(FindCandidates, WithoutFusingEveryCandidateIsOneNodeAndTheOthersSayWhy) {
  const Candidates all = find_candidates(
      conv_net(1), {reference(), plugin("fast", {pattern("c", "Relu?(Conv(X,W))")})},
      {.exclude = {}, .pins = {}, .is_fusing = false});
  for (const Candidate& candidate : all.list) EXPECT_EQ(candidate.nodes.size(), 1U);
  EXPECT_FALSE(of_plugin(all, "fast").empty());
  ASSERT_EQ(all.why_not.size(), 1U);
  EXPECT_EQ(all.why_not[0].reason, "covers 2 nodes, and fusing is off");
}

TEST(FindCandidates, APinToAnUnknownNodeOrPluginIsAnError) {
  const Graph g = conv_net(1);
  EXPECT_EQ(
      error_of(Code::kNotFound,
               [&] {
                 find_candidates(g, {reference()}, {.exclude = {}, .pins = {{"zz", "reference"}}});
               }),
      "pin of 'zz' to reference: the graph has no such node; nearest: conv0, relu0, flat");
  EXPECT_EQ(error_of(Code::kNotFound,
                     [&] {
                       find_candidates(g, {reference()}, {.exclude = {}, .pins = {{"relu0", "q"}}});
                     }),
            "pin of 'relu0' to q: there is no such plugin; nearest: reference");
}

TEST(FindCandidates, ANodeThatNobodyRunsIsNamedWithTheNearMisses) {
  const Manifest picky =
      plugin("picky", {any_of({"Conv", "Reshape"}), pattern("r", "Relu(X)", "X: f16")});
  EXPECT_EQ(error_of(Code::kUnsupported, [&] { find_candidates(conv_net(1), {picky}); }),
            "Relu 'relu0' giving f32[1x8x6x6]: no plugin can run it; picky 'r': X: f16 fails: X is "
            "f32[1x8x6x6]");
}

TEST(FindCandidates, ABadPatternIsReportedWithItsPlugin) {
  EXPECT_EQ(
      error_of(Code::kCorrupt,
               [] { find_candidates(conv_net(1), {plugin("bad", {pattern("p", "Relu(")})}); }),
      "plugin 'bad': pattern 'p': match, column 6: expected an operator or a variable, found the "
      "end");
}

TEST(FindCandidates, AnAliasIsAPairOfPositionsOfEqualSize) {
  ManifestPattern relu = pattern("r", "Relu(X)", "", "dense | X:aBcd16b");
  relu.alias = "out=X";
  const Candidates all = find_candidates(conv_net(1), {reference(), plugin("fast", {relu})});
  const auto fast = of_plugin(all, "fast");
  ASSERT_EQ(fast.size(), 2U);
  EXPECT_EQ(fast[0]->aliases, (std::vector<std::pair<int, int>>{{0, 0}}));
  EXPECT_TRUE(
      fast[1]->aliases.empty());  // eight channels in a block of sixteen take twice the bytes
}

TEST(FindBoundary, InputsComeByFirstUseAndOutputsAreReadOutside) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", f32({4}));
  const ValueId y = b.input("y", f32({4}));
  const ValueId k = b.constant("k", Tensor::zeros(f32({4})));
  const ValueId s = b.node("s", "Add", {y, k});
  const ValueId t = b.node("t", "Add", {s, x});
  const ValueId u = b.node("u", "Add", {t, s});
  const ValueId v = b.node("v", "Relu", {t});
  b.output(u);
  b.output(v);
  const Graph g = b.build();
  const Boundary boundary = find_boundary(g, {{0}, {1}, {2}});
  EXPECT_EQ(boundary.inputs, (std::vector<ValueId>{y, x}));
  EXPECT_EQ(boundary.outputs, (std::vector<ValueId>{t, u}));
}

TEST(MakeRegion, EqualStructureGivesEqualHash) {
  const Graph g = conv_net(2);
  const Candidates all = find_candidates(
      g, {reference(), plugin("fast", {pattern("c", "Relu(Conv(X,W))", "", "dense | X:acdb")})});
  const auto fast = of_plugin(all, "fast");
  ASSERT_EQ(fast.size(), 4U);
  const Hash first = region_hash(make_region(g, *fast[0]), false);
  EXPECT_EQ(first, region_hash(make_region(g, *fast[2]), false));
  EXPECT_NE(first, region_hash(make_region(g, *fast[1]), false));  // another layout
}

TEST(MakeRegion, IsTheCandidateAsAPluginSeesIt) {
  const Graph g = conv_net(1);
  const Candidates all =
      find_candidates(g, {reference(), plugin("fast", {pattern("c", "Relu(Conv(X,W))")})});
  const Region region = make_region(g, *of_plugin(all, "fast")[0]);
  EXPECT_EQ(region.pattern, "c");
  ASSERT_EQ(region.nodes.size(), 2U);
  EXPECT_EQ(region.nodes[0].op, "Conv");
  EXPECT_EQ(region.nodes[1].inputs, region.nodes[0].outputs);
  ASSERT_EQ(region.inputs.size(), 1U);
  EXPECT_EQ(region.values[static_cast<std::size_t>(region.inputs[0])].port, "X");
  ASSERT_EQ(region.outputs.size(), 1U);
  EXPECT_EQ(region.values[static_cast<std::size_t>(region.outputs[0])].port, "out");
}

}  // namespace
}  // namespace inlay
