// A broken file ends in an Error, whatever is broken: never in a crash, another exception or an
// endless allocation.
#include <gtest/gtest.h>

#include "core/base/rng.h"
#include "tests/graphs/onnx/model_builder.h"

namespace inlay {
namespace {

// A model with most kinds of fields: weights in both forms, attributes, an If, operands that are
// shapes.
std::string model_bytes() {
  ModelBuilder m(13);
  m.input("x", DType::kF32, Shape{1, 2, 6, 6});
  m.constant("w", Tensor::zeros({DType::kF32, {4, 2, 3, 3}}));
  onnx::TensorProto& bias = *m.model.mutable_graph()->add_initializer();
  bias.set_name("b");
  bias.set_data_type(onnx::TensorProto::FLOAT);
  bias.add_dims(4);
  for (int i = 0; i < 4; ++i) bias.add_float_data(static_cast<float>(i));
  m.constant("shape", ints_tensor({0, -1})).constant("starts", ints_tensor({1}));
  m.constant("ends", ints_tensor({-1})).constant("flag", Tensor::from<bool>({}, {true}));
  m.node("Conv", {"x", "w", "b"}, {"c"}, {{"pads", ints({1, 1, 1, 1})}, {"strides", ints({2, 2})}});
  m.node("MaxPool", {"c"}, {"p"},
         {{"kernel_shape", ints({2, 2})}, {"auto_pad", text("SAME_UPPER")}});
  m.node("Reshape", {"p", "shape"}, {"r"});
  m.node("Slice", {"r", "starts", "ends", "starts"}, {"s"});
  onnx::NodeProto& branch = m.node("If", {"flag"}, {"i"});
  for (const char* name : {"then_branch", "else_branch"}) {
    onnx::AttributeProto& attribute = *branch.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    onnx::NodeProto& inner = *attribute.mutable_g()->add_node();
    inner.set_op_type("Relu");
    inner.add_input("s");
    inner.add_output("inner");
    attribute.mutable_g()->add_output()->set_name("inner");
  }
  m.node("Shape", {"i"}, {"dims"});
  m.node("ConstantOfShape", {"dims"}, {"zeros"});
  m.node("Add", {"i", "zeros"}, {"y"});
  m.output("y");
  return m.bytes();
}

// Whether the bytes are accepted. Anything but an Error escapes and fails the test.
bool is_accepted(const std::string& bytes) {
  try {
    import_bytes(bytes);
    return true;
  } catch (const Error& error) {
    EXPECT_NE(error.code(), Code::kInternal) << error.what();
    EXPECT_FALSE(std::string(error.what()).empty());
    return false;
  }
}

TEST(OnnxFuzz, WholeModelIsAccepted) { EXPECT_TRUE(is_accepted(model_bytes())); }

TEST(OnnxFuzz, EveryTruncationEndsInAnError) {
  const std::string bytes = model_bytes();
  // Only the last field, the opset, may be cut without a trace inside protobuf; import asks for it.
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(is_accepted(bytes.substr(0, length))) << "cut to " << length << " bytes";
  }
}

TEST(OnnxFuzz, FlippedBytesNeverCrash) {
  const std::string bytes = model_bytes();
  Rng rng(2026);  // any seed: each failure is printed with its round
  int refused = 0;
  for (int round = 0; round < 4000; ++round) {
    SCOPED_TRACE(round);
    std::string broken = bytes;
    for (std::uint64_t flips = 1 + rng.below(4); flips > 0; --flips) {
      broken[rng.below(broken.size())] = static_cast<char>(rng.below(256));
    }
    refused += is_accepted(broken) ? 0 : 1;
  }
  EXPECT_GT(refused, 100);  // most of a model is weights, whose values are free
}

TEST(OnnxFuzz, FlippedBitsNeverCrash) {
  const std::string bytes = model_bytes();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    SCOPED_TRACE(i);
    std::string broken = bytes;
    broken[i] = static_cast<char>(broken[i] ^ (1 << (i % 8)));
    is_accepted(broken);
  }
}

}  // namespace
}  // namespace inlay
