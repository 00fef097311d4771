// The plugins that take whole regions, each against the reference plugin: what every claim of
// theirs must pass before it is used (search/verify/verify.h), in this process.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/base/log.h"
#include "core/base/rng.h"
#include "core/host/plugin_host.h"
#include "core/run/executor.h"
#include "core/run/random_inputs.h"
#include "core/run/thread_pool.h"
#include "graphs/ir/graph.h"
#include "search/candidates/candidates.h"
#include "search/lower/region_plan.h"
#include "search/verify/expected.h"
#include "tests/graphs/onnx/operator_cases.h"

namespace inlay {
namespace {

using Ints = std::vector<std::int64_t>;

TensorType f32(Shape shape) { return {DType::kF32, std::move(shape)}; }

class Engines : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(library(GetParam()))) {
      GTEST_SKIP() << "plugin " << GetParam() << " was left out: its library is not here";
    }
  }

  static std::filesystem::path library(const std::string& plugin) {
    return std::string(INLAY_PLUGIN_DIR) + "/" + plugin + ".so";
  }

  PluginHost& host() {
    if (!host_) {
      host_ = std::make_unique<PluginHost>(
          log_, HostOptions{.search_path = {library(GetParam()), library("reference")},
                            .threads = pool_.threads(),
                            .parallel_for = pool_.parallel_for(),
                            .execute_on = pool_.execute_on()});
    }
    return *host_;
  }

  // The region of the whole graph, as the engine gets it.
  Region whole(const Graph& graph) {
    const Candidates found = find_candidates(graph, host());
    for (const Candidate& c : found.list) {
      if (c.plugin == GetParam() && std::ssize(c.nodes) == graph.node_count()) {
        return make_region(graph, c);
      }
    }
    ADD_FAILURE() << "the engine is not offered the whole graph";
    return {};
  }

  // "" if the engine's results are right, else what is wrong.
  std::string check(const Graph& graph) {
    const Region region = whole(graph);
    std::string declined;
    const auto device = host().open_device(GetParam());
    if (!device->compile(region, {.thread_cap = pool_.threads()}, &declined)) {
      return "declined: " + declined;
    }
    const Expected expected = expect(region, "region", host(), 1);
    const Lowered lowered = lower_region(region, GetParam(), host(), EdgeLayout::kDense);
    Executor executor(lowered.plan, lowered.weights, host());
    for (const Trial& trial : expected.trials) {
      const std::string found = difference(expected, trial, executor.run(trial.inputs));
      if (!found.empty()) return found;
    }
    return "";
  }

  NullLog log_;
  ThreadPool pool_{2};
  std::unique_ptr<PluginHost> host_;
};

// Graphs with random weights, so that no two elements agree by chance.
class Net {
 public:
  explicit Net(const std::string& name) : builder(name) {}

  ValueId weight(Shape shape) {
    TensorType type = f32(std::move(shape));
    return builder.constant("", random_tensor(type, rng_, kDefaultMaxValue));
  }
  ValueId ints(const std::vector<std::int64_t>& values) {
    return builder.constant("", Tensor::from<std::int64_t>({std::ssize(values)}, values));
  }
  ValueId apply(const std::string& op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    return builder.node("", op, std::move(inputs), std::move(attributes));
  }
  Graph build(ValueId output) {
    builder.output(output);
    return builder.build();
  }

  GraphBuilder builder;

 private:
  Rng rng_{7};
};

Attributes conv(std::int64_t kernel, std::int64_t stride, std::int64_t pad,
                std::int64_t group = 1) {
  return {{"kernel_shape", Ints{kernel, kernel}},
          {"strides", Ints{stride, stride}},
          {"dilations", Ints{1, 1}},
          {"pads", Ints{pad, pad, pad, pad}},
          {"group", group}};
}

Graph picture_net() {
  Net net("picture");
  ValueId x = net.builder.input("x", f32({1, 3, 16, 16}));
  x = net.apply("Relu",
                {net.apply("Conv", {x, net.weight({8, 3, 3, 3}), net.weight({8})}, conv(3, 2, 1))});
  const ValueId skip = x;
  x = net.apply("Conv", {x, net.weight({8, 1, 3, 3})}, conv(3, 1, 1, 8));  // depthwise
  x = net.apply("Add", {net.apply("HardSwish", {x}), skip});
  x = net.apply(
      "MaxPool", {x},
      {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}, {"pads", Ints{0, 0, 0, 0}}});
  x = net.apply("GlobalAveragePool", {net.apply("Sigmoid", {x})});
  x = net.builder.reshape("flat", x, {1, 8});
  return net.build(net.apply("Gemm", {x, net.weight({8, 10}), net.weight({10})}));
}

Graph attention_net() {
  Net net("attention");
  const ValueId x = net.builder.input("x", f32({1, 6, 16}));
  const ValueId norm = net.apply("LayerNormalization", {x, net.weight({16}), net.weight({16})},
                                 {{"axis", std::int64_t{2}}, {"epsilon", 1e-5f}});
  const ValueId q = net.apply("MatMul", {norm, net.weight({16, 16})});
  const ValueId k = net.apply("MatMul", {norm, net.weight({16, 16})});
  const ValueId v = net.apply("MatMul", {norm, net.weight({16, 16})});
  const ValueId scores =
      net.apply("MatMul", {q, net.apply("Transpose", {k}, {{"perm", Ints{0, 2, 1}}})});
  const ValueId scaled =
      net.apply("Mul", {scores, net.builder.constant("", Tensor::from<float>({}, {0.25f}))});
  const ValueId mixed =
      net.apply("MatMul", {net.apply("Softmax", {scaled}, {{"axis", std::int64_t{2}}}), v});
  const ValueId hidden = net.apply("Gelu", {net.apply("MatMul", {mixed, net.weight({16, 32})})});
  return net.build(net.apply("Add", {net.apply("MatMul", {hidden, net.weight({32, 16})}), x}));
}

Graph recurrent_net() {
  Net net("recurrent");
  const ValueId x = net.builder.input("x", f32({5, 2, 4}));
  const std::vector<ValueId> lstm = net.builder.node(
      "lstm", "LSTM", {x, net.weight({1, 12, 4}), net.weight({1, 12, 3}), net.weight({1, 24})},
      {{"hidden_size", std::int64_t{3}}}, 3);
  net.builder.output(lstm[1]);
  net.builder.output(lstm[2]);
  return net.build(net.apply("Tanh", {lstm[0]}));
}

// Whole numbers in and out, truth in between, an embedding.
Graph token_net() {
  Net net("token");
  const ValueId ids = net.builder.input("ids", {DType::kI64, {2, 5}});
  const ValueId rows = net.apply("Gather", {net.weight({9, 4}), ids}, {{"axis", std::int64_t{0}}});
  const ValueId is_small = net.apply("Less", {ids, net.ints({4})});
  const ValueId mask = net.apply("Cast", {is_small}, {{"to", std::int64_t{1}}});
  const ValueId wide = net.builder.reshape("wide", mask, {2, 5, 1});
  const ValueId kept = net.apply("Mul", {rows, wide});
  net.builder.output(net.apply("Add", {ids, net.ints({3})}));
  return net.build(
      net.apply("ReduceSum", {kept}, {{"axes", Ints{1}}, {"keepdims", std::int64_t{0}}}));
}

// What moves data, with parameters that are attributes in canonical form and operands in ONNX.
Graph moving_net() {
  Net net("moving");
  const ValueId x = net.builder.input("x", f32({1, 4, 6, 6}));
  const ValueId padded = net.apply(
      "Pad", {x}, {{"mode", std::string("constant")}, {"pads", Ints{0, 0, 1, 1, 0, 0, 1, 1}}});
  const ValueId part = net.apply(
      "Slice", {padded},
      {{"starts", Ints{1, 1}}, {"ends", Ints{7, 7}}, {"axes", Ints{2, 3}}, {"steps", Ints{2, 1}}});
  const ValueId turned = net.apply("Transpose", {part}, {{"perm", Ints{0, 1, 3, 2}}});
  const std::vector<ValueId> halves = net.builder.node(
      "split", "Split", {turned}, {{"axis", std::int64_t{1}}, {"split", Ints{1, 3}}}, 2);
  const ValueId joined = net.apply("Concat", {halves[1], halves[0]}, {{"axis", std::int64_t{1}}});
  return net.build(net.apply("Clip", {joined}, {{"min", -0.5f}, {"max", 0.75f}}));
}

TEST_P(Engines, AgreeWithTheReference) {
  EXPECT_EQ(check(picture_net()), "");
  EXPECT_EQ(check(attention_net()), "");
  EXPECT_EQ(check(recurrent_net()), "");
  EXPECT_EQ(check(token_net()), "");
  EXPECT_EQ(check(moving_net()), "");
}

// What they cannot run they decline; nothing comes out wrong.
TEST_P(Engines, EachOperatorIsRightOrDeclined) {
  int right = 0;
  const std::vector<OperatorCase> cases = operator_cases();
  // Of random operands: scales of either sign, divisors that are zero.
  const std::set<std::string> undefined = {"QLinearConv", "QLinearMatMul", "Mod"};
  for (const OperatorCase& item : cases) {
    if (undefined.contains(item.op)) continue;
    SCOPED_TRACE(item.op);
    const Graph graph = graph_of(item);
    const Candidates found = find_candidates(graph, host());
    const bool is_offered = std::any_of(found.list.begin(), found.list.end(),
                                        [](const Candidate& c) { return c.plugin == GetParam(); });
    if (!is_offered) continue;
    const std::string answer = check(graph);
    right += answer.empty() ? 1 : 0;
    EXPECT_TRUE(answer.empty() || answer.starts_with("declined: ")) << answer;
    if (!answer.empty()) std::printf("%s %s\n", item.op.c_str(), answer.c_str());
  }
  EXPECT_GT(right, static_cast<int>(cases.size()) * 3 / 4);
}

TEST_P(Engines, TwinsRunAtOnceEachOnItsOwnMemory) {
  const Graph graph = picture_net();
  const Region region = whole(graph);
  const Lowered lowered = lower_region(region, GetParam(), host(), EdgeLayout::kDense);
  const Expected expected = expect(region, "region", host(), 1);
  Executor first(lowered.plan, lowered.weights, host());
  const std::unique_ptr<Executor> second = first.twin();
  std::vector<std::string> wrong(2);
  const auto run = [&](Executor& executor, std::size_t which) {
    for (int i = 0; i < 20 && wrong[which].empty(); ++i) {
      const Trial& trial = expected.trials[(which + static_cast<std::size_t>(i)) % 3];
      wrong[which] = difference(expected, trial, executor.run(trial.inputs));
    }
  };
  std::thread other([&] { run(*second, 1); });
  run(first, 0);
  other.join();
  EXPECT_EQ(wrong, std::vector<std::string>(2));
}

TEST_P(Engines, ModelTheyCannotReadIsDeclinedOnOneLine) {
  Region region = whole(picture_net());
  RegionValue& onnx = region.values.back();
  Tensor broken = Tensor::zeros(onnx.type);
  std::fill(broken.mutable_bytes().begin(), broken.mutable_bytes().end(), std::byte{0xff});
  onnx.constant = broken;
  std::string declined;
  EXPECT_EQ(host().open_device(GetParam())->compile(region, {}, &declined), nullptr);
  EXPECT_NE(declined, "");
  EXPECT_EQ(declined.find('\n'), std::string::npos) << declined;
}

TEST_P(Engines, RegionWithoutItsOnnxFormIsDeclined) {
  Region region = whole(picture_net());
  region.values.pop_back();
  std::string declined;
  EXPECT_EQ(host().open_device(GetParam())->compile(region, {}, &declined), nullptr);
  EXPECT_EQ(declined, "the host sent no ONNX model");
}

INSTANTIATE_TEST_SUITE_P(All, Engines, testing::Values("openvino", "onnxruntime"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace inlay
