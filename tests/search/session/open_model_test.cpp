#include "search/session/open_model.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "graphs/onnx/export.h"
#include "tests/core/base/scratch_folder.h"

namespace inlay {
namespace {

namespace fs = std::filesystem;

class OpenModel : public testing::Test {
 protected:
  void SetUp() override {
    GraphBuilder builder("small");
    const ValueId x = builder.input("x", {DType::kF32, {128}});
    const ValueId two =
        builder.constant("two", Tensor::from<float>({128}, std::vector<float>(128, 2)));
    builder.output(builder.node("relu", "Relu", {builder.node("y", "Mul", {x, two})}));
    export_onnx(builder.build(), model());
    options_.database = folder_ / "costs";
    options_.worker = INLAY_BINARY_DIR "/bin/inlay-worker";
  }

  fs::path model() const { return folder_ / "small.onnx"; }

  ScratchFolder scratch_;
  fs::path folder_ = scratch_.path();
  ModelOptions options_;
  Runtime runtime_{{.plugins = {INLAY_PLUGIN_DIR "/reference.so"}, .threads = 1}};
};

TEST_F(OpenModel, PlacesAModelAndRunsIt) {
  const Session session = open_model(runtime_, model(), options_);
  EXPECT_EQ(session.model(), "small");
  std::vector<float> x(128, 3);
  std::vector<float> y(128);
  x[0] = -1;
  session.run({{"x", x}}, {{session.outputs().at(0).name, y}});
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[127], 6);
}

TEST_F(OpenModel, OneModelOpenedTwiceIsHeldOnce) {
  const Session first = open_model(runtime_, model(), options_);
  const std::uint64_t bytes = runtime_.constant_bytes();
  EXPECT_GT(bytes, 0u);
  const Session second = open_model(runtime_, model(), options_);
  EXPECT_EQ(runtime_.constant_bytes(), bytes);
}

TEST_F(OpenModel, AMissingModelIsNamed) {
  try {
    open_model(runtime_, folder_ / "no.onnx", options_);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kNotFound);
    EXPECT_NE(std::string(error.what()).find("no.onnx"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace inlay
