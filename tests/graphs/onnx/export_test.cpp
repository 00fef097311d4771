#include "graphs/onnx/export.h"

#include <gtest/gtest.h>

#include <set>

#include "graphs/ir/op_table.h"
#include "tests/graphs/onnx/model_builder.h"

namespace inlay {
namespace {

using Type = DType;
using Types = std::vector<TensorType>;

struct Case {
  std::string op;
  Types inputs;  // dtype kNone: omitted
  Attributes attributes;
  int outputs = 1;
  std::optional<TensorType> target = std::nullopt;  // Reshape, Expand, Resize
};

TensorType f32(Shape shape) { return {Type::kF32, std::move(shape)}; }
TensorType typed(Type dtype, Shape shape) { return {dtype, std::move(shape)}; }
Attribute number(int value) { return static_cast<std::int64_t>(value); }

std::vector<Case> movement_cases() {
  const TensorType x = f32({2, 3, 4});
  const TensorType indices = typed(Type::kI64, {2, 3, 4});
  return {
      {"Reshape", {x}, {}, 1, f32({6, 4})},
      {"Expand", {f32({2, 1})}, {}, 1, f32({3, 2, 5})},
      {"Transpose", {x}, {{"perm", ints({2, 0, 1})}}},
      {"Concat", {x, x}, {{"axis", number(1)}}},
      {"Split", {x}, {{"axis", number(2)}, {"split", ints({1, 3})}}, 2},
      {"Slice",
       {x},
       {{"axes", ints({0, 2})},
        {"starts", ints({0, 3})},
        {"ends", ints({1, -1})},
        {"steps", ints({1, -2})}}},
      {"Pad", {x}, {{"pads", ints({0, 1, 0, 0, -1, 2})}, {"value", 1.5f}}},
      {"Pad", {x}, {{"pads", ints({0, 1, 0, 0, 1, 2})}, {"mode", text("reflect")}}},
      {"Gather", {x, typed(Type::kI64, {2})}, {{"axis", number(1)}}},
      {"GatherElements", {x, indices}, {{"axis", number(2)}}},
      {"GatherND", {x, typed(Type::kI64, {2, 1})}, {{"batch_dims", number(1)}}},
      {"ScatterElements", {x, indices, x}, {{"axis", number(1)}, {"reduction", text("add")}}},
      {"ScatterND", {x, typed(Type::kI64, {1, 1}), f32({1, 3, 4})}, {{"reduction", text("none")}}},
      {"Tile", {x}, {{"repeats", ints({1, 2, 1})}}},
      {"OneHot", {typed(Type::kI64, {3}), f32({2})}, {{"axis", number(0)}, {"depth", number(5)}}},
      {"Trilu", {x}, {{"upper", number(0)}, {"k", number(1)}}},
      {"TopK", {x}, {{"axis", number(1)}, {"k", number(2)}}, 2},
      {"CumSum", {x}, {{"axis", number(1)}, {"reverse", number(1)}}},
      {"DepthToSpace", {f32({1, 8, 2, 2})}, {{"blocksize", number(2)}, {"mode", text("CRD")}}},
      {"SpaceToDepth", {f32({1, 2, 4, 4})}, {{"blocksize", number(2)}}},
      {"GridSample", {f32({1, 2, 4, 4}), f32({1, 3, 3, 2})}, {{"align_corners", number(1)}}},
      {"Resize",
       {f32({1, 1, 3, 4})},
       {{"scales", std::vector<float>{1, 1, 1.5f, 2}}},
       1,
       f32({1, 1, 4, 8})},
      {"Resize",
       {f32({1, 1, 4, 4})},
       {{"scales", std::vector<float>{1, 1, 1.75f, 1}}, {"mode", text("cubic")}},
       1,
       f32({1, 1, 7, 4})},
  };
}

std::vector<Case> network_cases() {
  const TensorType x = f32({1, 4, 6, 6});
  const TensorType channel = f32({4});
  const Attributes window = {
      {"kernel_shape", ints({3, 3})}, {"strides", ints({2, 1})}, {"pads", ints({1, 0, 1, 2})}};
  const TensorType u8 = typed(Type::kU8, {4, 4});
  const TensorType u8_scalar = typed(Type::kU8, {});
  const TensorType s = f32({});
  const TensorType weights[] = {f32({1, 16, 3}), f32({1, 16, 4}), f32({1, 12, 3}),
                                f32({1, 12, 4}), f32({1, 4, 3}),  f32({1, 4, 4})};
  return {
      {"Conv",
       {x, f32({8, 2, 3, 3}), f32({8})},
       {{"group", number(2)}, {"pads", ints({0, 1, 2, 3})}}},
      {"ConvTranspose",
       {x, f32({4, 3, 3, 3})},
       {{"strides", ints({2, 2})}, {"output_padding", ints({1, 0})}}},
      {"ConvInteger",
       {typed(Type::kU8, {1, 4, 6, 6}), typed(Type::kU8, {2, 4, 3, 3}), u8_scalar},
       {}},
      {"QLinearConv",
       {typed(Type::kU8, {1, 4, 6, 6}), s, u8_scalar, typed(Type::kU8, {2, 4, 3, 3}), s, u8_scalar,
        s, u8_scalar},
       {}},
      {"MaxPool", {x}, window, 2},
      {"AveragePool", {x}, window},
      {"LpPool", {x}, window},
      {"GlobalAveragePool", {x}, {}},
      {"GlobalMaxPool", {x}, {}},
      {"LRN", {x}, {{"size", number(3)}}},
      {"BatchNormalization", {x, channel, channel, channel, channel}, {}},
      {"InstanceNormalization", {x, channel, channel}, {}},
      {"LayerNormalization", {x, f32({6}), f32({6})}, {{"axis", number(3)}}},
      {"LpNormalization", {x}, {{"axis", number(1)}}},
      {"MeanVarianceNormalization", {x}, {{"axes", ints({0, 2, 3})}}},
      {"Softmax", {x}, {{"axis", number(1)}}},
      {"LogSoftmax", {x}, {{"axis", number(3)}}},
      {"Hardmax", {x}, {{"axis", number(3)}}},
      {"Gemm", {f32({3, 2}), f32({3, 4}), f32({4})}, {{"transA", number(1)}, {"alpha", 0.5f}}},
      {"MatMul", {f32({2, 3, 4}), f32({4, 5})}, {}},
      {"Einsum", {f32({2, 3}), f32({3, 4})}, {{"equation", text("ij,jk->ik")}}},
      {"MatMulInteger", {u8, u8, u8_scalar, u8_scalar}, {}},
      {"QLinearMatMul", {u8, s, u8_scalar, u8, s, u8_scalar, s, u8_scalar}, {}},
      {"DynamicQuantizeLinear", {f32({2, 3})}, {}, 3},
      {"QuantizeLinear",
       {f32({2, 3}), f32({3}), typed(Type::kI8, {3})},
       {{"axis", number(1)}, {"to", number(3)}}},
      {"DequantizeLinear", {u8, f32({4})}, {{"axis", number(1)}}},
      {"LSTM",
       {f32({5, 2, 3}), weights[0], weights[1], f32({1, 32})},
       {{"hidden_size", number(4)}},
       3},
      {"GRU",
       {f32({5, 2, 3}), weights[2], weights[3]},
       {{"hidden_size", number(4)}, {"clip", 3.0f}},
       2},
      {"RNN", {f32({5, 2, 3}), weights[4], weights[5]}, {{"hidden_size", number(4)}}, 2},
  };
}

std::vector<Case> elementwise_cases() {
  std::vector<Case> cases = {
      {"Clip", {f32({2})}, {{"min", -1.0f}}},
      {"Clip", {f32({2})}, {{"max", 6.0f}}},
      {"Clip", {f32({2})}, {{"min", 0.0f}, {"max", 6.0f}}},
      {"Cast", {f32({2})}, {{"to", number(7)}}},
      {"Where", {typed(Type::kBool, {2}), f32({2}), f32({2})}, {}},
      {"BitShift", {typed(Type::kU8, {2}), typed(Type::kU8, {2})}, {{"direction", text("LEFT")}}},
      {"PRelu", {f32({2, 3}), f32({3})}, {}},
      {"Pow", {f32({2, 3}), f32({3})}, {}},
      {"Gelu", {f32({2})}, {{"approximate", text("tanh")}}},
  };
  for (const OpInfo& op : all_ops()) {
    const std::string name(op.name);
    const std::set<std::string> done = {"Clip",  "Cast", "Where", "BitShift",
                                        "PRelu", "Pow",  "Gelu",  "Swish"};
    if (op.is_elementwise && done.count(name) == 0) {
      Type dtype = Type::kF32;
      if (name == "And" || name == "Or" || name == "Xor" || name == "Not") dtype = Type::kBool;
      if (name.starts_with("Bitwise") || name == "Mod") dtype = Type::kI32;
      cases.push_back(
          {name, Types(static_cast<std::size_t>(op.min_inputs), typed(dtype, {2, 3})), {}});
    }
    if (name.starts_with("Reduce")) {
      cases.push_back({name, {f32({2, 3, 4})}, {{"axes", ints({0, 2})}, {"keepdims", number(0)}}});
    }
    if (name.starts_with("Arg")) cases.push_back({name, {f32({2, 3})}, {{"axis", number(1)}}});
  }
  return cases;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const auto& part : {movement_cases(), network_cases(), elementwise_cases()}) {
    cases.insert(cases.end(), part.begin(), part.end());
  }
  return cases;
}

Graph graph_of(const Case& item) {
  GraphBuilder b("case");
  std::vector<ValueId> inputs;
  for (const TensorType& type : item.inputs) {
    inputs.push_back(b.input("i" + std::to_string(inputs.size()), type));
  }
  std::vector<ValueId> outputs;
  if (item.target) {
    Node node;
    node.name = "n";
    node.op = item.op;
    node.inputs = inputs;
    node.attributes = item.attributes;
    fill_default_attributes(node, item.inputs);
    outputs = b.node_with_types(std::move(node), {*item.target}, {"o"});
  } else {
    outputs = b.node("n", item.op, inputs, item.attributes, item.outputs, {"o"});
  }
  for (const ValueId id : outputs) b.output(id);
  return b.build();
}

TEST(OnnxExport, EveryOperatorComesBackAsItWas) {
  for (const Case& item : all_cases()) {
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
  for (const Case& item : all_cases()) covered.insert(item.op);
  for (const OpInfo& op : all_ops()) {
    EXPECT_EQ(covered.count(std::string(op.name)), 1u) << op.name;
  }
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

std::vector<std::string> operators_in_opset(std::int64_t opset, const Case& item) {
  std::vector<std::string> names;
  const Imported imported = import_bytes(export_onnx_bytes(graph_of(item), opset));
  EXPECT_EQ(imported.opset, opset);
  for (const Node& node : imported.graph.nodes()) names.push_back(node.op);
  return names;
}

TEST(OnnxExport, OlderOpsetsSpellOutWhatTheyLackAsExportersDid) {
  using Names = std::vector<std::string>;
  const Case gelu = {"Gelu", {f32({2, 3})}, {}};
  EXPECT_EQ(operators_in_opset(20, gelu), Names{"Gelu"});
  EXPECT_EQ(operators_in_opset(19, gelu), (Names{"Div", "Erf", "Add", "Mul", "Mul"}));
  const Case mish = {"Mish", {f32({2, 3})}, {}};
  EXPECT_EQ(operators_in_opset(18, mish), Names{"Mish"});
  EXPECT_EQ(operators_in_opset(17, mish), (Names{"Softplus", "Tanh", "Mul"}));
  Case norm = {
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
  for (const Case& item : all_cases()) {
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
  const auto message = [](const Case& item, std::int64_t opset) -> std::string {
    try {
      export_onnx_bytes(graph_of(item), opset);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  };
  Case pool = {"AveragePool",
               {f32({1, 4, 6, 6})},
               {{"kernel_shape", ints({3, 3})}, {"dilations", ints({1, 2})}}};
  EXPECT_NE(message(pool, 18).find("AveragePool 'n': dilations needs opset 19"), std::string::npos);
  EXPECT_EQ(message(pool, 19), "");
  const Case wrap = {"Pad", {f32({4})}, {{"pads", ints({1, 1})}, {"mode", text("wrap")}}};
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
  const Graph graph = graph_of(network_cases()[0]);
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
  const Graph graph = graph_of(network_cases()[0]);
  const auto path = std::filesystem::path(testing::TempDir()) / "inlay_export_test.onnx";
  export_onnx(graph, path);
  EXPECT_EQ(import_onnx(path, {}).graph.to_text(), graph.to_text());
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace inlay
