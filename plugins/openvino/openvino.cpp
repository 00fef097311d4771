// Backend on OpenVINO's CPU plugin, which takes whole regions as ONNX models. It runs on oneTBB,
// the process's, in an arena of as many threads as the host allows; in f32 throughout, since on
// CPUs with bf16 it would lower the precision by itself.

#include <array>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/sdk/onnx_model.h"
#include "core/sdk/plugin.h"
#include "openvino/openvino.hpp"

namespace inlay::openvino {
namespace {

constexpr const char* kDevice = "CPU";

struct ElementType {
  inlay_dtype dtype;
  ov::element::Type_t type;
};
constexpr std::array<ElementType, 11> kElementTypes{{{INLAY_F32, ov::element::Type_t::f32},
                                                     {INLAY_F16, ov::element::Type_t::f16},
                                                     {INLAY_F64, ov::element::Type_t::f64},
                                                     {INLAY_I8, ov::element::Type_t::i8},
                                                     {INLAY_I16, ov::element::Type_t::i16},
                                                     {INLAY_I32, ov::element::Type_t::i32},
                                                     {INLAY_I64, ov::element::Type_t::i64},
                                                     {INLAY_U8, ov::element::Type_t::u8},
                                                     {INLAY_U32, ov::element::Type_t::u32},
                                                     {INLAY_U64, ov::element::Type_t::u64},
                                                     {INLAY_BOOL, ov::element::Type_t::boolean}}};

// Made by the first compile and kept: making one reads the CPU's properties and loads libraries.
ov::Core& core() {
  static ov::Core core;
  return core;
}

// A tensor of the region's, in OpenVINO's words.
struct Port {
  ov::element::Type type;
  ov::Shape shape;
};

Port port_of(const sdk::ValueView& value) {
  for (const ElementType& known : kElementTypes) {
    if (known.dtype != value.dtype()) continue;
    return {known.type, ov::Shape(value.dims().begin(), value.dims().end())};
  }
  throw sdk::Decline("OpenVINO has no element type " + std::to_string(value.dtype()));
}

void check_port(const char* side, std::size_t position, const ov::Output<const ov::Node>& found,
                const Port& expected) {
  const ov::PartialShape& shape = found.get_partial_shape();
  if (found.get_element_type() == expected.type && shape == ov::PartialShape(expected.shape))
    return;
  throw sdk::Decline("OpenVINO: " + std::string(side) + " " + std::to_string(position) +
                     " became " + found.get_element_type().get_type_name() + shape.to_string() +
                     ", expected " + expected.type.get_type_name() +
                     ov::PartialShape(expected.shape).to_string());
}

// One request, and what its tensors point to.
class Request : public sdk::KernelState {
 public:
  explicit Request(ov::InferRequest request) : request_(std::move(request)) {}

  ov::InferRequest request_;
  std::vector<void*> inputs_;
  std::vector<void*> outputs_;
};

class Model : public sdk::Kernel {
 public:
  Model(ov::CompiledModel model, std::vector<Port> inputs, std::vector<Port> outputs)
      : model_(std::move(model)), inputs_(std::move(inputs)), outputs_(std::move(outputs)) {}

  bool retains_constants() const override { return false; }

  std::unique_ptr<sdk::KernelState> make_state() const override {
    auto state =
        std::make_unique<Request>(const_cast<ov::CompiledModel&>(model_).create_infer_request());
    state->inputs_.assign(inputs_.size(), nullptr);
    state->outputs_.assign(outputs_.size(), nullptr);
    return state;
  }

  void run(std::span<const sdk::TensorView> inputs, std::span<const sdk::TensorView> outputs,
           const sdk::RunContext& context) const override {
    Request& state = static_cast<Request&>(*context.state);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      void* data = inputs[i].data();
      if (std::exchange(state.inputs_[i], data) == data) continue;
      state.request_.set_input_tensor(i, ov::Tensor(inputs_[i].type, inputs_[i].shape, data));
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      void* data = outputs[i].data();
      if (std::exchange(state.outputs_[i], data) == data) continue;
      state.request_.set_output_tensor(i, ov::Tensor(outputs_[i].type, outputs_[i].shape, data));
    }
    state.request_.infer();
  }

 private:
  ov::CompiledModel model_;
  std::vector<Port> inputs_;
  std::vector<Port> outputs_;
};

// One stream: the host runs one region at a time, on all its threads. Binding threads to cores
// would bind the host's.
ov::AnyMap properties(int threads) {
  return {ov::hint::performance_mode(ov::hint::PerformanceMode::LATENCY),
          ov::num_streams(1),
          ov::inference_num_threads(threads),
          ov::hint::enable_cpu_pinning(false),
          ov::hint::inference_precision(ov::element::f32),
          ov::hint::execution_mode(ov::hint::ExecutionMode::ACCURACY)};
}

// What an exception of OpenVINO says, on one line and without the places in its source.
std::string message_of(const ov::Exception& error) {
  std::string message;
  std::istringstream lines(error.what());
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with("Exception from ")) continue;
    message += (message.empty() ? "" : " ") + line;
  }
  return message;
}

std::vector<Port> ports_of(const sdk::RegionView& region, std::span<const std::int32_t> values) {
  std::vector<Port> ports;
  for (const std::int32_t value : values) ports.push_back(port_of(region.value(value)));
  return ports;
}

std::unique_ptr<sdk::Kernel> compile(const sdk::RegionView& region,
                                     const sdk::CompileContext& context) {
  std::vector<Port> inputs = ports_of(region, region.inputs());
  std::vector<Port> outputs = ports_of(region, region.outputs());
  const std::string onnx = sdk::complete_model(region, context.onnx);
  try {
    const std::shared_ptr<ov::Model> model = core().read_model(onnx, ov::Tensor());
    ov::CompiledModel compiled =
        core().compile_model(model, kDevice, properties(context.thread_cap));
    if (compiled.inputs().size() != inputs.size() || compiled.outputs().size() != outputs.size()) {
      throw sdk::Decline("OpenVINO: the model has other inputs or outputs than the region");
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      check_port("input", i, compiled.input(i), inputs[i]);
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      check_port("output", i, compiled.output(i), outputs[i]);
    }
    return std::make_unique<Model>(std::move(compiled), std::move(inputs), std::move(outputs));
  } catch (const ov::Exception& error) {  // what it cannot read or compile
    throw sdk::Decline("OpenVINO: " + message_of(error));
  }
}

constexpr sdk::Pattern kPatterns[] = {{.id = "region",
                                       .any = {.opset = 20, .dtypes = "f32 i32 i64 bool u8 i8"},
                                       .tolerance = "region"}};

}  // namespace
}  // namespace inlay::openvino

INLAY_PLUGIN((inlay::sdk::PluginInfo{
                 .name = "openvino",
                 .version = "1.0",
                 .library = "OpenVINO 2026.4.1",
                 .threads = "host-pool",
                 .opens = "libopenvino_intel_cpu_plugin.so libopenvino_onnx_frontend.so.2641",
                 .xfail = "23: OpenVINO wraps std::bad_alloc in an exception of its own; "
                          "32: its Softmax gives 0 beside a NaN"}),
             inlay::openvino::kPatterns, inlay::openvino::compile);
