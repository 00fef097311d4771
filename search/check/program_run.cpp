#include "search/check/program_run.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core/plan/onnx_constant.h"
#include "core/run/random_inputs.h"
#include "search/check/verdict.h"
#include "search/verify/verify.h"

namespace inlay::check {
namespace {

constexpr std::size_t kAlignment = 64;  // the ABI's promise about a tensor's data

std::size_t round_up(std::size_t size, std::size_t unit) { return (size + unit - 1) / unit * unit; }

std::size_t page_bytes() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

std::size_t at(int index) { return static_cast<std::size_t>(index); }

}  // namespace

Pages::Pages(std::size_t size_bytes, bool at_end, std::size_t alignment) {
  const std::size_t page = page_bytes();
  const std::size_t inside = round_up(std::max<std::size_t>(size_bytes, 1), page);
  mapped_bytes_ = inside + 2 * page;
  void* mapping = ::mmap(nullptr, mapped_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<std::byte*>(mapping);
  if (::mprotect(mapping_ + page, inside, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  data_ = mapping_ + page + (at_end ? (inside - size_bytes) / alignment * alignment : 0);
}

Pages::~Pages() {
  if (mapping_ != nullptr) ::munmap(mapping_, mapped_bytes_);
}

void Pages::forbid() { ::mprotect(mapping_, mapped_bytes_, PROT_NONE); }

Compiled compile(const OpenDevice& device, const Region& region, const CompileRequest& request) {
  const auto [plain, onnx] = split_onnx(region);
  Compiled made;
  made.view = std::make_unique<RegionView>(plain);
  inlay_region c_region = *made.view->get();
  if (request.pattern != nullptr) c_region.pattern_id = request.pattern;
  inlay_compile_request asked{};
  asked.struct_size = sizeof(asked);
  asked.region = &c_region;
  asked.thread_cap = request.thread_cap;
  if (onnx.size_bytes() > 0) {
    asked.onnx_bytes = onnx.data();
    asked.onnx_size_bytes = onnx.size_bytes();
  }
  const inlay_option option{sizeof(inlay_option), request.option_key, request.option_value};
  const inlay_option* const options[] = {&option};
  if (request.option_key != nullptr) {
    asked.option_count = 1;
    asked.options = options;
  }
  ErrorText error;
  inlay_program* program = nullptr;
  made.answer = error.answer(device.table().compile(device.get(), &asked, error.get(), &program));
  require(is_known_status(made.answer.status), "compile: found {}", describe(made.answer));
  require(made.answer.is_ok() || program == nullptr,
          "compile: expected no program with {}, found one", describe(made.answer));
  if (!made.answer.is_ok()) return made;
  require(program != nullptr, "compile: expected a program with INLAY_OK, found none");
  made.program = {program,
                  [destroy = device.table().destroy_program](inlay_program* p) { destroy(p); }};
  made.info.struct_size = sizeof(made.info);
  made.info.retains_constants = 1;
  const inlay_status status = device.table().program_info(program, &made.info);
  require(status == INLAY_OK, "program_info: expected INLAY_OK, found {}", name_of_status(status));
  if (made.info.retains_constants == 0) made.view.reset();
  return made;
}

// One tensor's memory: on the host, and for a device with a space of its own a buffer there.
struct Run::Memory {
  TensorType type;
  Layout layout;
  std::size_t size_bytes = 0;
  std::unique_ptr<Pages> pages;
  std::byte* data = nullptr;
  std::unique_ptr<TensorView> view;
  HandlePtr<inlay_buffer> buffer;
  inlay_tensor tensor{};
};

std::unique_ptr<Run::Memory> Run::make_memory(const RegionValue& value, Placement placement) const {
  auto memory = std::make_unique<Memory>();
  memory->type = value.type;
  memory->layout = value.layout;
  memory->size_bytes = value.layout.size_bytes(value.type);
  const std::size_t element = std::max<std::size_t>(size_of(value.type.dtype), 1);
  switch (placement) {
    case Placement::kAligned:
      memory->pages = std::make_unique<Pages>(memory->size_bytes, false, kAlignment);
      memory->data = memory->pages->data();
      break;
    case Placement::kElementAligned:
      memory->pages = std::make_unique<Pages>(memory->size_bytes + element, false, element);
      memory->data = memory->pages->data() + element;
      break;
    case Placement::kGuardEnd:
      // Other layouts than dense are the host's own tensors, aligned as it promises.
      memory->pages = std::make_unique<Pages>(memory->size_bytes, true,
                                              value.layout.is_dense() ? element : kAlignment);
      memory->data = memory->pages->data();
      break;
    case Placement::kGuardStart:
      memory->pages = std::make_unique<Pages>(memory->size_bytes, false, element);
      memory->data = memory->pages->data();
      break;
  }
  memory->view = std::make_unique<TensorView>(value.type, value.layout, memory->data);
  memory->tensor = *memory->view->get();
  if (device_.space() == "host") return memory;
  const inlay_memory_table* table = device_.table().memory;
  require(table != nullptr && table->alloc != nullptr && table->free != nullptr &&
              table->copy != nullptr,
          "a device in the space '{}' needs a memory table with alloc, free and copy",
          device_.space());
  ErrorText error;
  inlay_buffer* buffer = nullptr;
  const std::size_t size_bytes = std::max<std::size_t>(memory->size_bytes, 1);
  const Answer answer = error.answer(table->alloc(device_.get(), device_.info.space, size_bytes,
                                                  kAlignment, error.get(), &buffer));
  require(answer.is_ok() && buffer != nullptr, "alloc of {} bytes in '{}': {}", size_bytes,
          device_.space(), describe(answer));
  memory->buffer = {buffer,
                    [table, device = device_.get()](inlay_buffer* b) { table->free(device, b); }};
  memory->tensor.data = nullptr;
  memory->tensor.buffer = buffer;
  return memory;
}

// Between the buffer and the host's copy of it; nothing where the host's is the only one.
void Run::copy(const Memory& memory, bool to_device) const {
  if (memory.buffer == nullptr || memory.size_bytes == 0) return;
  const inlay_tensor* host = memory.view->get();
  ErrorText error;
  const Answer answer = error.answer(
      device_.table().memory->copy(device_.get(), to_device ? host : &memory.tensor,
                                   to_device ? &memory.tensor : host, nullptr, error.get()));
  require(answer.is_ok(), "copy {} '{}': expected INLAY_OK, found {}",
          to_device ? "from host to" : "to host from", device_.space(), describe(answer));
}

Run::Run(const OpenDevice& device, const Compiled& compiled, const Region& region,
         Placement placement)
    : device_(device) {
  for (const int value : region.inputs) {
    inputs_.push_back(make_memory(region.values[at(value)], placement));
  }
  for (const int value : region.outputs) {
    outputs_.push_back(make_memory(region.values[at(value)], placement));
  }
  std::byte* workspace = nullptr;
  if (compiled.info.workspace_bytes > 0) {
    workspace_ = std::make_unique<Pages>(compiled.info.workspace_bytes, true, kAlignment);
    workspace = workspace_->data();
  }
  ErrorText error;
  inlay_instance* made = nullptr;
  const Answer answer = error.answer(
      device.table().create_instance(compiled.program.get(), workspace, error.get(), &made));
  require(answer.is_ok() && made != nullptr, "create_instance: expected INLAY_OK, found {}",
          describe(answer));
  instance_ = {made,
               [destroy = device.table().destroy_instance](inlay_instance* i) { destroy(i); }};
}

Run::~Run() = default;

void Run::set_inputs(const std::vector<Tensor>& inputs) {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    Memory& memory = *inputs_[i];
    if (inputs[i].size_bytes() == 0) continue;
    const Layout dense = Layout::dense(static_cast<int>(memory.type.shape.size()));
    convert_layout(memory.type, dense, inputs[i].data(), memory.layout, memory.data);
    copy(memory, true);
  }
}

void Run::fill_outputs() {
  for (const auto& memory : outputs_) {
    std::memset(memory->data, kFiller, memory->size_bytes);
    copy(*memory, true);
  }
}

void Run::alias(int output, int input) {
  const Memory& from = *inputs_[at(input)];
  Memory& to = *outputs_[at(output)];
  to.data = from.data;
  to.view->set_data(from.data);
  to.tensor = *to.view->get();
  if (from.buffer == nullptr) return;
  to.tensor.data = nullptr;
  to.tensor.buffer = from.tensor.buffer;
}

Answer Run::call(int input_count, std::uint32_t flags, inlay_stream* stream,
                 inlay_run_report* report) {
  std::vector<const inlay_tensor*> inputs;
  std::vector<const inlay_tensor*> outputs;
  for (const auto& memory : inputs_) inputs.push_back(&memory->tensor);
  for (const auto& memory : outputs_) outputs.push_back(&memory->tensor);
  // One more than there are must not be read past the end of the list.
  inputs.push_back(inputs.empty() ? outputs.front() : inputs.front());
  ErrorText error;
  const inlay_status status =
      device_.table().enqueue(instance_.get(), stream, input_count, inputs.data(),
                              static_cast<std::int32_t>(outputs_.size()), outputs.data(), 0,
                              nullptr, flags, report, error.get());
  require(is_known_status(status), "enqueue: found {}", name_of_status(status));
  return error.answer(status);
}

Answer Run::enqueue(std::uint32_t flags, inlay_stream* stream, inlay_run_report* report) {
  return call(static_cast<int>(inputs_.size()), flags, stream, report);
}

Answer Run::enqueue_inputs(int count) { return call(count, 0, nullptr, nullptr); }

std::vector<Tensor> Run::outputs() {
  std::vector<Tensor> result;
  for (const auto& memory : outputs_) {
    copy(*memory, false);
    Tensor tensor = Tensor::zeros(memory->type);
    const Layout dense = Layout::dense(static_cast<int>(memory->type.shape.size()));
    if (tensor.size_bytes() > 0) {
      convert_layout(memory->type, memory->layout, memory->data, dense,
                     tensor.mutable_bytes().data());
    }
    result.push_back(std::move(tensor));
  }
  return result;
}

namespace {

template <typename List>
std::vector<std::string> bytes_of_each(const List& list) {
  std::vector<std::string> texts;
  for (const auto& memory : list) {
    texts.emplace_back(reinterpret_cast<const char*>(memory->data), memory->size_bytes);
  }
  return texts;
}

}  // namespace

std::vector<std::string> Run::raw_inputs() const {
  for (const auto& memory : inputs_) copy(*memory, false);
  return bytes_of_each(inputs_);
}

std::vector<std::string> Run::raw_outputs() const {
  for (const auto& memory : outputs_) copy(*memory, false);
  return bytes_of_each(outputs_);
}

std::vector<Tensor> run_once(const OpenDevice& device, const Region& region,
                             const std::vector<Tensor>& inputs, Placement placement) {
  const Compiled compiled = compile(device, region);
  require(compiled.program != nullptr, "compile: expected INLAY_OK, found {}",
          describe(compiled.answer));
  Run run(device, compiled, region, placement);
  run.set_inputs(inputs);
  run.fill_outputs();
  const Answer answer = run.enqueue();
  require(answer.is_ok(), "enqueue: expected INLAY_OK, found {}", describe(answer));
  return run.outputs();
}

std::vector<Tensor> inputs_for(const Region& region, std::uint64_t seed) {
  const MaxValues limits = index_limits(region);
  std::vector<Tensor> inputs;
  Rng seeds(seed);
  for (std::size_t i = 0; i < region.inputs.size(); ++i) {
    Rng rng(seeds.next());
    const auto limit = limits.find(static_cast<int>(i));
    inputs.push_back(random_tensor(region.values[at(region.inputs[i])].type, rng,
                                   limit == limits.end() ? kDefaultMaxValue : limit->second));
  }
  return inputs;
}

}  // namespace inlay::check
