#include "graphs/onnx/tensor_proto.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/graphs/onnx/model_builder.h"

namespace inlay {
namespace {

using Type = DType;

ModelBuilder relu_model() {
  ModelBuilder m(13);
  m.input("x", Type::kF32, Shape{2, 3});
  m.node("Relu", {"x"}, {"y"});
  m.output("y");
  return m;
}

TEST(OnnxImportTensor, ReadsTypedFields) {
  ModelBuilder m(13);
  onnx::TensorProto& half = *m.model.mutable_graph()->add_initializer();
  half.set_name("h");
  half.set_data_type(onnx::TensorProto::FLOAT16);
  half.add_dims(2);
  half.add_int32_data(0x3c00);  // 1
  half.add_int32_data(0xc000);  // -2
  onnx::TensorProto& flags = *m.model.mutable_graph()->add_initializer();
  flags.set_name("b");
  flags.set_data_type(onnx::TensorProto::BOOL);
  flags.add_dims(2);
  flags.add_int32_data(1);
  flags.add_int32_data(0);
  m.output("h").output("b");
  const Graph graph = m.import().graph;
  const Tensor& h = *graph.value(graph.outputs()[0]).constant;
  EXPECT_EQ(reinterpret_cast<const std::uint16_t*>(h.data())[1], 0xc000);
  EXPECT_EQ(*graph.value(graph.outputs()[1]).constant, Tensor::from<bool>({2}, {true, false}));
}

TEST(OnnxImportTensor, RefusesTooFewBytes) {
  ModelBuilder m = relu_model();
  m.constant("w", Tensor::from<float>({2}, {1, 2}));
  m.model.mutable_graph()->mutable_initializer(0)->set_raw_data("abcd");
  const std::string error = import_error(m.bytes(), Code::kCorrupt);
  for (const char* part : {"tensor 'w'", "needs 8 bytes", "has 4"}) expect_in(part, error);
}

TEST(OnnxImportTensor, RefusesAbsurdShapesAndSparseTensors) {
  ModelBuilder m = relu_model();
  m.constant("w", Tensor::from<float>({2}, {1, 2}));
  onnx::TensorProto& tensor = *m.model.mutable_graph()->mutable_initializer(0);
  tensor.set_dims(0, std::int64_t{1} << 40);
  tensor.add_dims(std::int64_t{1} << 40);
  expect_in("tensor 'w'", import_error(m.bytes(), Code::kCorrupt));
  tensor.set_dims(0, -2);
  import_error(m.bytes(), Code::kCorrupt);
  ModelBuilder sparse = relu_model();
  sparse.model.mutable_graph()->add_sparse_initializer()->mutable_values()->set_name("s");
  expect_in("'s'", import_error(sparse.bytes(), Code::kUnsupported));
}

class OnnxExternalData : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / "inlay_external_data";
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "weights.bin", std::ios::binary)
        .write("\0\0\0\0\0\0\x80\x3f\0\0\0\x40", 12);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // A model that adds two floats of the file from `offset` on.
  std::filesystem::path write_model(const std::string& location, int offset, int length) {
    ModelBuilder m(13);
    m.input("x", Type::kF32, Shape{2});
    onnx::TensorProto& w = *m.model.mutable_graph()->add_initializer();
    w.set_name("w");
    w.set_data_type(onnx::TensorProto::FLOAT);
    w.add_dims(2);
    w.set_data_location(onnx::TensorProto::EXTERNAL);
    for (const auto& [key, value] : {std::pair<std::string, std::string>{"location", location},
                                     {"offset", std::to_string(offset)},
                                     {"length", std::to_string(length)}}) {
      auto& entry = *w.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    m.node("Add", {"x", "w"}, {"y"});
    m.output("y");
    std::ofstream(folder_ / "model.onnx", std::ios::binary) << m.bytes();
    return folder_ / "model.onnx";
  }

  std::string error_of(const std::filesystem::path& path, Code code) {
    try {
      import_onnx(path, {});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      return error.what();
    }
    ADD_FAILURE() << "import did not fail";
    return "";
  }

  std::filesystem::path folder_;
};

TEST_F(OnnxExternalData, IsFoundBesideTheModel) {
  const Graph graph = import_onnx(write_model("weights.bin", 4, 8), {}).graph;
  const Tensor& w = *graph.value(*graph.find_value("w")).constant;
  EXPECT_EQ(w, Tensor::from<float>({2}, {1.0f, 2.0f}));
}

TEST_F(OnnxExternalData, RefusesFilesThatAreMissingShortOrElsewhere) {
  const std::string missing = error_of(write_model("gone.bin", 0, 8), Code::kNotFound);
  expect_in("gone.bin", missing);
  expect_in("tensor 'w'", missing);
  const std::string shorter = error_of(write_model("weights.bin", 8, 8), Code::kCorrupt);
  for (const char* part : {"weights.bin", "has only 12", "8 + 8"}) expect_in(part, shorter);
  expect_in("needs 8 bytes", error_of(write_model("weights.bin", 0, 12), Code::kCorrupt));
  expect_in("outside", error_of(write_model("../weights.bin", 0, 8), Code::kCorrupt));
  expect_in("outside", error_of(write_model("/etc/passwd", 0, 8), Code::kCorrupt));
  std::filesystem::create_symlink("/etc", folder_ / "link");
  expect_in("outside", error_of(write_model("link/passwd", 0, 8), Code::kCorrupt));
}

}  // namespace
}  // namespace inlay
