#include "tests/conformance/sample_plugin.h"

#include <immintrin.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>

#include "core/abi/inlay_trace.h"

namespace sample {

std::atomic<int> live_devices = 0;
inlay_host host{};

bool is_broken(int check) {
  static const int chosen = [] {
    const char* text = std::getenv("INLAY_MUTANT");
    return text == nullptr ? 0 : std::atoi(text);
  }();
  return chosen == check;
}

inlay_status fail(inlay_error* error, inlay_status status, const std::string& text) {
  if (error == nullptr) return status;
  if (INLAY_HAS(error, code)) error->code = status;
  if (INLAY_HAS(error, text)) {
    std::snprintf(error->text, sizeof(error->text), "%s", text.c_str());
  }
  return status;
}

namespace {

std::mutex mutex;
int init_count = 0;
const inlay_host* first_host = nullptr;

struct AtExit {
  ~AtExit() {
    if (is_broken(17)) std::abort();
  }
} at_exit;

void burn(double seconds) {
  timespec begin{}, now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  do {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  } while (static_cast<double>(now.tv_sec - begin.tv_sec) +
               1e-9 * static_cast<double>(now.tv_nsec - begin.tv_nsec) <
           seconds);
}

// What leaves an entry as an exception becomes a status.
template <typename Body>
inlay_status guarded(inlay_error* error, const Body& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    if (error != nullptr && INLAY_HAS(error, code)) error->code = INLAY_NO_MEMORY;
    if (error != nullptr && INLAY_HAS(error, text)) std::strcpy(error->text, "out of memory");
    return INLAY_NO_MEMORY;
  } catch (const std::exception& exception) {
    return fail(error, INLAY_INTERNAL, exception.what());
  }
}

inlay_status init(const inlay_host* given, inlay_error* error) {
  return guarded(error, [&]() -> inlay_status {
    if (given == nullptr || !INLAY_HAS(given, abi_minor)) {
      return fail(error, INLAY_INVALID, "init needs a host table");
    }
    if (is_broken(11) && given->struct_size < sizeof(inlay_host)) {
      return fail(error, INLAY_INVALID, "the host is too old");
    }
    if (is_broken(12) && given->abi_minor > INLAY_ABI_MINOR) {
      return fail(error, INLAY_INVALID, "the host is too new");
    }
    const std::lock_guard lock(mutex);
    if (is_broken(16) && first_host != nullptr && first_host != given) {
      return fail(error, INLAY_INVALID, "there is a host already");
    }
    if (init_count++ > 0) return INLAY_OK;
    first_host = given;
    host = {};
    std::memcpy(&host, given, std::min<std::size_t>(given->struct_size, sizeof(host)));
    if (is_broken(62)) _mm_setcsr(_mm_getcsr() | 0x8040);
    if (is_broken(63)) std::puts("sample: hello");
    return INLAY_OK;
  });
}

void deinit() {
  const std::lock_guard lock(mutex);
  if (init_count == 0) return;
  if (is_broken(14)) init_count = 1;
  if (--init_count == 0) first_host = nullptr;
}

inlay_status device_info(std::int32_t index, inlay_device_info* out, inlay_error* error) {
  return guarded(error, [&]() -> inlay_status {
    if (index < 0 || out == nullptr) return fail(error, INLAY_INVALID, "no index or no struct");
    if (index > 1) return fail(error, INLAY_DECLINED, "there are two devices");
    const bool writes_all = is_broken(13);
    const bool is_simulated = index == 1;
    const auto put = [](char* field, std::size_t size, const char* text) {
      std::snprintf(field, size, "%s", text);
    };
    if (INLAY_HAS(out, name)) put(out->name, sizeof(out->name), is_simulated ? "sim:0" : "cpu");
    if (INLAY_HAS(out, space)) put(out->space, sizeof(out->space), is_simulated ? "sim:0" : "host");
    if (writes_all || INLAY_HAS(out, fingerprint)) {
      put(out->fingerprint, sizeof(out->fingerprint), "sample");
    }
    if (writes_all || INLAY_HAS(out, clock)) {
      out->clock = is_simulated ? INLAY_CLOCK_SIMULATED : INLAY_CLOCK_WALL;
    }
    if (writes_all || INLAY_HAS(out, memory_bytes)) out->memory_bytes = 0;
    return INLAY_OK;
  });
}

inlay_status create_device(std::int32_t index, std::int32_t option_count,
                           const inlay_option* const* options, inlay_error* error,
                           inlay_device** out) {
  return guarded(error, [&]() -> inlay_status {
    if (out == nullptr && !is_broken(15)) return fail(error, INLAY_INVALID, "no output");
    if (index < 0 || index > 1) {
      return fail(error, INLAY_INVALID, is_broken(22) ? "" : "no such device");
    }
    if (option_count > 0) {
      if (is_broken(20)) *out = reinterpret_cast<inlay_device*>(&host);
      return fail(error, INLAY_INVALID, std::string("unknown option '") + options[0]->key + "'");
    }
    const std::lock_guard lock(mutex);
    if (init_count == 0) return fail(error, INLAY_INVALID, "init comes first");
    if (is_broken(23)) {
      void* unchecked = std::malloc(100);
      *static_cast<volatile char*>(unchecked) = 1;
      std::free(unchecked);
    }
    *out = new inlay_device{index};
    ++live_devices;
    return INLAY_OK;
  });
}

void destroy_device(inlay_device* device) {
  if (device == nullptr) return;
  --live_devices;
  delete device;
}

const inlay_value* value_of(const inlay_region& region, std::int32_t index) {
  return index >= 0 && index < region.value_count ? region.values[index] : nullptr;
}

// "" if the region is what the manifest declares, else why not.
std::string fault_of(const inlay_region& region, Operation* operation) {
  if (region.node_count != 1) return "expected one node";
  const inlay_node& node = *region.nodes[0];
  const std::string op = node.op;
  const bool is_own_domain = node.domain[0] == '\0';
  if ((!is_own_domain || (op != "Relu" && op != "Mul" && op != "Neg")) &&
      !(is_broken(30) && region.pattern_id[0] != 'n')) {
    return "no kernel for " + op;
  }
  *operation = op == "Mul"   ? Operation::kScale
               : op == "Neg" ? Operation::kNegate
                             : Operation::kRelu;
  if (is_broken(26) && *operation == Operation::kNegate) return "not today";
  if (region.input_count != 1 || region.output_count != 1)
    return "expected one input and one output";
  const inlay_value* x = value_of(region, region.inputs[0]);
  const inlay_value* y = value_of(region, region.outputs[0]);
  if (x == nullptr || y == nullptr) return "an operand is not there";
  const bool is_type_wrong = x->dtype != INLAY_F32 || y->dtype != INLAY_F32;
  if (is_type_wrong && !is_broken(27)) return "expected f32";
  if (*operation != Operation::kScale) return "";
  for (std::int32_t i = 0; i < node.input_count; ++i) {
    const inlay_value* operand = value_of(region, node.inputs[i]);
    if (operand == nullptr) return "an operand is not there";
    if (operand->constant == nullptr) continue;
    const bool is_one = operand->rank == 1 && operand->dims[0] == 1 && operand->dtype == INLAY_F32;
    return is_one ? "" : "expected a scale of one f32";
  }
  return "expected a constant scale";
}

inlay_status veto(inlay_device*, const inlay_region* region, inlay_error* error) {
  return guarded(error, [&]() -> inlay_status {
    Operation operation{};
    std::string fault = fault_of(*region, &operation);
    if (is_broken(28) && fault.empty()) fault = "not today";
    return fault.empty() ? INLAY_OK : fail(error, INLAY_DECLINED, fault);
  });
}

inlay_status compile_checked(inlay_device* device, const inlay_compile_request* request,
                             inlay_error* error, inlay_program** out) {
  if (request == nullptr || out == nullptr || !INLAY_HAS(request, region) ||
      request->region == nullptr) {
    return fail(error, INLAY_INVALID, "compile needs a region and an output");
  }
  const inlay_region& region = *request->region;
  if (INLAY_HAS(request, options) && request->option_count > 0 && !is_broken(25)) {
    return fail(error, INLAY_INVALID,
                std::string("unknown option '") + request->options[0]->key + "'");
  }
  Operation operation{};
  const std::string fault = fault_of(region, &operation);
  if (!fault.empty()) {
    if (is_broken(29)) burn(0.04);
    return fail(error, INLAY_DECLINED, fault);
  }
  auto program = std::make_unique<inlay_program>();
  program->device = device;
  program->operation = operation;
  program->scale = 1;
  program->borrowed_scale = nullptr;
  program->borrowed_request = request;
  const inlay_value& x = *value_of(region, region.inputs[0]);
  program->count = 1;
  for (std::int32_t d = 0; d < x.rank; ++d) program->count *= x.dims[d];
  program->scratch.resize(static_cast<std::size_t>(program->count));
  for (std::int32_t i = 0; operation == Operation::kScale && i < region.nodes[0]->input_count;
       ++i) {
    const inlay_value& operand = *value_of(region, region.nodes[0]->inputs[i]);
    if (operand.constant == nullptr) continue;
    const auto* scale = static_cast<const float*>(operand.constant->data);
    program->scale = *scale;
    const bool is_page = reinterpret_cast<std::uintptr_t>(scale) % 4096 == 0;
    if (is_broken(43) && is_page) program->borrowed_scale = scale;
  }
  if (is_broken(44)) {
    void* volatile lost = std::malloc(64);
    static_cast<void>(lost);
  }
  *out = program.release();
  return INLAY_OK;
}

inlay_status compile(inlay_device* device, const inlay_compile_request* request, inlay_error* error,
                     inlay_program** out) {
  if (is_broken(24) && request != nullptr && request->region != nullptr &&
      request->region->node_count == 0) {
    throw 24;
  }
  return guarded(error,
                 [&]() -> inlay_status { return compile_checked(device, request, error, out); });
}

void destroy_program(inlay_program* program) { delete program; }

inlay_status program_info(inlay_program* program, inlay_program_info* out) {
  if (program == nullptr || out == nullptr) return INLAY_INVALID;
  if (INLAY_HAS(out, workspace_bytes)) out->workspace_bytes = 0;
  if (INLAY_HAS(out, retains_constants)) out->retains_constants = 0;
  if (INLAY_HAS(out, is_deterministic)) out->is_deterministic = 1;
  return INLAY_OK;
}

inlay_status create_instance(inlay_program* program, void*, inlay_error* error,
                             inlay_instance** out) {
  return guarded(error, [&]() -> inlay_status {
    if (program == nullptr || out == nullptr) return fail(error, INLAY_INVALID, "no program");
    auto* made = new inlay_instance;
    made->program = program;
    made->number = program->instances++;
    *out = made;
    return INLAY_OK;
  });
}

void destroy_instance(inlay_instance* instance) {
  if (is_broken(21) && instance->program == nullptr) return;
  delete instance;
}

void trace(std::int64_t begin_ns, std::int64_t end_ns) {
  if (!INLAY_HAS(&host, get_extension) || host.get_extension == nullptr) return;
  const auto* table =
      static_cast<const inlay_trace*>(host.get_extension(host.context, INLAY_TRACE_ID));
  if (table == nullptr) return;
  const std::int64_t skew_ns = is_broken(55) ? 1'000'000'000 : 0;
  table->span(table->context, "run", INLAY_TRACE_HOST_CLOCK, begin_ns + skew_ns, end_ns + skew_ns);
}

std::int64_t now_ns() {
  return INLAY_HAS(&host, now_ns) && host.now_ns != nullptr ? host.now_ns(host.context) : 0;
}

// A second thread that works beside the first, whatever the cap.
void run_beside() {
  std::thread other([] { burn(0.002); });
  burn(0.002);
  other.join();
}

void spin_for_ever() {
  static std::once_flag once;
  std::call_once(once, [] {
    std::thread([] {
      for (std::atomic<bool> idle = true; idle;) {
      }
    }).detach();
  });
}

inlay_status enqueue(inlay_instance* instance, inlay_stream* stream, std::int32_t input_count,
                     const inlay_tensor* const* inputs, std::int32_t output_count,
                     const inlay_tensor* const* outputs, std::int32_t, inlay_event* const*,
                     std::uint32_t flags, inlay_run_report* report, inlay_error* error) {
  return guarded(error, [&]() -> inlay_status {
    if (instance == nullptr) return fail(error, INLAY_INVALID, "no instance");
    if (input_count != 1 || output_count != 1) {
      return fail(error, INLAY_INVALID, "expected one input and one output");
    }
    if (stream != nullptr) {
      push_work(stream, instance, *inputs[0], *outputs[0]);
      return INLAY_OK;
    }
    const std::int64_t begin_ns = now_ns();
    if (!is_broken(50)) instance->is_cancelled = false;
    const bool has_cap = INLAY_HAS(&host, thread_cap) && host.thread_cap != nullptr;
    const int cap = has_cap ? host.thread_cap(host.context) : 1;
    if (is_broken(53)) run_beside();
    if (is_broken(54) && cap > 1) spin_for_ever();
    const inlay_compile_request* borrowed = instance->program->borrowed_request;
    if (is_broken(47) && borrowed != nullptr && borrowed->thread_cap == -1) {
      return fail(error, INLAY_INTERNAL, "odd request");
    }
    ++instance->runs;
    const bool is_simulated = instance->program->device->index == 1;
    if ((flags & INLAY_RUN_TIMING_ONLY) == 0) {
      const inlay_status status = compute(instance, inputs[0], outputs[0], error);
      if (status != INLAY_OK) return status;
    }
    if (is_simulated && report != nullptr) fill_report(instance, flags, report);
    trace(begin_ns, now_ns());
    return INLAY_OK;
  });
}

void cancel(inlay_instance* instance) { instance->is_cancelled = true; }

inlay_status estimate(inlay_device* device, const inlay_region* region, inlay_estimate* out,
                      inlay_error* error) {
  return guarded(error, [&]() -> inlay_status {
    Operation operation{};
    const std::string fault = fault_of(*region, &operation);
    if (!fault.empty()) return fail(error, INLAY_DECLINED, fault);
    const inlay_value& x = *value_of(*region, region->inputs[0]);
    std::int64_t count = 1;
    for (std::int32_t d = 0; d < x.rank; ++d) count *= x.dims[d];
    out->time_ns = is_broken(59) ? -1 : simulated_ns(count);
    out->energy_pj = device->index == 1 ? energy_pj(count) : 0;
    return INLAY_OK;
  });
}

inlay_status pack(inlay_device*, const std::uint64_t*, const inlay_tensor* tensor,
                  const inlay_layout*, inlay_error* error, inlay_packed** out) {
  return guarded(error, [&]() -> inlay_status {
    auto* bytes = new char[tensor->size_bytes];
    std::memcpy(bytes, tensor->data, tensor->size_bytes);
    *out = reinterpret_cast<inlay_packed*>(bytes);
    return INLAY_OK;
  });
}

void release_packed(inlay_device*, inlay_packed* packed) {
  delete[] reinterpret_cast<char*>(packed);
}

constexpr inlay_plugin table() {
  inlay_plugin made{};
  made.struct_size = sizeof(inlay_plugin);
  made.abi_major = INLAY_ABI_MAJOR;
  made.abi_minor = INLAY_ABI_MINOR;
  made.name = "sample";
  made.version = "1.0";
  made.init = init;
  made.deinit = deinit;
  made.device_info = device_info;
  made.create_device = create_device;
  made.destroy_device = destroy_device;
  made.veto = veto;
  made.compile = compile;
  made.destroy_program = destroy_program;
  made.program_info = program_info;
  made.save_program = save_program;
  made.load_program = load_program;
  made.create_instance = create_instance;
  made.destroy_instance = destroy_instance;
  made.enqueue = enqueue;
  made.cancel = cancel;
  made.estimate = estimate;
  made.pack = pack;
  made.release_packed = release_packed;
  made.memory = &kMemory;
  made.streams = &kStreams;
  return made;
}

}  // namespace
}  // namespace sample

extern "C" __attribute__((visibility("default"))) const inlay_plugin* inlay_plugin_query(
    std::uint32_t major, std::uint32_t) {
  static const inlay_plugin kTable = sample::table();
  static const inlay_plugin kOther = sample::table();
  if (major != INLAY_ABI_MAJOR && !sample::is_broken(10)) return nullptr;
  static std::atomic<int> queries = 0;
  return sample::is_broken(9) && queries++ > 0 ? &kOther : &kTable;
}
