#include "core/host/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <deque>

#include "core/host/region_view.h"
#include "core/plan/onnx_constant.h"

namespace inlay {
namespace {

struct DeviceHandle {
  explicit DeviceHandle(std::shared_ptr<const Library> owner) : library(std::move(owner)) {}
  ~DeviceHandle() {
    const CallScope scope(library->services(), 1);
    library->call_void("destroy_device", [&] { library->table().destroy_device(handle); });
  }
  DeviceHandle(const DeviceHandle&) = delete;
  DeviceHandle& operator=(const DeviceHandle&) = delete;

  std::shared_ptr<const Library> library;
  inlay_device* handle = nullptr;
};

struct Port {
  TensorType type;
  Layout layout;
};

struct ProgramHandle {
  explicit ProgramHandle(std::shared_ptr<const DeviceHandle> owner) : device(std::move(owner)) {}
  ~ProgramHandle() {
    const CallScope scope(library().services(), thread_cap);
    library().call_void("destroy_program", [&] { library().table().destroy_program(handle); });
  }
  ProgramHandle(const ProgramHandle&) = delete;
  ProgramHandle& operator=(const ProgramHandle&) = delete;

  const Library& library() const { return *device->library; }

  std::shared_ptr<const DeviceHandle> device;
  std::unique_ptr<RegionView> region;  // null once compiled, unless the program reads its constants
  inlay_program* handle = nullptr;
  inlay_program_info info{};
  int thread_cap = 1;
  std::vector<Port> inputs;
  std::vector<Port> outputs;
};

// One side of an instance's tensors, in the two forms that bind and enqueue need.
struct BoundTensors {
  std::deque<TensorView> views;
  std::vector<const inlay_tensor*> pointers;

  void assign(std::span<const HostTensor> tensors) {
    views.clear();
    pointers.clear();
    for (const HostTensor& tensor : tensors) {
      pointers.push_back(views.emplace_back(*tensor.type, *tensor.layout, tensor.data).get());
    }
  }
};

class PluginInstance : public Instance {
 public:
  PluginInstance(std::shared_ptr<const ProgramHandle> program, std::byte* workspace)
      : program_(std::move(program)), error_(empty_error()) {
    const Library& library = program_->library();
    const CallScope scope(library.services(), program_->thread_cap);
    const inlay_status status = library.call("create_instance", [&] {
      return library.table().create_instance(program_->handle, workspace, &error_, &handle_);
    });
    library.check("create_instance", status, error_);
    if (handle_ == nullptr) library.fail("create_instance", "OK without an instance");
  }

  ~PluginInstance() override {
    const Library& library = program_->library();
    const CallScope scope(library.services(), program_->thread_cap);
    library.call_void("destroy_instance", [&] { library.table().destroy_instance(handle_); });
  }

  void bind(std::span<const HostTensor> inputs, std::span<const HostTensor> outputs) override {
    check_ports("input", program_->inputs, inputs);
    check_ports("output", program_->outputs, outputs);
    inputs_.assign(inputs);
    outputs_.assign(outputs);
    is_bound_ = true;
  }

  void rebind_input(int position, std::byte* data) override {
    assert(position >= 0 && position < static_cast<int>(inputs_.views.size()));
    inputs_.views[static_cast<std::size_t>(position)].set_data(data);
  }

  void rebind_output(int position, std::byte* data) override {
    assert(position >= 0 && position < static_cast<int>(outputs_.views.size()));
    outputs_.views[static_cast<std::size_t>(position)].set_data(data);
  }

  void run() override {
    const Library& library = program_->library();
    if (!is_bound_) throw Error(Code::kInvalidArgument, "an instance runs after bind");
    const CallScope scope(library.services(), program_->thread_cap);
    error_.text[0] = '\0';
    const inlay_status status = library.call("enqueue", [&] {
      return library.table().enqueue(
          handle_, nullptr, static_cast<std::int32_t>(inputs_.pointers.size()),
          inputs_.pointers.data(), static_cast<std::int32_t>(outputs_.pointers.size()),
          outputs_.pointers.data(), 0, nullptr, 0, nullptr, &error_);
    });
    library.check("enqueue", status, error_);
  }

 private:
  static void check_ports(const char* side, const std::vector<Port>& expected,
                          std::span<const HostTensor> found) {
    if (found.size() != expected.size()) {
      throw Error(Code::kShapeMismatch,
                  fmt::format("expected {} {}s, found {}", expected.size(), side, found.size()));
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (*found[i].type == expected[i].type && *found[i].layout == expected[i].layout) continue;
      throw Error(Code::kShapeMismatch,
                  fmt::format("{} {}: expected {} as {}, found {} as {}", side, i,
                              to_string(expected[i].type), expected[i].layout.text(),
                              to_string(*found[i].type), found[i].layout->text()));
    }
  }

  std::shared_ptr<const ProgramHandle> program_;
  inlay_instance* handle_ = nullptr;
  inlay_error error_;
  BoundTensors inputs_;
  BoundTensors outputs_;
  bool is_bound_ = false;
};

class PluginProgram : public Program {
 public:
  explicit PluginProgram(std::shared_ptr<const ProgramHandle> program)
      : program_(std::move(program)) {}

  std::size_t workspace_bytes() const override { return program_->info.workspace_bytes; }
  bool retains_constants() const override { return program_->info.retains_constants != 0; }
  std::unique_ptr<Instance> instantiate(std::byte* workspace) override {
    return std::make_unique<PluginInstance>(program_, workspace);
  }

 private:
  std::shared_ptr<const ProgramHandle> program_;
};

std::vector<Port> ports_of(const Region& region, const std::vector<int>& values) {
  std::vector<Port> ports;
  for (const int value : values) {
    const RegionValue& found = region.values[static_cast<std::size_t>(value)];
    ports.push_back({found.type, found.layout});
  }
  return ports;
}

class PluginDevice : public Device {
 public:
  PluginDevice(std::shared_ptr<const DeviceHandle> device, const std::string& name,
               const std::string& fingerprint, const std::string& space)
      : device_(std::move(device)), name_(name), fingerprint_(fingerprint), space_(space) {}

  const std::string& plugin() const override { return device_->library->name(); }
  const std::string& name() const override { return name_; }
  const std::string& fingerprint() const override { return fingerprint_; }
  const std::string& space() const override { return space_; }

  std::unique_ptr<Program> compile(const Region& region, const CompileOptions& options,
                                   std::string* declined) override {
    const Library& library = *device_->library;
    if (space_ != "host") {
      throw Error(Code::kUnsupported,
                  fmt::format("plugin '{}': device '{}': expected memory space 'host', found '{}'",
                              plugin(), name_, space_));
    }
    const auto [plain, onnx] = split_onnx(region);
    auto view = std::make_unique<RegionView>(plain);
    inlay_compile_request request{};
    request.struct_size = sizeof(request);
    request.region = view->get();
    if (onnx.size_bytes() > 0) {
      request.onnx_bytes = onnx.data();
      request.onnx_size_bytes = onnx.size_bytes();
    }
    request.thread_cap = std::max(options.thread_cap, 1);
    const CallScope scope(library.services(), request.thread_cap);
    inlay_error error = empty_error();
    inlay_program* made = nullptr;
    const inlay_status status = library.call("compile", [&] {
      return library.table().compile(device_->handle, &request, &error, &made);
    });
    if (status == INLAY_DECLINED) {
      if (declined != nullptr)
        declined->assign(error.text, strnlen(error.text, sizeof(error.text)));
      return nullptr;
    }
    library.check("compile", status, error);
    if (made == nullptr) library.fail("compile", "OK without a program");
    return wrap(region, request.thread_cap, std::move(view), made);
  }

 private:
  std::unique_ptr<Program> wrap(const Region& region, int thread_cap,
                                std::unique_ptr<RegionView> view, inlay_program* made) const {
    const Library& library = *device_->library;
    auto program = std::make_shared<ProgramHandle>(device_);
    program->handle = made;
    program->thread_cap = thread_cap;
    // Until the plugin says otherwise it may read the constants.
    program->region = std::move(view);
    program->info.struct_size = sizeof(program->info);
    const inlay_status status = library.call(
        "program_info", [&] { return library.table().program_info(made, &program->info); });
    library.check("program_info", status, empty_error());
    if (program->info.retains_constants == 0) program->region.reset();
    program->inputs = ports_of(region, region.inputs);
    program->outputs = ports_of(region, region.outputs);
    return std::make_unique<PluginProgram>(std::move(program));
  }

  std::shared_ptr<const DeviceHandle> device_;
  std::string name_;
  std::string fingerprint_;
  std::string space_;
};

template <std::size_t kSize>
std::string text_of(const char (&field)[kSize]) {
  return std::string(field, strnlen(field, kSize));
}

}  // namespace

std::shared_ptr<Device> make_device(std::shared_ptr<const Library> library, int index) {
  const CallScope scope(library->services(), library->services().threads);
  inlay_error error = empty_error();
  inlay_device_info info{};
  info.struct_size = sizeof(info);
  const inlay_status described = library->call(
      "device_info", [&] { return library->table().device_info(index, &info, &error); });
  library->check("device_info", described, error);
  auto device = std::make_shared<DeviceHandle>(library);
  inlay_device* made = nullptr;
  const inlay_status created = library->call("create_device", [&] {
    return library->table().create_device(index, 0, nullptr, &error, &made);
  });
  library->check("create_device", created, error);
  if (made == nullptr) library->fail("create_device", "OK without a device");
  device->handle = made;
  return std::make_shared<PluginDevice>(std::move(device), text_of(info.name),
                                        text_of(info.fingerprint), text_of(info.space));
}

}  // namespace inlay
