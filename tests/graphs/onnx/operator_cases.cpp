#include "tests/graphs/onnx/operator_cases.h"

#include <set>

#include "graphs/ir/op_table.h"

namespace inlay {
namespace {

using Type = DType;
using Types = std::vector<TensorType>;

TensorType f32(Shape shape) { return {Type::kF32, std::move(shape)}; }
TensorType typed(Type dtype, Shape shape) { return {dtype, std::move(shape)}; }
Attribute number(int value) { return static_cast<std::int64_t>(value); }
Attribute ints(std::vector<std::int64_t> values) { return values; }
Attribute text(const char* value) { return std::string(value); }

std::vector<OperatorCase> movement_cases() {
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

std::vector<OperatorCase> network_cases() {
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

std::vector<OperatorCase> elementwise_cases() {
  std::vector<OperatorCase> cases = {
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

}  // namespace

std::vector<OperatorCase> operator_cases() {
  std::vector<OperatorCase> cases;
  for (const auto& part : {movement_cases(), network_cases(), elementwise_cases()}) {
    cases.insert(cases.end(), part.begin(), part.end());
  }
  return cases;
}

Graph graph_of(const OperatorCase& item) {
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

}  // namespace inlay
