#include "graphs/onnx/import.h"

#include <gtest/gtest.h>

#include "tests/graphs/onnx/model_builder.h"

namespace inlay {
namespace {

using Type = DType;

// Folds Add and Equal of i64, and counts how often it was asked.
struct FakeEvaluator {
  int calls = 0;
  Evaluator function() {
    return [this](const Region& region) -> std::optional<std::vector<Tensor>> {
      ++calls;
      const RegionNode& node = region.nodes.at(0);
      if (node.op != "Add" && node.op != "Equal") return std::nullopt;
      const auto a =
          region.values[static_cast<std::size_t>(node.inputs[0])].constant->as<std::int64_t>();
      const auto b =
          region.values[static_cast<std::size_t>(node.inputs[1])].constant->as<std::int64_t>();
      const TensorType& type = region.values[static_cast<std::size_t>(node.outputs[0])].type;
      Tensor result = Tensor::zeros(type);
      for (std::size_t i = 0; i < a.size(); ++i) {
        if (node.op == "Equal") {
          reinterpret_cast<bool*>(result.mutable_bytes().data())[i] = a[i] == b[i];
        } else {
          reinterpret_cast<std::int64_t*>(result.mutable_bytes().data())[i] = a[i] + b[i];
        }
      }
      return std::vector<Tensor>{result};
    };
  }
};

ModelBuilder relu_model() {
  ModelBuilder m(13);
  m.input("x", Type::kF32, Shape{2, 3});
  m.node("Relu", {"x"}, {"y"});
  m.output("y");
  return m;
}

// ---- files that are not models

TEST(OnnxImport, RefusesWhatIsNotAModel) {
  expect_in("test.onnx: the file is empty", import_error("", Code::kCorrupt));
  expect_in("not an ONNX model", import_error("hello, this is text", Code::kCorrupt));
  expect_in("no graph",
            import_error(onnx::ModelProto().SerializeAsString() + std::string("\x08\x08"),
                         Code::kCorrupt));
  EXPECT_THROW(import_onnx("no-such-file.onnx", {}), Error);
}

TEST(OnnxImport, RefusesMissingAndUnknownOpsets) {
  ModelBuilder m = relu_model();
  m.model.clear_opset_import();
  expect_in("which opset", import_error(m.bytes(), Code::kCorrupt));
  m.model.add_opset_import()->set_version(99);
  expect_in("opset 99 is not supported, only 6 to 25", import_error(m.bytes(), Code::kUnsupported));
}

TEST(OnnxImport, RefusesAGraphWithoutOutputs) {
  ModelBuilder m = relu_model();
  m.model.mutable_graph()->clear_output();
  expect_in("no output", import_error(m.bytes(), Code::kCorrupt));
}

// ---- structure

TEST(OnnxImport, NamesNodeAndTensorThatNothingProduces) {
  ModelBuilder m = relu_model();
  m.node("Add", {"y", "ghost"}, {"z"});
  const std::string error = import_error(m.bytes(), Code::kCorrupt);
  expect_in("Add 'n_z'", error);
  expect_in("'ghost'", error);
}

TEST(OnnxImport, NamesATensorWithTwoProducers) {
  ModelBuilder m = relu_model();
  m.node("Abs", {"x"}, {"y"});
  expect_in("tensor 'y' has two producers", import_error(m.bytes(), Code::kCorrupt));
  ModelBuilder shadowing = relu_model();
  shadowing.node("Abs", {"y"}, {"x"});
  expect_in("tensor 'x' has two producers", import_error(shadowing.bytes(), Code::kCorrupt));
}

TEST(OnnxImport, NamesANodeOnACycle) {
  ModelBuilder m = relu_model();
  m.node("Add", {"y", "b"}, {"a"}).set_name("left");
  m.node("Abs", {"a"}, {"b"}).set_name("right");
  m.node("Neg", {"b"}, {"c"}).set_name("after");
  const std::string error = import_error(m.bytes(), Code::kCorrupt);
  EXPECT_TRUE(error.find("'left'") != error.npos || error.find("'right'") != error.npos) << error;
  expect_in("cycle", error);
}

TEST(OnnxImport, SortsNodes) {
  ModelBuilder m(13);
  m.input("x", Type::kF32, Shape{2});
  m.node("Abs", {"b"}, {"c"});
  m.node("Neg", {"a"}, {"b"});
  m.node("Relu", {"x"}, {"a"});
  m.output("c");
  EXPECT_EQ(m.import().graph.to_text(),
            "a: f32[2] = Relu(x)\nb: f32[2] = Neg(a)\nc: f32[2] = Abs(b)\n");
}

TEST(OnnxImport, MakesEmptyAndRepeatedNodeNamesUnique) {
  ModelBuilder m(13);
  m.input("x", Type::kF32, Shape{2});
  m.node("Relu", {"x"}, {"a"}).clear_name();
  m.node("Relu", {"a"}, {"b"}).clear_name();
  m.node("Neg", {"b"}, {"c"}).set_name("same");
  m.node("Abs", {"c"}, {"y"}).set_name("same");
  m.output("y");
  const Graph graph = m.import().graph;
  ASSERT_EQ(graph.node_count(), 4);
  EXPECT_EQ(graph.node(NodeId{0}).name, "Relu_0");
  EXPECT_EQ(graph.node(NodeId{1}).name, "Relu_1");
  EXPECT_EQ(graph.node(NodeId{2}).name, "same");
  EXPECT_EQ(graph.node(NodeId{3}).name, "same_1");
}

TEST(OnnxImport, KeepsUnusedInputs) {
  ModelBuilder m = relu_model();
  m.input("unused", Type::kI64, std::vector<std::string>{"N"});
  ImportOptions options;
  options.shapes["unused"] = {7};
  const Graph graph = m.import(options).graph;
  ASSERT_EQ(graph.inputs().size(), 2u);
  EXPECT_EQ(graph.value(graph.inputs()[1]).type, (TensorType{Type::kI64, {7}}));
}

TEST(OnnxImport, OutputsKeepTheirNamesWhateverTheyAre) {
  ModelBuilder m(13);
  m.input("x", Type::kF32, Shape{2});
  m.constant("w", Tensor::from<float>({2}, {1, 2}));
  m.node("Identity", {"x"}, {"copy"});
  m.node("Identity", {"w"}, {"weight"});
  m.node("Relu", {"x"}, {"r"});
  m.node("Identity", {"r"}, {"r2"});
  for (const char* name : {"x", "w", "copy", "weight", "r", "r2"}) m.output(name);
  const Graph graph = m.import().graph;
  std::vector<std::string> names;
  for (const ValueId id : graph.outputs()) names.push_back(graph.value(id).name);
  EXPECT_EQ(names, (std::vector<std::string>{"x", "w", "copy", "weight", "r", "r2"}));
  EXPECT_TRUE(graph.is_constant(graph.outputs()[3]));
}

TEST(OnnxImport, UnreadOutputsAreLeftOut) {
  ModelBuilder m(13);
  m.input("x", Type::kF32, Shape{6});
  m.constant("sizes", ints_tensor({1, 2, 3}));
  m.node("Split", {"x", "sizes"}, {"a", "b", "c"});
  m.output("b");
  const Graph graph = m.import().graph;
  ASSERT_EQ(graph.node_count(), 1);
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.shape, (Shape{2}));
  EXPECT_TRUE(graph.node(NodeId{0}).outputs[0].is_none());
}

// ---- operators

TEST(OnnxImport, NamesTheNodeWhenAnOperatorIsUnknown) {
  ModelBuilder m = relu_model();
  m.node("FusedMagic", {"x"}, {"z"}).set_domain("com.example.accel");
  m.output("z");
  const std::string error = import_error(m.bytes(), Code::kUnsupported);
  for (const char* part : {"FusedMagic", "com.example.accel", "'n_z'", "opset 13"})
    expect_in(part, error);
}

TEST(OnnxImport, NamesTheNodeWhenShapesDoNotFit) {
  ModelBuilder m(13);
  m.input("x", Type::kF32, Shape{1, 2, 4, 4});
  m.constant("w", Tensor::zeros({Type::kF32, {3, 2, 1, 1}}));
  m.constant("b", Tensor::zeros({Type::kF32, {5}}));
  m.node("Conv", {"x", "w", "b"}, {"y"});
  m.output("y");
  const std::string error = import_error(m.bytes(), Code::kShapeMismatch);
  for (const char* part : {"n_y", "5", "3"}) expect_in(part, error);
}

TEST(OnnxImport, NamesAnOperandThatMustBeConstant) {
  ModelBuilder m(13);
  m.input("x", Type::kF32, Shape{6}).input("s", Type::kI64, Shape{2});
  m.node("Reshape", {"x", "s"}, {"y"});
  m.output("y");
  const std::string error = import_error(m.bytes(), Code::kUnsupported);
  expect_in("Reshape 'n_y'", error);
  expect_in("'shape' is not constant", error);
}

TEST(OnnxImport, NamesAnAttributeOfTheWrongKind) {
  ModelBuilder m(13);
  m.input("x", Type::kF32, Shape{6});
  m.node("LeakyRelu", {"x"}, {"y"}, {{"alpha", std::int64_t{1}}});
  m.output("y");
  const std::string error = import_error(m.bytes(), Code::kInvalidArgument);
  expect_in("n_y", error);
  expect_in("alpha", error);
}

TEST(OnnxImport, RefusesStringsByName) {
  ModelBuilder m(13);
  m.input("names", Type::kString, Shape{2});
  m.node("Identity", {"names"}, {"y"});
  m.output("y");
  expect_in("input 'names': strings are not supported",
            import_error(m.bytes(), Code::kUnsupported));
}

// ---- shapes

TEST(OnnxImportShapes, OneBindingServesAllInputs) {
  ModelBuilder m(13);
  m.input("a", Type::kF32, std::vector<std::string>{"N", "3"});
  m.input("b", Type::kF32, std::vector<std::string>{"N", "3"});
  m.node("Add", {"a", "b"}, {"y"});
  m.output("y");
  const std::string error = import_error(m.bytes(), Code::kInvalidArgument);
  expect_in("inputs of symbolic dimensions: 'a' [N, 3], 'b' [N, 3]; give each a size, for example: "
            "--shape a=1x3 --shape b=1x3",
            error);
  ImportOptions options;
  options.shapes["b"] = {5, 3};
  EXPECT_EQ(m.import(options).graph.to_text(), "y: f32[5x3] = Add(a, b)\n");
  options.shapes["a"] = {4, 3};
  expect_in("dimension 'N' is 4 in input 'a' and 5 in input 'b'",
            import_error(m.bytes(), Code::kInvalidArgument, options));
}

TEST(OnnxImportShapes, QuestionMarksAreNotOneSymbol) {
  ModelBuilder m(13);
  m.input("x", Type::kF32, std::vector<std::string>{"?", "?"});
  for (auto& dim : *m.model.mutable_graph()
                        ->mutable_input(0)
                        ->mutable_type()
                        ->mutable_tensor_type()
                        ->mutable_shape()
                        ->mutable_dim()) {
    dim.set_dim_param("?");
  }
  m.node("Relu", {"x"}, {"y"});
  m.output("y");
  ImportOptions options;
  options.shapes["x"] = {2, 3};
  EXPECT_EQ(m.import(options).graph.to_text(), "y: f32[2x3] = Relu(x)\n");
  expect_in("input of symbolic dimensions: 'x' [?, ?]; give each a size, for example: "
            "--shape x=1x16",
            import_error(m.bytes(), Code::kInvalidArgument));
}

TEST(OnnxImportShapes, RefusesWhatContradictsTheFile) {
  ImportOptions options;
  options.shapes["x"] = {2, 4};
  expect_in("input 'x': the file declares [2, 3], the shape given is 2x4",
            import_error(relu_model().bytes(), Code::kInvalidArgument, options));
  options.shapes = {{"x", {2, 3, 1}}};
  import_error(relu_model().bytes(), Code::kInvalidArgument, options);
  options.shapes = {{"z", {2, 3}}};
  expect_in("there is no input 'z'; the inputs are 'x'",
            import_error(relu_model().bytes(), Code::kInvalidArgument, options));
  options.shapes = {{"x", {2, -3}}};
  import_error(relu_model().bytes(), Code::kInvalidArgument, options);
}

TEST(OnnxImportShapes, DefaultValueIsAConstantUnlessAShapeAsksForTheInput) {
  ModelBuilder m(13);
  m.input("x", Type::kF32, Shape{2}).input("w", Type::kF32, Shape{2});
  m.constant("w", Tensor::from<float>({2}, {1, 2}));
  m.node("Add", {"x", "w"}, {"y"});
  m.output("y");
  EXPECT_EQ(m.import().graph.inputs().size(), 1u);
  ImportOptions options;
  options.shapes["w"] = {2};
  EXPECT_EQ(m.import(options).graph.inputs().size(), 2u);
}

// ---- folding and control flow

TEST(OnnxImportFold, ComputesConstantNodesOnce) {
  ModelBuilder m(13);
  m.input("x", Type::kF32, Shape{6});
  m.constant("a", ints_tensor({1, 2})).constant("b", ints_tensor({1, 1}));
  m.node("Add", {"a", "b"}, {"s"});
  m.node("Reshape", {"x", "s"}, {"y"});
  m.output("y");
  import_error(m.bytes(), Code::kUnsupported);  // without an evaluator
  FakeEvaluator fake;
  ImportOptions options;
  options.evaluate = fake.function();
  const Imported imported = m.import(options);
  EXPECT_EQ(imported.graph.to_text(), "y: f32[2x3] = Reshape(x)\n");
  EXPECT_EQ(fake.calls, 1);
  EXPECT_EQ(imported.rewrites.at(0).kind, "fold-constant");
  EXPECT_EQ(imported.file_nodes, 2);
  EXPECT_EQ(imported.opset, 13);
}

TEST(OnnxImportFold, KeepsANodeThatTheEvaluatorDeclines) {
  ModelBuilder m(13);
  m.constant("a", ints_tensor({1, 2}));
  m.node("Abs", {"a"}, {"y"});
  m.output("y");
  FakeEvaluator fake;
  ImportOptions options;
  options.evaluate = fake.function();
  EXPECT_EQ(m.import(options).graph.to_text(), "y: i64[2] = Abs(a)\n");
}

// y = x == … ? relu(x) : neg(x) + w, with w captured.
ModelBuilder if_model(const std::string& condition) {
  ModelBuilder m(13);
  m.input("x", Type::kF32, Shape{2}).input("flag", Type::kBool, Shape{});
  m.constant("w", Tensor::from<float>({2}, {1, 2}));
  m.constant("one", Tensor::from<std::int64_t>({}, {1}));
  m.node("Equal", {"one", "one"}, {"yes"});
  m.node("Not", {"flag"}, {"no"});
  onnx::NodeProto& node = m.node("If", {condition}, {"y"});
  const auto branch = [&](const char* name, const std::vector<std::vector<std::string>>& nodes) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    for (const auto& parts : nodes) {
      onnx::NodeProto& inner = *attribute.mutable_g()->add_node();
      inner.set_op_type(parts[0]);
      inner.add_output(parts[1]);
      for (std::size_t i = 2; i < parts.size(); ++i) inner.add_input(parts[i]);
    }
    attribute.mutable_g()->add_output()->set_name("out");
  };
  branch("then_branch", {{"Neg", "t", "x"}, {"Add", "out", "t", "w"}});
  branch("else_branch", {{"Relu", "out", "x"}});
  m.output("y");
  return m;
}

TEST(OnnxImportIf, BranchOfAKnownConditionIsPutInPlace) {
  FakeEvaluator fake;
  ImportOptions options;
  options.evaluate = fake.function();
  EXPECT_EQ(if_model("yes").import(options).graph.to_text(),
            "t: f32[2] = Neg(x)\ny: f32[2] = Add(t, w)\n");
}

TEST(OnnxImportIf, ConditionOfTheDataIsRefusedByName) {
  const std::string error = import_error(if_model("no").bytes(), Code::kUnsupported);
  expect_in("If 'n_y'", error);
  expect_in("data-dependent control flow", error);
  expect_in("it follows from input 'flag': --value flag=NUMBER makes it constant", error);
}

TEST(OnnxImportIf, AGivenValueOfAnInputDecides) {
  ImportOptions options;
  options.values["flag"] = Tensor::from<bool>({}, {true});
  const Imported imported = if_model("flag").import(options);
  EXPECT_EQ(imported.graph.to_text(), "t: f32[2] = Neg(x)\ny: f32[2] = Add(t, w)\n");
  EXPECT_EQ(imported.graph.inputs().size(), 1u);
  options.values["flag"] = Tensor::from<bool>({}, {false});
  EXPECT_EQ(if_model("flag").import(options).graph.to_text(), "y: f32[2] = Relu(x)\n");
  options.values["flag"] = Tensor::from<float>({}, {1});
  expect_in("the value given is f32",
            import_error(if_model("flag").bytes(), Code::kInvalidArgument, options));
  options.values = {{"fleg", Tensor::from<bool>({}, {true})}};
  expect_in("no input 'fleg'",
            import_error(if_model("flag").bytes(), Code::kInvalidArgument, options));
}

TEST(OnnxImportIf, AGivenNumberTakesTheTypeThatTheFileDeclares) {
  ImportOptions options;
  options.numbers["flag"] = 1;
  const Imported imported = if_model("flag").import(options);
  EXPECT_EQ(imported.graph.to_text(), "t: f32[2] = Neg(x)\ny: f32[2] = Add(t, w)\n");
  EXPECT_EQ(imported.graph.inputs().size(), 1u);
  options.numbers["flag"] = 0;
  EXPECT_EQ(if_model("flag").import(options).graph.to_text(), "y: f32[2] = Relu(x)\n");
  for (const double wrong : {2.0, 0.5, -1.0}) {
    options.numbers["flag"] = wrong;
    expect_in("input 'flag': bool[scalar] cannot hold",
              import_error(if_model("flag").bytes(), Code::kInvalidArgument, options));
  }
  options.numbers = {{"fleg", 1}};
  expect_in("no input 'fleg'",
            import_error(if_model("flag").bytes(), Code::kInvalidArgument, options));
}

TEST(OnnxImportFunction, IsPutInPlaceWithItsAttributes) {
  ModelBuilder m(13);
  m.input("x", Type::kF32, Shape{2});
  onnx::FunctionProto& function = *m.model.add_functions();
  function.set_name("Leak");
  function.set_domain("local");
  function.add_input("a");
  function.add_output("b");
  function.add_attribute("slope");
  function.add_opset_import()->set_version(13);
  onnx::NodeProto& inner = *function.add_node();
  inner.set_op_type("LeakyRelu");
  inner.add_input("a");
  inner.add_output("b");
  onnx::AttributeProto& alpha = *inner.add_attribute();
  alpha.set_name("alpha");
  alpha.set_type(onnx::AttributeProto::FLOAT);
  alpha.set_ref_attr_name("slope");
  m.node("Leak", {"x"}, {"y"}, {{"slope", 0.25f}}).set_domain("local");
  m.node("Leak", {"y"}, {"z"}).set_domain("local");
  m.output("z");
  EXPECT_EQ(m.import().graph.to_text(),
            "y: f32[2] = LeakyRelu(x) {alpha=0.25}\nz: f32[2] = LeakyRelu(y) {alpha=0.01}\n");
}

TEST(OnnxImportFunction, ThatCallsItselfIsRefused) {
  ModelBuilder m(13);
  m.input("x", Type::kF32, Shape{2});
  onnx::FunctionProto& function = *m.model.add_functions();
  function.set_name("Loopy");
  function.set_domain("local");
  function.add_input("a");
  function.add_output("b");
  onnx::NodeProto& inner = *function.add_node();
  inner.set_op_type("Loopy");
  inner.set_domain("local");
  inner.add_input("a");
  inner.add_output("b");
  m.node("Loopy", {"x"}, {"y"}).set_domain("local");
  m.output("y");
  expect_in("too deep", import_error(m.bytes(), Code::kUnsupported));
}

TEST(OnnxImport, FortyThousandNodes) {
  ModelBuilder m(13);
  m.input("x", Type::kF32, Shape{2});
  std::string last = "x";
  for (int i = 0; i < 40000; ++i) {
    const std::string next = "t" + std::to_string(i);
    m.node(i % 2 == 0 ? "Neg" : "Abs", {last}, {next});
    last = next;
  }
  m.output(last);
  EXPECT_EQ(m.import().graph.node_count(), 40000);
}

}  // namespace
}  // namespace inlay
