#include <dirent.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "core/plan/onnx_constant.h"
#include "search/check/agreement.h"
#include "search/check/doing.h"
#include "search/check/families.h"
#include "search/check/program_run.h"
#include "search/check/verdict.h"

namespace inlay::check {
namespace {

struct Use {
  std::int64_t heap_bytes = 0;
  std::int64_t mapped_bytes = 0;  // outside the heap, as far as they are there
  std::int64_t files = 0;
  std::int64_t threads = 0;
};

std::int64_t entries(const char* folder) {
  std::int64_t count = 0;
  if (DIR* open = ::opendir(folder)) {
    while (::readdir(open) != nullptr) ++count;
    ::closedir(open);
  }
  return count;
}

Use current_use() {
  const struct mallinfo2 heap = ::mallinfo2();
  std::ifstream statm("/proc/self/statm");
  std::int64_t total = 0;
  std::int64_t resident = 0;
  statm >> total >> resident;
  return {static_cast<std::int64_t>(heap.uordblks + heap.hblkhd),
          resident * ::sysconf(_SC_PAGESIZE), entries("/proc/self/fd"), entries("/proc/self/task")};
}

// The allocation of one buffer, and what map gives for it.
struct Buffer {
  HandlePtr<inlay_buffer> handle;
  void* data = nullptr;
};

const inlay_memory_table& memory_of(const OpenDevice& device) {
  const inlay_memory_table* memory = device.table().memory;
  if (memory == nullptr) skip("the table has no memory: its programs live in the space 'host'");
  require(memory->alloc != nullptr && memory->free != nullptr,
          "a memory table needs alloc and free");
  return *memory;
}

Buffer allocated(const OpenDevice& device, std::uint64_t size_bytes, std::uint64_t alignment) {
  const inlay_memory_table& memory = memory_of(device);
  ErrorText error;
  inlay_buffer* made = nullptr;
  const Answer answer = error.answer(
      memory.alloc(device.get(), device.info.space, size_bytes, alignment, error.get(), &made));
  require(answer.is_ok() && made != nullptr,
          "alloc of {} bytes aligned to {} in '{}': expected INLAY_OK, found {}", size_bytes,
          alignment, device.space(), describe(answer));
  return {{made, [&memory, &device](inlay_buffer* b) { memory.free(device.get(), b); }}, nullptr};
}

inlay_tensor host_tensor(const TensorView& view) { return *view.get(); }

// Every device that the plugin has.
std::vector<OpenDevice> open_all(Subject& subject) {
  std::vector<OpenDevice> devices;
  const int count = subject.plugin().device_count();
  for (int i = 0; i < count; ++i) devices.push_back(subject.plugin().open(i));
  return devices;
}

void require_copies(const OpenDevice& device, std::uint64_t size_bytes) {
  const inlay_memory_table& memory = memory_of(device);
  require(memory.copy != nullptr, "a memory table needs copy");
  const TensorType type{DType::kU8, {static_cast<std::int64_t>(size_bytes)}};
  std::string sent(size_bytes, '\0');
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 37 + 11);
  std::string received(size_bytes, '\0');
  const TensorView from(type, Layout::dense(1), reinterpret_cast<std::byte*>(sent.data()));
  const TensorView to(type, Layout::dense(1), reinterpret_cast<std::byte*>(received.data()));
  constexpr std::uint64_t kOffset = 64;
  const Buffer first = allocated(device, size_bytes + kOffset, 64);
  const Buffer second = allocated(device, size_bytes + kOffset, 64);
  const auto in_buffer = [&](const Buffer& buffer, std::uint64_t offset) {
    inlay_tensor tensor = host_tensor(from);
    tensor.data = nullptr;
    tensor.buffer = buffer.handle.get();
    tensor.offset_bytes = offset;
    return tensor;
  };
  const inlay_tensor a = in_buffer(first, kOffset);
  const inlay_tensor b = in_buffer(second, 0);
  const auto copy = [&](const inlay_tensor* source, const inlay_tensor* target, const char* route) {
    ErrorText error;
    const Answer answer =
        error.answer(memory.copy(device.get(), source, target, nullptr, error.get()));
    require(answer.is_ok(), "copy of {} bytes {}: expected INLAY_OK, found {}", size_bytes, route,
            describe(answer));
  };
  copy(from.get(), &a, "from host to buffer");
  copy(&a, &b, "from buffer to buffer");
  copy(&b, to.get(), "from buffer to host");
  require(received == sent, "copies of {} bytes from host to buffer to buffer to host changed them",
          size_bytes);
}

}  // namespace

void leaks(Subject& subject) {
  constexpr int kWarmUp = 30;
  constexpr int kCycles = 100;
  // A leak of one small object in each cycle, against what caches and thread pools take now and
  // then.
  constexpr std::int64_t kHeapSlack = 16 * kCycles - 1;
  constexpr std::int64_t kMappedSlack = 2048 * kCycles;
  const Plugin& plugin = subject.plugin();
  const Sample& sample = subject.sample();
  const std::vector<Tensor> inputs = inputs_for(sample.region, 1);
  Region unknown = sample.region;
  unknown.nodes.back().domain = "nowhere.example";
  const auto cycle = [&] {
    const OpenDevice device = plugin.open(0);
    run_once(device, sample.region, inputs);
    compile(device, unknown, {.pattern = "no_such_pattern"});  // failures clean up too
  };
  for (int i = 0; i < kWarmUp; ++i) cycle();
  // What grows again and again grows for ever; caches come to an end.
  constexpr int kRounds = 3;
  std::vector<std::string> growth;
  Use before = current_use();
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kCycles; ++i) cycle();
    const Use now = current_use();
    if (now.heap_bytes - before.heap_bytes > kHeapSlack) {
      growth.push_back(fmt::format("{} bytes of the heap", now.heap_bytes - before.heap_bytes));
    } else if (now.mapped_bytes - before.mapped_bytes > kMappedSlack) {
      growth.push_back(fmt::format("{} bytes of memory", now.mapped_bytes - before.mapped_bytes));
    } else if (now.files - before.files >= kCycles / 2) {
      growth.push_back(fmt::format("{} open files", now.files - before.files));
    } else if (now.threads - before.threads >= kCycles / 2) {
      growth.push_back(fmt::format("{} threads", now.threads - before.threads));
    } else {
      return;
    }
    before = now;
  }
  fail("{} rounds of {} times create, compile, run and destroy grow by {}", kRounds, kCycles,
       fmt::join(growth, ", then "));
}

void alignment(Subject& subject) {
  memory_of(subject.device());
  for (const OpenDevice& device : open_all(subject)) {
    const inlay_memory_table& memory = memory_of(device);
    for (const std::uint64_t alignment : {64, 128, 256, 4096}) {
      for (const std::uint64_t size_bytes : {1, 100, 4096, 100000}) {
        doing("alloc of {} bytes aligned to {} in '{}'", size_bytes, alignment, device.space());
        const Buffer buffer = allocated(device, size_bytes, alignment);
        if (memory.map == nullptr) continue;
        require(memory.unmap != nullptr, "the memory table has map, and unmap is null");
        ErrorText error;
        void* data = nullptr;
        const Answer answer = error.answer(
            memory.map(device.get(), buffer.handle.get(), 0, size_bytes, 3, error.get(), &data));
        require(answer.is_ok() && data != nullptr, "map: expected INLAY_OK, found {}",
                describe(answer));
        require(reinterpret_cast<std::uintptr_t>(data) % alignment == 0,
                "alloc of {} bytes in '{}': expected an address aligned to {}, found {}",
                size_bytes, device.space(), alignment, data);
        std::memset(data, kFiller, size_bytes);
        const Answer unmapped =
            error.answer(memory.unmap(device.get(), buffer.handle.get(), data, error.get()));
        require(unmapped.is_ok(), "unmap: expected INLAY_OK, found {}", describe(unmapped));
      }
    }
  }
}

void copy_routes(Subject& subject) {
  memory_of(subject.device());
  for (const OpenDevice& device : open_all(subject)) {
    for (const std::uint64_t size_bytes : {1, 63, 4096, 100001}) {
      doing("copies of {} bytes in '{}'", size_bytes, device.space());
      require_copies(device, size_bytes);
    }
  }
}

void use_after_parent(Subject& subject) {
  const Plugin& plugin = subject.plugin();
  const Sample& sample = subject.sample();
  const std::vector<Tensor> inputs = inputs_for(sample.region, 1);
  const OpenDevice kept = plugin.open(0);
  Compiled compiled;
  {
    // What is passed to a call dies with it: a copy of the region, forbidden afterwards.
    const OpenDevice other = plugin.open(0);
    const Compiled lost = compile(other, sample.region);
    require(lost.program != nullptr, "compile: {}", describe(lost.answer));
    compiled = compile(kept, sample.region);
    require(compiled.program != nullptr, "compile: {}", describe(compiled.answer));
  }
  doing("a run after another device and its program are gone");
  Run run(kept, compiled, sample.region);
  run.set_inputs(inputs);
  run.fill_outputs();
  Answer answer = run.enqueue();
  require(answer.is_ok(), "enqueue after another device is gone: expected INLAY_OK, found {}",
          describe(answer));
  require_equal(subject, sample, inputs, run.outputs(), "after another device is gone");
  if (compiled.info.retains_constants == 0) {
    doing("a run after the compile request is gone");
    const auto gone = std::make_unique<Pages>(sizeof(inlay_compile_request), false, 64);
    auto* request = reinterpret_cast<inlay_compile_request*>(gone->data());
    *request = {};
    request->struct_size = sizeof(*request);
    request->thread_cap = 1;
    auto [plain, onnx] = split_onnx(sample.region);
    auto view = std::make_unique<RegionView>(plain);
    request->region = view->get();
    if (onnx.size_bytes() > 0) {
      request->onnx_bytes = onnx.data();
      request->onnx_size_bytes = onnx.size_bytes();
    }
    ErrorText error;
    inlay_program* program = nullptr;
    answer = error.answer(plugin.table().compile(kept.get(), request, error.get(), &program));
    require(answer.is_ok(), "compile: {}", describe(answer));
    Compiled second;
    second.program = {program, [&plugin](inlay_program* p) { plugin.table().destroy_program(p); }};
    second.info.struct_size = sizeof(second.info);
    plugin.table().program_info(program, &second.info);
    gone->forbid();
    view.reset();
    onnx = Tensor();
    Run late(kept, second, sample.region);
    late.set_inputs(inputs);
    late.fill_outputs();
    answer = late.enqueue();
    require(answer.is_ok(), "enqueue after the compile request is gone: {}", describe(answer));
    require_equal(subject, sample, inputs, late.outputs(), "after the compile request is gone");
  }
}

}  // namespace inlay::check
