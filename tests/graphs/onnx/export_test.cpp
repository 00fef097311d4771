#include "graphs/onnx/export.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "graphs/ir/op_table.h"
#include "tests/graphs/onnx/model_builder.h"
#include "tests/graphs/onnx/operator_cases.h"

namespace inlay {
namespace {

using Type = DType;
using Types = std::vector<TensorType>;

TensorType f32(Shape shape) { return {Type::kF32, std::move(shape)}; }
Attribute number(int value) { return static_cast<std::int64_t>(value); }

Graph conv_graph() {
  const std::vector<OperatorCase> cases = operator_cases();
  return graph_of(*std::find_if(cases.begin(), cases.end(),
                                [](const OperatorCase& item) { return item.op == "Conv"; }));
}

TEST(OnnxExport, EveryOperatorComesBackAsItWas) {
  for (const OperatorCase& item : operator_cases()) {
    SCOPED_TRACE(item.op);
    try {
      const Graph graph = graph_of(item);
      EXPECT_EQ(import_bytes(export_onnx_bytes(graph)).graph.to_text(), graph.to_text());
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

TEST(OnnxExport, CasesCoverTheTable) {
  // Written by other operators, or not at all: each has its own test or a reason.
  std::set<std::string> covered = {"Swish", "RMSNormalization", "GroupNormalization", "EyeLike",
                                   "Convert"};
  for (const OperatorCase& item : operator_cases()) covered.insert(item.op);
  for (const OpInfo& op : all_ops()) {
    EXPECT_EQ(covered.count(std::string(op.name)), 1u) << op.name;
  }
}

TEST(OnnxExport, StructureNamesConstantsWithoutHoldingThem) {
  GraphBuilder b("g");
  const ValueId w = b.constant("weight", Tensor::zeros(f32({64, 64})));
  b.output(b.node("mm", "MatMul", {b.input("x", f32({2, 64})), w}));
  const Graph graph = b.build();
  const std::string structure = export_onnx_structure(graph);
  EXPECT_LT(structure.size(), 1024u);
  EXPECT_NE(structure.find("weight"), std::string::npos);
  EXPECT_GT(export_onnx_bytes(graph).size(), 64u * 64u * sizeof(float));
}

TEST(OnnxExport, NodesThatAnOpsetLacksAreToldOneByOne) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", {Type::kI32, {2}});
  const ValueId y = b.node("and", "BitwiseAnd", {x, x});
  b.output(b.node("add", "Add", {x, y}));
  const Graph graph = b.build();
  EXPECT_EQ(unwritable_nodes(graph, 20), std::vector<std::string>(2));
  const std::vector<std::string> reasons = unwritable_nodes(graph, 16);
  EXPECT_NE(reasons[0].find("BitwiseAnd 'and': it needs opset 18"), std::string::npos)
      << reasons[0];
  EXPECT_EQ(reasons[1], "");
}

TEST(OnnxExport, OperatorsNewerThanTheOpsetAreSpelledOut) {
  const Types norm = {f32({2, 4, 3}), f32({4}), f32({4})};
  const std::string group =
      import_bytes(
          export_onnx_bytes(graph_of({"GroupNormalization", norm, {{"num_groups", number(2)}}})))
          .graph.to_text();
  EXPECT_NE(group.find("InstanceNormalization"), std::string::npos) << group;
  EXPECT_NE(group.find("o: f32[2x4x3] = Add"), std::string::npos) << group;
  const std::string rms =
      import_bytes(export_onnx_bytes(graph_of(
                       {"RMSNormalization", {f32({2, 3}), f32({3})}, {{"axis", number(1)}}})))
          .graph.to_text();
  EXPECT_NE(rms.find("ReduceMean"), std::string::npos) << rms;
  EXPECT_NE(rms.find("o: f32[2x3] = Mul"), std::string::npos) << rms;
  const std::string swish =
      import_bytes(export_onnx_bytes(graph_of({"Swish", {f32({2})}, {{"alpha", 2.0f}}})))
          .graph.to_text();
  EXPECT_NE(swish.find("Sigmoid"), std::string::npos) << swish;
}

std::vector<std::string> operators_in_opset(std::int64_t opset, const OperatorCase& item) {
  std::vector<std::string> names;
  const Imported imported = import_bytes(export_onnx_bytes(graph_of(item), opset));
  EXPECT_EQ(imported.opset, opset);
  for (const Node& node : imported.graph.nodes()) names.push_back(node.op);
  return names;
}

TEST(OnnxExport, OlderOpsetsSpellOutWhatTheyLackAsExportersDid) {
  using Names = std::vector<std::string>;
  const OperatorCase gelu = {"Gelu", {f32({2, 3})}, {}};
  EXPECT_EQ(operators_in_opset(20, gelu), Names{"Gelu"});
  EXPECT_EQ(operators_in_opset(19, gelu), (Names{"Div", "Erf", "Add", "Mul", "Mul"}));
  const OperatorCase mish = {"Mish", {f32({2, 3})}, {}};
  EXPECT_EQ(operators_in_opset(18, mish), Names{"Mish"});
  EXPECT_EQ(operators_in_opset(17, mish), (Names{"Softplus", "Tanh", "Mul"}));
  OperatorCase norm = {
      "LayerNormalization", {f32({2, 4, 3}), f32({4, 3}), f32({4, 3})}, {{"axis", number(1)}}};
  EXPECT_EQ(operators_in_opset(17, norm), Names{"LayerNormalization"});
  Names spelled = {"ReduceMean", "Sub", "Pow", "ReduceMean", "Add", "Sqrt", "Div", "Mul", "Add"};
  EXPECT_EQ(operators_in_opset(16, norm), spelled);
  norm.inputs.pop_back();
  spelled.pop_back();
  EXPECT_EQ(operators_in_opset(16, norm), spelled);
}

// Every case is either what it was, or one of those above, or refused for a newer part of it.
TEST(OnnxExport, EveryOperatorComesBackFromTheOldestOpset) {
  const std::set<std::string> spelled = {"Gelu", "Mish", "LayerNormalization"};
  for (const OperatorCase& item : operator_cases()) {
    SCOPED_TRACE(item.op);
    if (spelled.count(item.op) == 1) continue;
    const Graph graph = graph_of(item);
    if (item.op.starts_with("Bitwise")) {
      EXPECT_THROW(export_onnx_bytes(graph, kOldestExportOpset), Error);
      continue;
    }
    EXPECT_EQ(import_bytes(export_onnx_bytes(graph, kOldestExportOpset)).graph.to_text(),
              graph.to_text());
  }
}

TEST(OnnxExport, NamesTheNodeAndTheOpsetThatItNeeds) {
  const auto message = [](const OperatorCase& item, std::int64_t opset) -> std::string {
    try {
      export_onnx_bytes(graph_of(item), opset);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  };
  OperatorCase pool = {"AveragePool",
                       {f32({1, 4, 6, 6})},
                       {{"kernel_shape", ints({3, 3})}, {"dilations", ints({1, 2})}}};
  EXPECT_NE(message(pool, 18).find("AveragePool 'n': dilations needs opset 19"), std::string::npos);
  EXPECT_EQ(message(pool, 19), "");
  const OperatorCase wrap = {"Pad", {f32({4})}, {{"pads", ints({1, 1})}, {"mode", text("wrap")}}};
  EXPECT_NE(message(wrap, 18).find("mode 'wrap' needs opset 19"), std::string::npos);
  EXPECT_EQ(message(wrap, 19), "");
  EXPECT_NE(message(wrap, 15).find("opset 15 is not written"), std::string::npos);
  EXPECT_NE(message(wrap, 21).find("opset 21 is not written"), std::string::npos);
}

TEST(OnnxExport, ConstantsInputsAndRepeatedOutputsSurvive) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", f32({2}));
  const ValueId w = b.constant("w", Tensor::from<float>({2}, {1, 2}));
  const ValueId y = b.node("add", "Add", {x, w});
  for (const ValueId id : {y, w, x, y}) b.output(id);
  const Graph back = import_bytes(export_onnx_bytes(b.build())).graph;
  ASSERT_EQ(back.outputs().size(), 4u);
  EXPECT_EQ(*back.value(back.outputs()[1]).constant, Tensor::from<float>({2}, {1, 2}));
  EXPECT_EQ(back.value(back.outputs()[2]).name, "x");
  EXPECT_EQ(back.value(back.outputs()[3]).name, "add_copy");
}

TEST(OnnxExport, BytesAreTheSameEachTime) {
  const Graph graph = conv_graph();
  EXPECT_EQ(export_onnx_bytes(graph), export_onnx_bytes(graph));
}

TEST(OnnxExport, RefusesALayoutConversion) {
  GraphBuilder b("g");
  Node node;
  node.name = "c";
  node.domain = "inlay";
  node.op = "Convert";
  node.inputs = {b.input("x", f32({2}))};
  b.output(b.node_with_types(std::move(node), {f32({2})}, {})[0]);
  EXPECT_THROW(export_onnx_bytes(b.build()), Error);
}

TEST(OnnxExport, WritesAFileThatImportReads) {
  const Graph graph = conv_graph();
  const auto path = std::filesystem::path(testing::TempDir()) / "inlay_export_test.onnx";
  export_onnx(graph, path);
  EXPECT_EQ(import_onnx(path, {}).graph.to_text(), graph.to_text());
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace inlay
